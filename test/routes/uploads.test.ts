import { execFile } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { promisify } from "node:util";
import sharp from "sharp";
import t, { type Test } from "tap";
import { loadConfig } from "../../config.js";
import {
  admin,
  bearer,
  dial,
  keyOf,
  listen,
  rawRequest,
  rules,
  serve,
  startFoyer,
  tokenOf,
  until,
  worldOf,
  type TestServer,
} from "../helper.js";
import {
  fileForm,
  filePart,
  finished,
  follow,
  type Form,
  formOf,
  gifBomb,
  GUEST,
  HTML,
  images,
  MP3,
  MP4,
  PDF,
  pngBomb,
  SVG,
  TAGGED_MP3,
  textPart,
  textsBelow,
  unfinished,
  upload,
  urlOf,
  WEBM,
} from "../files.js";
import { filesOf, usersOf } from "../listed.js";

const path = "/storage/upload/";
const MIB = 1024 * 1024;
const missing = { error: "file.missing" };
const type = { error: "file.type" };
const size = { error: "file.size" };

/** The variables of uploads, all others as they are by default. */
const uploads = (env: Record<string, string>) => ({
  uploads: loadConfig(env).uploads,
});

/** Sends forms that are refused, and looks whether anything is left of one. */
async function refuses(
  t: Test,
  server: TestServer,
  cases: [name: string, form: Form, answer: object][],
) {
  for (const [name, form, answer] of cases) {
    const got = await upload(server, form);
    t.equal(got.status, 400, name);
    t.strictSame(got.body, answer, name);
    t.match(got.headers["content-type"], "application/json", name);
  }
  t.strictSame(await unfinished(server.dataDir), [], "nothing is under way");
  t.strictSame(await finished(server.dataDir), [], "nothing was kept");
  t.strictSame(await filesOf(server.store, "demo"), []);
  t.equal(await server.store.files.size("demo"), 0);
  t.strictSame(await usersOf(server.store, "demo"), []);
}

void t.test("what is taken", async (t) => {
  const server = await serve(t);
  const [png, jpg, gif, webp] = await Promise.all([
    images.png(),
    images.jpg(),
    images.gif(),
    images.webp(),
  ]);
  const utf16 = (text: string) =>
    Buffer.concat([
      Buffer.from("\ufeff", "utf16le"),
      Buffer.from(text, "utf16le"),
    ]);
  const cases: [filename: string, body: Buffer | string, mime: string][] = [
    ["a.png", png, "image/png"],
    ["a.jpg", jpg, "image/jpeg"],
    ["a.jpeg", jpg, "image/jpeg"],
    ["a.gif", gif, "image/gif"],
    ["a.webp", webp, "image/webp"],
    ["a.pdf", PDF, "application/pdf"],
    ["a.mp4", MP4, "video/mp4"],
    ["a.webm", WEBM, "video/webm"],
    ["a.mp3", MP3, "audio/mpeg"],
    ["tagged.mp3", TAGGED_MP3, "audio/mpeg"],
    ["a.svg", SVG, "image/svg+xml"],
    ["declared.svg", `<?xml version="1.0"?>\n${SVG}`, "image/svg+xml"],
    ["marked.svg", `\ufeff${SVG}`, "image/svg+xml"],
    ["indented.svg", `\n\n  ${SVG}`, "image/svg+xml"],
    ["comment.svg", `<!-- ${"x".repeat(30_000)} -->${SVG}`, "image/svg+xml"],
    [
      "doctype.svg",
      `<!DOCTYPE svg PUBLIC "-//W3C//DTD SVG 1.1//EN" "http://www.w3.org/Graphics/SVG/1.1/DTD/svg11.dtd">${SVG}`,
      "image/svg+xml",
    ],
    [
      "prefixed.svg",
      '<s:svg xmlns:s="http://www.w3.org/2000/svg"/>',
      "image/svg+xml",
    ],
    ["wide.svg", utf16(SVG), "image/svg+xml"],
    [
      "script.svg",
      '<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>',
      "image/svg+xml",
    ],
    ["UPPER.PNG", png, "image/png"],
    ["photo.html.jpg", jpg, "image/jpeg"],
    [".jpg", jpg, "image/jpeg"],
    ["../../../etc/cron.d/x.pdf", PDF, "application/pdf"],
    ["C:\\\\Users\\\\me\\\\x.pdf", PDF, "application/pdf"],
    ["x.html\0.pdf", PDF, "application/pdf"],
    [`${"long".repeat(5000)}.pdf`, PDF, "application/pdf"],
    ["Prüfung 🎪.pdf", PDF, "application/pdf"],
  ];
  const urls = new Set<string>();
  for (const [filename, body, mime] of cases) {
    const name = filename.slice(0, 40);
    const answer = await upload(server, fileForm(filename, body));
    t.equal(answer.status, 201, name);
    t.match(answer.headers["content-type"], "application/json", name);
    t.strictSame(Object.keys(answer.body as object), ["url"]);
    const url = urlOf(answer);
    t.match(
      url,
      /^http:\/\/localhost:8375\/media\/pub\/demo\/[0-9a-f-]{36}\.[\w-]{12}\.[a-z0-9]{3,4}$/,
      name,
    );
    urls.add(url);
    const served = await follow(server, url);
    t.equal(served.status, 200, name);
    t.equal(served.headers["content-type"]?.split(";")[0], mime, name);
    if (/png|jpeg|gif|webp/.test(mime)) {
      const { width, height } = await sharp(served.bytes).metadata();
      t.strictSame({ width, height }, { width: 20, height: 10 }, name);
    } else {
      t.ok(served.bytes.equals(Buffer.from(body)), `${name}: byte for byte`);
    }
  }
  t.equal(urls.size, cases.length, "no two links are the same");
  t.equal((await finished(server.dataDir)).length, cases.length);
  t.strictSame(await unfinished(server.dataDir), []);
  const records = await filesOf(server.store, "demo");
  t.equal(records.length, cases.length);
  t.equal(
    await server.store.files.size("demo"),
    records.reduce((sum, { size }) => sum + size, 0),
  );
});

