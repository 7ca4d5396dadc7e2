import sharp from "sharp";
import t from "tap";
import { listen, serve } from "../helper.js";
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
