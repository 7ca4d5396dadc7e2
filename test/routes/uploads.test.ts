import { execFile } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { promisify } from "node:util";
import sharp from "sharp";
import t from "tap";
import { keyOf, listen, rawRequest, serve, tokenOf, until } from "../helper.js";
import {
  fileForm,
  finished,
  follow,
  type Form,
  formOf,
  GUEST,
  images,
  MP3,
  MP4,
  PDF,
  SVG,
  TAGGED_MP3,
  unfinished,
  upload,
  urlOf,
  WEBM,
} from "../files.js";
import { filesOf } from "../listed.js";

const path = "/storage/upload/";
const MIB = 1024 * 1024;

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