void t.test("other ways to write the same form", async (t) => {
  const server = await serve(t);
  const { headers, body } = fileForm("a.pdf", PDF);
  const boundary = headers["content-type"]!.split("=")[1]!;
  const around = (before: string, after: string): Form => ({
    headers,
    body: Buffer.concat([Buffer.from(before), body, Buffer.from(after)]),
  });
  const cases: [name: string, form: Form][] = [
    ["a preamble and an epilogue", around("hello\r\n", "goodbye\r\n")],
    [
      "a quoted boundary, and capitals",
      {
        headers: {
          "content-type": `Multipart/Form-Data; charset=utf-8; Boundary="${boundary}"`,
        },
        body,
      },
    ],
    [
      "an encoded name",
      formOf({
        headers: {
          "Content-Disposition":
            "form-data; name=file; filename*=UTF-8''Pr%C3%BCfung.pdf",
        },
        body: PDF,
      }),
    ],
    [
      "names of headers in other letters, and more of them",
      formOf({
        headers: {
          "CONTENT-DISPOSITION": 'form-data; name="file"; filename="a.pdf"',
          "Content-Length": "3",
          "X-Long": "x".repeat(10_000),
        },
        body: PDF,
      }),
    ],
    [
      "a type that is not so",
      formOf({
        headers: {
          "Content-Disposition": 'form-data; name="file"; filename="a.pdf"',
          "Content-Type": "text/html",
        },
        body: PDF,
      }),
    ],
  ];
  for (const [name, form] of cases) {
    const answer = await upload(server, form);
    t.equal(answer.status, 201, name);
    const served = await follow(server, urlOf(answer));
    t.equal(served.bytes.toString(), PDF, name);
    t.equal(served.headers["content-type"], "application/pdf", name);
  }
});

void t.test("a form of a browser, and one of curl", async (t) => {
  const server = await serve(t);
  const port = await listen(server.app);
  const photo = await images.jpg();
  const url = `http://127.0.0.1:${port}${path}`;

  const form = new FormData();
  form.append("file", new Blob([photo], { type: "image/jpeg" }), "photo.jpg");
  for (const authorization of [
    GUEST,
    `Bearer ${tokenOf(keyOf("demo"), { uid: "ada" })}`,
  ]) {
    const answer = await fetch(url, {
      method: "POST",
      headers: { authorization },
      body: form,
    });
    t.equal(answer.status, 201);
    const link = ((await answer.json()) as { url: string }).url;
    t.match(link, `http://127.0.0.1:${port}/media/pub/demo/`);
    const served = await fetch(link);
    t.equal(served.status, 200);
    t.equal((await sharp(await served.arrayBuffer()).metadata()).width, 20);
  }

  // A test has one folder only, and the server is in it.
  const file = join(server.dataDir, "photo.jpg");
  writeFileSync(file, photo);
  const { stdout } = await promisify(execFile)("curl", [
    ...["-sS", "-w", "\n%{http_code}", "-H", `Authorization: ${GUEST}`],
    ...["-F", `file=@${file}`, url],
  ]).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "ENOENT") throw error;
    t.comment("curl is not installed");
    return { stdout: "" };
  });
  if (stdout === "") return;
  const [body = "", status] = stdout.split("\n");
  t.equal(status, "201");
  const { url: link } = JSON.parse(body) as { url: string };
  t.equal((await fetch(link)).status, 200);
});

void t.test("who may upload", async (t) => {
  const demo = (claims: object, key = keyOf("demo")) =>
    `Bearer ${tokenOf(key, { uid: "ada", ...claims })}`;
  const past = Math.floor(Date.now() / 1000) - 60;
  const open = worldOf("demo");
  const shut = worldOf("demo", {
    permission_config: rules({ "world.view": ["attendee"] }),
  });
  const ruled = worldOf("demo", {
    permission_config: rules({ "file.upload": [["speaker", "host"]] }),
  });
  const cases: [
    name: string,
    as: string | undefined,
    open: number,
    shut: number,
    ruled: number,
  ][] = [
    ["nobody", undefined, 403, 403, 403],
    ["nothing", "", 403, 403, 403],
    ["garbage", "Bearer x", 403, 403, 403],
    ["Basic", "Basic eDp5", 403, 403, 403],
    ["badly signed", demo({}, { ...keyOf("demo"), secret: "x".repeat(40) }), 403, 403, 403],
    ["expired", demo({ exp: past }), 403, 403, 403],
    ["of another world", demo({ traits: ["attendee", "host"] }, keyOf("other")), 403, 403, 403],
    ["without uid", bearer("demo", "attendee", "host"), 403, 403, 403],
    ["an admin without uid", admin("demo"), 403, 403, 403],
    ["an empty uid", demo({ uid: "" }), 403, 403, 403],
    ["a uid that is an object", demo({ uid: {} }), 403, 403, 403],
    ["a uid too long", demo({ uid: "x".repeat(201) }), 403, 403, 403],
    ["a token", demo({}), 201, 403, 403],
    ["a uid that is a number", demo({ uid: 7 }), 201, 403, 403],
    ["a uid that is 0", demo({ uid: 0 }), 201, 403, 403],
    ["an attendee", demo({ traits: ["attendee"] }), 201, 201, 403],
    ["a host", demo({ traits: ["host"] }), 201, 403, 201],
    ["attendee and speaker", demo({ traits: ["attendee", "speaker"] }), 201, 201, 201],
    ["a client", "Client a.b_c~D-9", 201, 403, 403],
    ["a client in other letters", "client   x", 201, 403, 403],
    ["a client of 200 characters", `Client ${"x".repeat(200)}`, 201, 403, 403],
    ["a client of 201", `Client ${"x".repeat(201)}`, 403, 403, 403],
    ["a client of none", "Client ", 403, 403, 403],
    ["a client with a space", "Client a b", 403, 403, 403],
    ["a client with a slash", "Client ../a", 403, 403, 403],
    ["a client with ü", "Client \u00fc", 403, 403, 403],
  ]; // prettier-ignore
  const form = fileForm("a.pdf", PDF);
  for (const [i, world] of [open, shut, ruled].entries()) {
    await t.test(`rules ${i}`, async (t) => {
      const { call, store } = await serve(t, [world, worldOf("other")]);
      for (const [name, as, ...statuses] of cases) {
        // Not by `upload`, which is a guest when nobody is named.
        const got = await call({
          method: "POST",
          url: path,
          as,
          headers: { ...form.headers, host: "demo.example.org" },
          body: form.body,
        });
        t.equal(got.status, statuses[i], name);
        if (got.status === 403) t.equal(got.text, "", `${name}: no body`);
      }
      if (world !== open) return;
      const users = await usersOf(store, "demo");
      t.strictSame(
        new Set(users.map(({ token_id, client_id }) => token_id ?? client_id)),
        new Set(["ada", "7", "0", "a.b_c~D-9", "x", "x".repeat(200)]),
      );
    });
  }
});

void t.test("which world a host stands for", async (t) => {
  const form = fileForm("a.pdf", PDF);
  const table: [domains: string[], hosts: Record<string, string | null>][] = [
    [[], { "one.org": null }],
    [
      ["one.org"],
      { "x.example.com:99": "w0", "127.0.0.1": "w0", "[::1]:8375": "w0" },
    ],
    [
      ["one.org", "two.org"],
      {
        "one.org": "w0",
        "two.org": "w1",
        "TWO.Org": "w1",
        "two.org:8375": "w1",
        "three.org": null,
        "sub.two.org": null,
      },
    ],
    [
      ["one.org:80", "one.org:81", "two.org"],
      { "one.org:81": "w1", "one.org:82": null, "two.org:80": "w2" },
    ],
  ];
  for (const [domains, hosts] of table) {
    await t.test(domains.join(", ") || "no world", async (t) => {
      const server = await serve(
        t,
        domains.map((domain, i) => worldOf(`w${i}`, { domain })),
      );
      for (const [host, world] of Object.entries(hosts)) {
        const got = await upload(server, form, { headers: { host } });
        t.equal(got.status, world ? 201 : 403, host);
        if (world) t.match(urlOf(got), `http://${host}/media/pub/${world}/`);
        else t.equal(got.text, "", host);
      }
    });
  }

  await t.test("a link needs a host name", async (t) => {
    const server = await serve(t);
    const got = await upload(server, form, { headers: { host: 'a"b' } });
    t.equal(got.status, 400);
    t.strictSame(await finished(server.dataDir), [], "it is not kept before");
  });

  await t.test("PUBLIC_URL", async (t) => {
    const server = await serve(t, undefined, {
      config: { publicUrl: "https://rooms.example.org/x" },
    });
    t.match(
      urlOf(await upload(server, form)),
      "https://rooms.example.org/x/media/pub/demo/",
    );
  });
});

void t.test("a refusal does not wait for the body", async (t) => {
  const { app, dataDir } = await serve(t, undefined, {
    config: uploads({ UPLOADS_PER_MINUTE: "2" }),
  });
  const port = await listen(app);
  const form = fileForm("a.pdf", PDF);
  const announce = (headers: Record<string, string>) =>
    rawRequest(`POST ${path}`, {
      ...form.headers,
      "Content-Length": String(50 * MIB),
      ...headers,
    });

  const wire = dial(t, port);
  wire.send(announce({}));
  const first = await wire.answer();
  t.equal(first.status, 403);
  t.equal(first.headers["content-length"], "0");
  // It may send all the same, and then go on.
  const piece = "x".repeat(MIB);
  for (let i = 0; i < 50; i++) wire.send(piece);
  wire.send(rawRequest("GET /healthz"));
  t.equal((await wire.answer()).status, 200, "the same connection goes on");

  const asking = dial(t, port);
  asking.send(announce({ Expect: "100-continue" }));
  const second = await asking.answer();
  t.equal(second.status, 403, "and no 100 before it");
  t.equal(second.headers["connection"], "close", "or its body could follow");

  const welcome = dial(t, port);
  welcome.send(
    rawRequest(`POST ${path}`, {
      ...form.headers,
      Authorization: GUEST,
      "Content-Length": String(form.body.length),
      Expect: "100-continue",
    }),
  );
  t.equal((await welcome.answer()).status, 100);
  welcome.send(form.body.toString());
  t.equal((await welcome.answer()).status, 201);

  const chunked = dial(t, port);
  chunked.send(
    rawRequest(`POST ${path}`, {
      ...form.headers,
      Authorization: GUEST,
      "Transfer-Encoding": "chunked",
    }),
  );
  for (let at = 0; at < form.body.length; at += 50) {
    const bytes = form.body.toString("latin1", at, at + 50);
    chunked.send(`${bytes.length.toString(16)}\r\n${bytes}\r\n`);
  }
  chunked.send("0\r\n\r\n");
  t.equal((await chunked.answer()).status, 201, "chunked");

  const busy = dial(t, port);
  busy.send(announce({ Authorization: GUEST }));
  t.equal((await busy.answer()).status, 429, "too many are told at once too");
  t.strictSame(await unfinished(dataDir), []);
});

void t.test("a client that sends all before it reads", async (t) => {
  const { app } = await serve(t);
  const port = await listen(app);
  const big = Buffer.alloc(30 * MIB, "x");
  const pdf = Buffer.concat([Buffer.from(PDF), big]);
  const cases: [name: string, form: Form, status: number, answer: object][] = [
    ["too large", fileForm("a.pdf", pdf), 400, size],
    ["too large, of a wrong type", fileForm("a.html", big), 400, type],
    ["a field first", formOf(textPart("x", "1"), filePart("a.pdf", pdf)), 400, missing],
    ["another name", formOf(filePart("a.pdf", pdf, "upload")), 400, missing],
    ["no form", { headers: { "content-type": "text/plain" }, body: big }, 400, missing],
    [
      "no boundary",
      { headers: { "content-type": "multipart/form-data" }, body: big },
      400,
      missing,
    ],
  ]; // prettier-ignore
  for (const [name, { headers, body }, status, answer] of cases) {
    const socket = connect(port, "127.0.0.1");
    t.teardown(() => socket.destroy());
    socket.write(
      rawRequest(`POST ${path}`, {
        ...headers,
        Authorization: GUEST,
        "Content-Length": String(body.length),
      }),
    );
    await new Promise((resolve) => socket.write(body, resolve));
    socket.write(rawRequest("GET /healthz", { Connection: "close" }));
    const chunks: Buffer[] = [];
    for await (const chunk of socket) chunks.push(chunk as Buffer);
    const text = Buffer.concat(chunks).toString();
    t.match(text, new RegExp(`^HTTP/1.1 ${status} `), name);
    t.match(text, JSON.stringify(answer), name);
    t.match(text, /HTTP\/1.1 200 OK/, `${name}: and the next request`);
  }
});

void t.test("file.missing", async (t) => {
  const server = await serve(t);
  const good = fileForm("a.pdf", PDF);
  const typed = (type: string, body: string | Buffer = good.body): Form => ({
    headers: { "content-type": type },
    body: Buffer.from(body),
  });
  const cut = (bytes: number): Form => ({
    headers: good.headers,
    body: good.body.subarray(0, bytes),
  });
  const disposed = (disposition: string): Form =>
    formOf({ headers: { "Content-Disposition": disposition }, body: PDF });
  const file = filePart("a.pdf", PDF);
  const forms: [name: string, form: Form][] = [
    ["JSON", typed("application/json", '{"file": "a.pdf"}')],
    ["a form in a URL", typed("application/x-www-form-urlencoded", "file=a.pdf")],
    ["the file itself", typed("application/pdf", PDF)],
    ["text", typed("text/plain", "x")],
    ["a form of another kind", typed(good.headers["content-type"]!.replace("form-data", "mixed"))],
    ["a kind like it", typed(good.headers["content-type"]!.replace("form-data", "form-database"))],
    ["a type that is none", typed("foo")],
    ["an empty type", typed("")],
    ["no boundary", typed("multipart/form-data")],
    ["an empty boundary", typed("multipart/form-data; boundary=")],
    ["another boundary", typed("multipart/form-data; boundary=other")],
    ["nothing", cut(0)],
    ["cut in the boundary", cut(10)],
    ["cut in the headers", cut(60)],
    ["cut before the bytes", cut(good.body.indexOf(PDF))],
    ["cut in the bytes", cut(good.body.indexOf(PDF) + 20)],
    ["cut before the last boundary", cut(good.body.indexOf(PDF) + PDF.length)],
    ["cut in the last boundary", cut(good.body.length - 10)],
    ["cut before its dashes", cut(good.body.length - 4)],
    ["lines that end like Unix", typed(good.headers["content-type"]!, good.body.toString().replaceAll("\r\n", "\n"))],
    ["no part", formOf()],
    ["another name", formOf(filePart("a.pdf", PDF, "upload"))],
    ["a name in capitals", formOf(filePart("a.pdf", PDF, "FILE"))],
    ["an empty name", formOf(filePart("a.pdf", PDF, ""))],
    ["the name of a prototype", formOf(filePart("a.pdf", PDF, "__proto__"))],
    ["no name", disposed('form-data; filename="a.pdf"')],
    ["no file name", disposed('form-data; name="file"')],
    ["an empty file name", disposed('form-data; name="file"; filename=""')],
    ["no disposition", formOf({ body: PDF })],
    ["another disposition", disposed('attachment; name="file"; filename="a.pdf"')],
    ["a text field", formOf(textPart("file", PDF))],
    ["two files", formOf(file, file)],
    ["two files, the second with another name", formOf(file, filePart("b.pdf", PDF, "b"))],
    ["a field before", formOf(textPart("x", "1"), file)],
    ["a field after", formOf(file, textPart("x", "1"))],
    ["a field of a prototype after", formOf(file, textPart("toString", "1"))],
    ["a file of a prototype after", formOf(file, filePart("a.pdf", PDF, "toString"))],
    ["a part that counts for nothing before", formOf({ body: "x" }, file)],
    ["a part that counts for nothing after", formOf(file, { body: "x" })],
    ["broken JSON after", formOf(file, { headers: { "Content-Disposition": 'form-data; name="x"', "Content-Type": "application/json" }, body: "{" })],
    ["a header of a part without end", formOf({ headers: { X: "x".repeat(200_000) }, body: "" }, file)],
    ["a line break in the name", disposed('form-data; name="fi\rle"; filename="a.pdf"')],
  ]; // prettier-ignore
  await refuses(
    t,
    server,
    forms.map(([name, form]) => [name, form, missing]),
  );
  const none = await server.call({ method: "POST", url: path, as: GUEST });
  t.equal(none.status, 400, "no body at all");
  t.strictSame(none.body, missing);
});

void t.test("file.type", async (t) => {
  const server = await serve(t);
  const [png, jpg, gif] = await Promise.all([
    images.png(),
    images.jpg(),
    images.gif(),
  ]);
  const elf = Buffer.concat([
    Buffer.from("\x7fELF\x02\x01\x01"),
    Buffer.alloc(60),
  ]);
  const exe = Buffer.concat([
    Buffer.from("MZ"),
    Buffer.alloc(60),
    Buffer.from("PE\0\0"),
  ]);
  const names = [
    "png",
    "jpg",
    "jpeg",
    "gif",
    "webp",
    "pdf",
    "svg",
    "mp4",
    "webm",
    "mp3",
  ];
  const contents: [name: string, body: string | Buffer][] = [
    ["HTML", HTML],
    ["HTML behind a comment", `<!-- <svg xmlns="http://www.w3.org/2000/svg"/> -->${HTML}`],
    ["XHTML", '<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml"><body/></html>'],
    ["an SVG in HTML", `<html>${SVG}</html>`],
    ["a shell script", "#!/bin/sh\nrm -rf /\n"],
    ["JavaScript", "alert(1)"],
    ["a Linux program", elf],
    ["a Windows program", exe],
    ["a ZIP", Buffer.from("504b0304140000000000", "hex")],
    ["one byte", "x"],
  ]; // prettier-ignore
  const files: [filename: string, body: string | Buffer][] = [
    ...contents.flatMap(([, body]) =>
      names.map((ext): [string, string | Buffer] => [`a.${ext}`, body]),
    ),
    ["photo", jpg],
    ["jpg", jpg],
    ["photo.", jpg],
    ["photo.jpg.", jpg],
    ["photo.jpg ", jpg],
    ["photo.jpg.html", jpg],
    ["photo.jpg\0.html", jpg],
    ["photo.html", jpg],
    ["photo.svgz", SVG],
    ["photo.constructor", jpg],
    ["photo.__proto__", jpg],
    ["photo.j\u0440g", jpg],
    ["a.bmp", jpg],
    ["a.exe", exe],
    ["a.html", HTML],
    ["a.js", "alert(1)"],
    ["a.png", jpg],
    ["a.jpg", png],
    ["a.gif", png],
    ["a.webp", gif],
    ["a.svg", png],
    ["a.pdf", SVG],
    ["a.mp4", MP3],
    ["a.mp3", MP4],
    ["a.webm", MP4],
    ["a.pdf", ` ${"x".repeat(2000)}${PDF}`],
    ["html first.pdf", HTML + PDF],
    ["gif and script.gif", "GIF89a=1;alert(1)//"],
    ["cut.png", await images.cut("png")],
    ["cut.jpg", await images.cut("jpeg")],
    ["cut.gif", await images.cut("gif")],
    ["cut.webp", await images.cut("webp")],
    ["only the start.png", png.subarray(0, 30)],
    ["only the start.jpg", jpg.subarray(0, 20)],
    ["bomb.png", pngBomb(12_000, 12_000)],
    ["bomb.gif", gifBomb(2000, 2000, 30)],
    ["other.svg", '<?xml version="1.0"?><rss/>'],
    ["far.svg", `<!--${"x".repeat(MIB)}-->${SVG}`],
    ["text before.svg", `x${SVG}`],
  ];
  await refuses(
    t,
    server,
    files.map(([name, body]) => [name, fileForm(name, body), type]),
  );
});

void t.test(
  "what hides in a file is gone, or is what its name says",
  async (t) => {
    const server = await serve(t);
    const [png, jpg, gif] = await Promise.all([
      images.png(),
      images.jpg(),
      images.gif(),
    ]);
    const evil = Buffer.from(HTML);
    for (const [filename, image] of [
      ["a.png", png],
      ["a.jpg", jpg],
      ["a.gif", gif],
    ] as const) {
      const answer = await upload(
        server,
        fileForm(filename, Buffer.concat([image, evil])),
      );
      t.equal(answer.status, 201, filename);
      const { bytes } = await follow(server, urlOf(answer));
      t.notOk(
        bytes.includes("script"),
        `${filename}: nothing behind the image`,
      );
      t.equal((await sharp(bytes).metadata()).width, 20);
    }
    const both = await upload(server, fileForm("a.pdf", PDF + HTML));
    const { headers } = await follow(server, urlOf(both));
    t.equal(headers["content-type"], "application/pdf", "nothing else");
    t.equal(headers["x-content-type-options"], "nosniff");
  },
);

void t.test("file.size, and what comes first", async (t) => {
  const server = await serve(t, undefined, {
    config: uploads({ UPLOAD_MAX_BYTES: "1000", UPLOAD_TYPES: "pdf, png" }),
  });
  const sized = (bytes: number) => PDF.padEnd(bytes, " ");
  const part = (bytes: number) => filePart("a.pdf", sized(bytes));
  await refuses(t, server, [
    ["one byte too many", fileForm("a.pdf", sized(1001)), size],
    ["a thousand times too many", fileForm("a.pdf", sized(MIB)), size],
    ["no byte", fileForm("a.pdf", ""), size],
    ["no byte, of a wrong type", fileForm("a.exe", ""), type],
    ["no byte, and a second part", formOf(filePart("a.pdf", ""), textPart("x", "")), missing],
    ["no byte, in another field", formOf(filePart("a.pdf", "", "x")), missing],
    ["a wrong type, and a second part", formOf(filePart("a.exe", "x"), textPart("x", "")), missing],
    ["a wrong content, and a second part", formOf(filePart("a.pdf", "x"), textPart("x", "")), missing],
    ["a broken image, and a second part", formOf(filePart("a.png", (await images.png()).subarray(0, 40)), textPart("x", "")), missing],
    ["too large, in another field", formOf(filePart("a.pdf", sized(1001), "x")), missing],
    ["too large, of a wrong type", fileForm("a.exe", sized(1001)), type],
    ["a type that is not configured", fileForm("a.svg", SVG), type],
    ["its last boundary is missing", { ...formOf(part(900)), body: formOf(part(900)).body.subarray(0, -8) }, missing],
  ]); // prettier-ignore
  for (const bytes of [PDF.length, 1000]) {
    const answer = await upload(server, formOf(part(bytes)));
    t.equal(answer.status, 201, `${bytes} bytes`);
  }

  await t.test("by default", async (t) => {
    const usual = await serve(t);
    for (const [bytes, status] of [
      [10 * MIB, 201],
      [10 * MIB + 1, 400],
    ] as const) {
      const answer = await upload(usual, fileForm("a.pdf", sized(bytes)));
      t.equal(answer.status, status, `${bytes} bytes`);
    }
  });
});

void t.test("the variables", async (t) => {
  const { uploads: usual } = loadConfig({});
  t.strictSame(usual, {
    maxBytes: 10 * MIB,
    worldMaxBytes: 10 * 1024 * MIB,
    perMinute: 600,
    types: "png jpg jpeg gif webp pdf svg mp4 webm mp3".split(" "),
  });
  for (const [name, value] of [
    ["UPLOAD_MAX_BYTES", "0"],
    ["UPLOAD_MAX_BYTES", "10MB"],
    ["UPLOAD_MAX_BYTES", "-1"],
    ["UPLOAD_WORLD_MAX_BYTES", "1e9"],
    ["UPLOADS_PER_MINUTE", "0"],
    ["UPLOADS_PER_MINUTE", "99999999999999999999"],
    ["UPLOAD_TYPES", "png,exe"],
    ["UPLOAD_TYPES", "png,,jpg"],
    ["UPLOAD_TYPES", "constructor"],
  ] as const) {
    t.throws(
      () => loadConfig({ [name]: value }),
      { message: new RegExp(`^${name}: .+$`) },
      `${name}=${value}`,
    );
  }
});

void t.test(
  "a photo loses what tells of its maker, and stays upright",
  async (t) => {
    // In a process of its own, as all its files are read.
    const dataDir = t.testdir();
    const server = await startFoyer(t, dataDir, ["--demo"]);
    const secret = "GPS-52.520008N-13.404954E";
    const noted = async (format: "jpeg" | "png" | "webp") =>
      sharp({
        create: { width: 30, height: 20, channels: 3, background: "red" },
      })
        .composite([
          {
            input: await images.png(15, 20),
            left: 0,
            top: 0,
          },
        ])
        .withExif({
          IFD0: { ImageDescription: secret },
          IFD3: { GPSLatitude: "52/1 31/1 12/1", GPSAreaInformation: secret },
        })
        .withXmp(
          `<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"><rdf:Description>${secret}</rdf:Description></rdf:RDF></x:xmpmeta>`,
        )
        .withMetadata({ orientation: 6 })
        .toFormat(format)
        .toBuffer();
    for (const format of ["jpeg", "png", "webp"] as const) {
      const photo = await noted(format);
      t.ok(photo.includes(secret), `${format}: it is in what is sent`);
      const { orientation } = await sharp(photo).metadata();
      t.equal(orientation, 6, format);
      const form = new FormData();
      form.append("file", new Blob([photo]), `photo.${format}`);
      const answer = await fetch(server.address + path, {
        method: "POST",
        headers: { authorization: GUEST },
        body: form,
      });
      t.equal(answer.status, 201, format);
      const { url } = (await answer.json()) as { url: string };
      const served = Buffer.from(await (await fetch(url)).arrayBuffer());
      t.notOk(
        served.includes(secret),
        `${format}: it is not in what is served`,
      );
      const meta = await sharp(served).metadata();
      t.strictSame([meta.width, meta.height], [20, 30], `${format}: turned`);
      t.equal(meta.orientation ?? 1, 1, format);
      t.notOk(meta.exif ?? meta.xmp, `${format}: no metadata`);
      // What was on the left is above.
      const { data } = await sharp(served)
        .removeAlpha()
        .raw()
        .toBuffer({ resolveWithObject: true });
      const last = data.subarray(-3);
      t.ok(data[2]! > 150 && data[0]! < 150, `${format}: violet above`);
      t.ok(last[0]! > 200 && last[2]! < 50, `${format}: red below`);
    }
    t.strictSame(await textsBelow(dataDir, [secret]), [], "in no file");
  },
);

void t.test("an animation goes on", async (t) => {
  const server = await serve(t);
  for (const [filename, image] of [
    ["a.gif", await images.animatedGif()],
    ["a.webp", await images.animatedWebp()],
  ] as const) {
    const answer = await upload(server, fileForm(filename, image));
    t.equal(answer.status, 201, filename);
    const { bytes } = await follow(server, urlOf(answer));
    const { pages, delay, loop, width, pageHeight, height } = await sharp(
      bytes,
      { animated: true },
    ).metadata();
    t.strictSame(
      { pages, delay, loop, width, height: pageHeight ?? height },
      { pages: 3, delay: [100, 200, 300], loop: 2, width: 20, height: 10 },
      filename,
    );
  }
});

void t.test("the methods and paths of uploads", async (t) => {
  const server = await serve(t);
  const form = fileForm("a.pdf", PDF);
  for (const method of ["GET", "HEAD", "PUT", "PATCH", "DELETE", "OPTIONS"]) {
    const got = await server.app.inject({ method: method as "GET", url: path });
    t.equal(got.statusCode, 405, method);
    t.equal(got.headers.allow, "POST", method);
  }
  for (const [url, status] of [
    ["/storage/upload", 201],
    ["/storage/upload/", 201],
    ["/storage/upload/?x=1", 201],
    ["/storage/upload//", 404],
    ["/storage/", 404],
    ["/storage/upload/x", 404],
    ["/Storage/Upload/", 404],
    ["/api/v1/storage/upload/", 404],
  ] as const) {
    const got = await server.call({
      method: "POST",
      url,
      as: GUEST,
      headers: form.headers,
      body: form.body,
    });
    t.equal(got.status, status, url);
  }
});

void t.test("too many from one caller", async (t) => {
  const server = await serve(t, [worldOf("demo"), worldOf("other")], {
    config: uploads({ UPLOADS_PER_MINUTE: "2" }),
  });
  const form = fileForm("a.pdf", PDF);
  const ada = (claims = {}) =>
    `Bearer ${tokenOf(keyOf("demo"), { uid: "guest-1", ...claims })}`;
  const demo = { host: "demo.example.org" };
  const other = { host: "other.example.org" };
  const cases: [name: string, as: string, headers: typeof demo, status: number][] = [
    ["one", GUEST, demo, 201],
    ["two", GUEST, demo, 201],
    ["three", GUEST, demo, 429],
    ["four", GUEST, demo, 429],
    ["another guest", "Client guest-2", demo, 201],
    ["a user of the same name", ada(), demo, 201],
    ["with another token of it", ada({ traits: ["x"] }), demo, 201],
    ["and a third", ada({ traits: ["y"] }), demo, 429],
    ["in another world", GUEST, other, 201],
  ]; // prettier-ignore
  for (const [name, as, headers, status] of cases) {
    const got = await upload(server, form, { as, headers });
    t.equal(got.status, status, name);
    if (status !== 429) {
      t.notOk(got.headers["retry-after"], name);
      continue;
    }
    const seconds = Number(got.headers["retry-after"]);
    t.ok(seconds >= 1 && seconds <= 60, `${name}: in ${seconds} seconds`);
    t.match(got.body, { detail: /Too many/ }, name);
  }
});

void t.test("too much in one world", async (t) => {
  const server = await serve(t, [worldOf("demo"), worldOf("other")], {
    config: uploads({ UPLOAD_WORLD_MAX_BYTES: "1000" }),
  });
  const sized = (bytes: number) => fileForm("a.pdf", PDF.padEnd(bytes, " "));
  const demo = { headers: { host: "demo.example.org" } };
  const other = { headers: { host: "other.example.org" } };
  const cases: [name: string, bytes: number, where: typeof demo, answer?: object][] = [
    ["some", 600, demo],
    ["one byte too many", 401, demo, size],
    ["as much as there is room for", 400, demo],
    ["one that would not have fitted anyway", 100, demo, size],
    ["another world has room of its own", 1000, other],
  ]; // prettier-ignore
  for (const [name, bytes, where, answer] of cases) {
    const got = await upload(server, sized(bytes), where);
    t.equal(got.status, answer ? 400 : 201, name);
    if (answer) t.strictSame(got.body, answer, name);
  }
  t.equal(await server.store.files.size("demo"), 1000);
  t.equal((await finished(server.dataDir)).length, 3);

  await t.test("at once", async (t) => {
    const rush = await serve(t, undefined, {
      config: uploads({ UPLOAD_WORLD_MAX_BYTES: "1000" }),
    });
    const answers = await Promise.all(
      Array.from({ length: 10 }, () => upload(rush, sized(300))),
    );
    const taken = answers.filter(({ status }) => status === 201);
    const refused = answers.filter(({ status }) => status === 400);
    t.strictSame([taken.length, refused.length], [3, 7]);
    t.equal((await finished(rush.dataDir)).length, 3);
    t.strictSame(await unfinished(rush.dataDir), []);
  });
});

void t.test("forty at once", async (t) => {
  const server = await serve(t);
  await listen(server.app);
  const bodies = Array.from({ length: 40 }, (_, i) =>
    i % 4 === 0
      ? Buffer.alloc(0)
      : Buffer.from(`${PDF}${`${i} `.repeat(100_000)}`),
  );
  const answers = await Promise.all(
    bodies.map(async (body, i) =>
      i % 4 === 0
        ? upload(server, fileForm("a.png", await images.png(10 + i, 10)))
        : upload(server, fileForm("a.pdf", body), { as: `Client c${i}` }),
    ),
  );
  for (const [i, answer] of answers.entries()) {
    t.equal(answer.status, 201);
    const { bytes } = await follow(server, urlOf(answer));
    if (i % 4 === 0) t.equal((await sharp(bytes).metadata()).width, 10 + i);
    else t.ok(bytes.equals(bodies[i]!), `the ${i}th is what was sent`);
  }
  t.equal((await finished(server.dataDir)).length, 40);
  t.strictSame(await unfinished(server.dataDir), []);
});

void t.test("a client that hangs up", async (t) => {
  const server = await serve(t);
  const port = await listen(server.app);
  const { dataDir, store } = server;
  const large = (
    await sharp({
      create: { width: 3000, height: 3000, channels: 3, background: "red" },
    })
      .png({ compressionLevel: 0 })
      .toBuffer()
  ).subarray(0, 8 * MIB);
  const pdf = fileForm("a.pdf", PDF + "x".repeat(4 * MIB));
  const image = fileForm("a.png", large);
  const grows = () => unfinished(dataDir).then((files) => files.length > 0);
  const cases: [name: string, form: Form, bytes: number, when?: () => Promise<boolean>][] = [
    ["after the head of the request", pdf, 0],
    ["in the head of the part", pdf, 60],
    ["in what is looked at", pdf, 30_000],
    ["while the file grows", pdf, MIB, grows],
    ["before the last boundary", pdf, pdf.body.length - 8, grows],
    ["while an image grows", image, MIB, grows],
  ]; // prettier-ignore
  for (const [name, { headers, body }, bytes, when] of cases) {
    const [accepted, socket] = await Promise.all([
      once(server.app.server, "request") as Promise<
        [{ socket: NodeJS.EventEmitter }]
      >,
      open(port, { headers, body }, bytes),
    ]);
    if (when) await until(when);
    const closed = once(accepted[0].socket, "close");
    socket.destroy();
    await closed;
    await until(async () => (await unfinished(dataDir)).length === 0);
    t.pass(name);
  }
  t.strictSame(await finished(dataDir), [], "nothing was kept");
  t.strictSame(await filesOf(store, "demo"), []);
  t.equal((await upload(server, fileForm("a.pdf", PDF))).status, 201);
});

/** Sends the beginning of an upload. */
async function open(port: number, { headers, body }: Form, bytes: number) {
  const socket = connect(port, "127.0.0.1");
  socket.on("error", () => {});
  socket.write(
    rawRequest(`POST ${path}`, {
      ...headers,
      Authorization: GUEST,
      "Content-Length": String(body.length),
    }),
  );
  await new Promise((resolve) =>
    socket.write(body.subarray(0, bytes), resolve),
  );
  return socket;
}
