import { randomBytes } from "node:crypto";
import { writeFileSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import sharp from "sharp";
import t from "tap";
import type { Test } from "tap";
import { ImageCleaner, MAX_PIXELS } from "../../../plugins/upload/images.js";
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
  uploads,
  urlOf,
  WEBM,
} from "../../support/files.js";
import { admin, startFoyer } from "../../support/helper.js";
import { filesOf, usersOf } from "../../support/database.js";
import { type Server, startServer } from "../../support/server.js";
import { testdir } from "../../support/testdir.js";

const path = "/storage/upload/";

void t.test("what is accepted", async (t) => {
  const server = await startServer(t);
  const [png, jpg, gif, webp] = await Promise.all([
    images.png(),
    images.jpg(),
    images.gif(),
    images.webp(),
  ]);
  const utf16 = Buffer.concat(["\ufeff", SVG].map((text) => Buffer.from(text, "utf16le")));
  const doctype =
    '<!DOCTYPE svg PUBLIC "-//W3C//DTD SVG 1.1//EN" "http://www.w3.org/Graphics/SVG/1.1/DTD/svg11.dtd">';
  const [pdf, svg, mp3, jpeg] = ["application/pdf", "image/svg+xml", "audio/mpeg", "image/jpeg"];
  const cases: [filename: string, body: Buffer | string, mime: string][] = [
    ["a.png", png, "image/png"],
    ["a.jpg", jpg, jpeg],
    ["a.jpeg", jpg, jpeg],
    ["a.gif", gif, "image/gif"],
    ["a.webp", webp, "image/webp"],
    ["a.pdf", PDF, pdf],
    ["a.mp4", MP4, "video/mp4"],
    ["a.webm", WEBM, "video/webm"],
    ["a.mp3", MP3, mp3],
    ["tagged.mp3", TAGGED_MP3, mp3],
    ["a.svg", SVG, svg],
    ["declared.svg", `<?xml version="1.0"?>\n${SVG}`, svg],
    ["marked.svg", `\ufeff${SVG}`, svg],
    ["indented.svg", `\n\n  ${SVG}`, svg],
    ["comment.svg", `<!-- ${"x".repeat(30_000)} -->${SVG}`, svg],
    ["doctype.svg", doctype + SVG, svg],
    ["prefixed.svg", '<s:svg xmlns:s="http://www.w3.org/2000/svg"/>', svg],
    ["wide.svg", utf16, svg],
    ["script.svg", '<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>', svg],
    ["UPPER.PNG", png, "image/png"],
    ["photo.html.jpg", jpg, jpeg],
    [".jpg", jpg, jpeg],
    ["../../../etc/cron.d/x.pdf", PDF, pdf],
    ["C:\\\\Users\\\\me\\\\x.pdf", PDF, pdf],
    ["x.html\0.pdf", PDF, pdf],
    [`${"long".repeat(5000)}.pdf`, PDF, pdf],
    ["Prüfung 🎪.pdf", PDF, pdf],
  ];
  const urls = new Set<string>();
  const link =
    /^http:\/\/localhost:8375\/media\/pub\/demo\/[0-9a-f-]{36}\.[\w-]{12}\.[a-z0-9]{3,4}$/;
  for (const [filename, body, mime] of cases) {
    const name = filename.slice(0, 40);
    const answer = await upload(server, fileForm(filename, body));
    t.match(answer, { status: 201, headers: { "content-type": /application\/json/ } }, name);
    t.strictSame(Object.keys(answer.body as object), ["url"]);
    const url = urlOf(answer);
    t.match(url, link, name);
    urls.add(url);
    const served = await follow(server, url);
    t.equal(served.status, 200, name);
    t.equal(served.headers["content-type"]?.split(";")[0], mime, name);
    if (/png|jpeg|gif|webp/.test(mime)) {
      const { width, height } = await sharp(served.bytes).metadata();
      t.strictSame([width, height], [20, 10], name);
    } else {
      t.ok(served.bytes.equals(Buffer.from(body)), `${name}: byte for byte`);
    }
  }
  t.equal(urls.size, cases.length, "no two links are the same");
  t.equal((await finished(server.dataDir)).length, cases.length);
  t.strictSame(await unfinished(server.dataDir), []);
  const records = await filesOf(server.store, "demo");
  t.equal(records.length, cases.length);
  const sum = records.reduce((sum, { size }) => sum + size, 0);
  t.equal(await server.store.files.size("demo"), sum);
});

void t.test("other ways to write the same form", async (t) => {
  const server = await startServer(t);
  const { headers, body } = fileForm("a.pdf", PDF);
  const boundary = headers["content-type"]!.split("=")[1]!;
  const around = ["hello\r\n", body, "goodbye\r\n"].map((part) => Buffer.from(part as Buffer));
  const quoted = `Multipart/Form-Data; charset=utf-8; Boundary="${boundary}"`;
  const part = (headers: Record<string, string>) => formOf({ headers, body: PDF });
  const disposition = 'form-data; name="file"; filename="a.pdf"';
  const encoded = "form-data; name=file; filename*=UTF-8''Pr%C3%BCfung.pdf";
  const more = { "Content-Length": "3", "X-Long": "x".repeat(10_000) };
  const typed = { "Content-Disposition": disposition, "Content-Type": "text/html" };
  const cases: [name: string, form: Form][] = [
    ["a preamble and an epilogue", { headers, body: Buffer.concat(around) }],
    ["a quoted boundary, and capitals", { headers: { "content-type": quoted }, body }],
    ["an encoded name", part({ "Content-Disposition": encoded })],
    [
      "names of headers in capitals, and more",
      part({ "CONTENT-DISPOSITION": disposition, ...more }),
    ],
    ["a type that is not so", part(typed)],
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
  const { app, call } = await startServer(t);
  for (const method of ["GET", "HEAD", "PUT", "PATCH", "DELETE", "OPTIONS"]) {
    const got = await app.inject({ method: method as "GET", url: path });
    t.strictSame([got.statusCode, got.headers.allow], [405, "POST"], method);
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
    const request = { method: "POST", url, as: GUEST, ...fileForm("a.pdf", PDF) };
    t.equal((await call(request)).status, status, url);
  }
});

void t.test("forty at once", async (t) => {
  const server = await startServer(t);
  const bodies = Array.from({ length: 40 }, (_, i) =>
    i % 4 === 0 ? Buffer.alloc(0) : Buffer.from(`${PDF}${`${i} `.repeat(100_000)}`),
  );
  const send = async (body: Buffer, i: number) =>
    i % 4 === 0
      ? upload(server, fileForm("a.png", await images.png(10 + i, 10)))
      : upload(server, fileForm("a.pdf", body), { as: `Client c${i}` });
  const answers = await Promise.all(bodies.map(send));
  for (const [i, answer] of answers.entries()) {
    t.equal(answer.status, 201);
    const { bytes } = await follow(server, urlOf(answer));
    if (i % 4 === 0) t.equal((await sharp(bytes).metadata()).width, 10 + i);
    else t.ok(bytes.equals(bodies[i]!), `the ${i}th is what was sent`);
  }
  t.equal((await finished(server.dataDir)).length, 40);
  t.strictSame(await unfinished(server.dataDir), []);
});

const MIB = 1024 * 1024;
const missing = { error: "file.missing" };
const type = { error: "file.type" };
const size = { error: "file.size" };

/** Sends forms that must be refused, and checks that nothing is left of them. */
async function refuses(
  t: Test,
  server: Server,
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

const box = (side: string) => [textPart("width", side), textPart("height", side)];

void t.test("file.missing", async (t) => {
  const server = await startServer(t);
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
    ["the file itself", typed("application/pdf", PDF)],
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
    ["a width alone before", formOf(textPart("width", "9"), file)],
    ["a width alone after", formOf(file, textPart("width", "9"))],
    ["a width on each side", formOf(textPart("width", "9"), file, textPart("width", "9"))],
    ["a third number", formOf(file, ...box("9"), textPart("width", "9"))],
    ["a box and a field", formOf(file, ...box("9"), textPart("x", "9"))],
    ["a box and a part that counts for nothing", formOf(file, ...box("9"), { body: "x" })],
    ["a box and two files", formOf(file, ...box("9"), file)],
    ["a box and no file", formOf(...box("9"))],
    ["a box around a part that counts for nothing", formOf(...box("9"), { body: "x" })],
    ["a part that counts for nothing between", formOf(file, { body: "x" }, textPart("width", "9"))],
    ...["0", "-1", "10001", "100000", "1.5", "1e2", "0x9", "09", " 9", "9 ", "+9", "", "nine", "9".repeat(2000)].map((side): [string, Form] => [`a side of ${side.slice(0, 10)}`, formOf(file, ...box(side))]),
    ["a side as JSON", formOf(file, textPart("width", "9"), { headers: { "Content-Disposition": 'form-data; name="height"', "Content-Type": "application/json" }, body: "9" })],
    ["a side as a file", formOf(file, textPart("width", "9"), filePart("9", "9", "height"))],
    ["a field of a prototype after", formOf(file, textPart("toString", "1"))],
    ["a file of a prototype after", formOf(file, filePart("a.pdf", PDF, "toString"))],
    ["a part that counts for nothing before", formOf({ body: "x" }, file)],
    ["a part that counts for nothing after", formOf(file, { body: "x" })],
    ["broken JSON after", formOf(file, { headers: { "Content-Disposition": 'form-data; name="x"', "Content-Type": "application/json" }, body: "{" })],
    ["a header of a part without end", formOf({ headers: { X: "x".repeat(200_000) }, body: "" }, file)],
    ["a line break in the name", disposed('form-data; name="fi\rle"; filename="a.pdf"')],
  ]; // prettier-ignore
  const cases = forms.map(([name, form]): [string, Form, object] => [name, form, missing]);
  await refuses(t, server, cases);
  const none = await server.call({ method: "POST", url: path, as: GUEST });
  t.strictSame([none.status, none.body], [400, missing], "no body at all");
});

void t.test("file.type", async (t) => {
  const server = await startServer(t);
  const [png, jpg, gif] = await Promise.all([images.png(), images.jpg(), images.gif()]);
  const lying = Buffer.from(png);
  lying.writeUInt32BE(1, 16);
  const elf = Buffer.concat([Buffer.from("\x7fELF\x02\x01\x01"), Buffer.alloc(60)]);
  const exe = Buffer.concat([Buffer.from("MZ"), Buffer.alloc(60), Buffer.from("PE\0\0")]);
  const names = ["png", "jpg", "jpeg", "gif", "webp", "pdf", "svg", "mp4", "webm", "mp3"];
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
    ["of another size than it says.png", lying],
    ["bomb.png", pngBomb(12_000, 12_000)],
    ["bomb.gif", gifBomb(2000, 2000, 30)],
    ["other.svg", '<?xml version="1.0"?><rss/>'],
    ["far.svg", `<!--${"x".repeat(MIB)}-->${SVG}`],
    ["text before.svg", `x${SVG}`],
  ];
  const cases = files.map(([name, body]): [string, Form, object] => [
    name,
    fileForm(name, body),
    type,
  ]);
  await refuses(t, server, cases);
});

void t.test("what hides in a file is gone, or is what its name says", async (t) => {
  const server = await startServer(t);
  const [png, jpg, gif] = await Promise.all([images.png(), images.jpg(), images.gif()]);
  const evil = Buffer.from(HTML);
  for (const [filename, image] of Object.entries({ "a.png": png, "a.jpg": jpg, "a.gif": gif })) {
    const answer = await upload(server, fileForm(filename, Buffer.concat([image, evil])));
    t.equal(answer.status, 201, filename);
    const { bytes } = await follow(server, urlOf(answer));
    t.notOk(bytes.includes("script"), `${filename}: nothing behind the image`);
    t.equal((await sharp(bytes).metadata()).width, 20);
  }
  const both = await upload(server, fileForm("a.pdf", PDF + HTML));
  const { headers } = await follow(server, urlOf(both));
  t.equal(headers["content-type"], "application/pdf", "nothing else");
  t.equal(headers["x-content-type-options"], "nosniff");
});

void t.test("file.size, and what comes first", async (t) => {
  const server = await startServer(t, {
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
    ["a wrong type, and half a box", formOf(filePart("a.exe", "x"), textPart("width", "9")), missing],
    ["a wrong content, and a bad box", formOf(filePart("a.pdf", "x"), ...box("0")), missing],
    ["no byte, and a bad box", formOf(filePart("a.pdf", ""), ...box("0")), missing],
    ["a wrong type, and a box", formOf(filePart("a.exe", "x"), ...box("9")), type],
    ["no byte, and a box", formOf(filePart("a.pdf", ""), ...box("9")), size],
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

  const usual = await startServer(t);
  for (const [bytes, status] of [
    [10 * MIB, 201],
    [10 * MIB + 1, 400],
  ] as const) {
    const answer = await upload(usual, fileForm("a.pdf", sized(bytes)));
    t.equal(answer.status, status, `${bytes} bytes, by default`);
  }
});

void t.test("a photo loses what tells of its maker, and stays upright", async (t) => {
  // In a separate process, because this test reads all of its files.
  const dataDir = testdir(t);
  const server = await startFoyer(t, dataDir, ["--demo"]);
  const secret = "GPS-52.520008N-13.404954E";
  const noted = async (format: "jpeg" | "png" | "webp") =>
    sharp({ create: { width: 30, height: 20, channels: 3, background: "red" } })
      .composite([{ input: await images.png(15, 20), left: 0, top: 0 }])
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
    t.notOk(served.includes(secret), `${format}: it is not in what is served`);
    const meta = await sharp(served).metadata();
    t.strictSame([meta.width, meta.height], [20, 30], `${format}: turned`);
    t.equal(meta.orientation ?? 1, 1, format);
    t.notOk(meta.exif ?? meta.xmp, `${format}: no metadata`);
    // The photo is rotated, so its left side is now on top.
    const { data } = await sharp(served).removeAlpha().raw().toBuffer({ resolveWithObject: true });
    const last = data.subarray(-3);
    t.ok(data[2]! > 150 && data[0]! < 150, `${format}: violet above`);
    t.ok(last[0]! > 200 && last[2]! < 50, `${format}: red below`);
  }
  t.strictSame(await textsBelow(dataDir, [secret]), [], "in no file");
});

void t.test("a picture has a preview", async (t) => {
  const server = await startServer(t);
  const noise = randomBytes(1200 * 1500 * 3);
  const photo = sharp(noise, { raw: { width: 1500, height: 1200, channels: 3 } });
  const turned = await photo.jpeg().withMetadata({ orientation: 6 }).toBuffer();
  const tall = await sharp(await images.png(1000, 4000))
    .webp()
    .toBuffer();
  const frames = await sharp(await images.animatedGif(), { animated: true })
    .resize({ width: 800 })
    .gif()
    .toBuffer();
  const webp = "image/webp";
  const rows: [filename: string, bytes: Buffer | string, type: string, side: number[]][] = [
    ["photo.jpg", turned, webp, [512, 640]],
    ["tall.webp", tall, webp, [160, 640]],
    ["moving.gif", frames, webp, [640, 320]],
    ["small.png", await images.png(), "image/png", [20, 10]],
  ];
  for (const [filename, bytes, type, side] of rows) {
    const url = urlOf(await upload(server, fileForm(filename, bytes)));
    const whole = await follow(server, url);
    const small = await follow(server, `${url}?preview`);
    t.equal(small.headers["content-type"], type, filename);
    t.match(small.headers["cache-control"], /immutable/);
    const { width, height, pages, exif } = await sharp(small.bytes).metadata();
    t.strictSame([width, height], side, filename);
    t.equal((pages ?? 1) > 1, false, `${filename}: stands still`);
    t.notOk(exif);
    t.ok(small.bytes.length <= whole.bytes.length);
    const hasOne = type === webp;
    t.not(whole.headers.etag === small.headers.etag, hasOne, "another tag");
    const [file] = await filesOf(server.store, "demo");
    t.equal(file!.size, whole.bytes.length, "lists have the picture");
    const keys = await server.store.files.keys("demo");
    t.equal(keys.length, hasOne ? 2 : 1);
    t.equal(await server.store.files.size("demo"), small.bytes.length * +hasOne + file!.size);
    for (const key of keys) {
      const direct = await follow(server, `http://localhost:8375/media/${key}`);
      t.equal(direct.status, key === file!.key ? 200 : 404, "one address");
    }
    const one = `/api/v1/worlds/demo/files/${file!.id}/`;
    t.equal((await server.call({ method: "DELETE", url: one, as: admin("demo") })).status, 204);
    for (const gone of [url, `${url}?preview`]) t.equal((await follow(server, gone)).status, 404);
    t.strictSame(await finished(server.dataDir), [], "no bytes are left");
    t.equal(await server.store.files.size("demo"), 0);
  }
  const { bytes } = await follow(
    server,
    `${urlOf(await upload(server, fileForm("a.svg", SVG)))}?preview`,
  );
  t.equal(bytes.toString(), SVG, "other files are served as they are");
});

void t.test("an animation goes on", async (t) => {
  const server = await startServer(t);
  for (const [filename, image] of [
    ["a.gif", await images.animatedGif()],
    ["a.webp", await images.animatedWebp()],
  ] as const) {
    const { bytes } = await follow(server, urlOf(await upload(server, fileForm(filename, image))));
    const meta = await sharp(bytes, { animated: true }).metadata();
    const expected = { pages: 3, delay: [100, 200, 300], loop: 2, width: 20 };
    t.match(meta, expected, filename);
    t.equal(meta.pageHeight ?? meta.height, 10, filename);
  }
});

void t.test("a box scales images down, and never up", async (t) => {
  const server = await startServer(t);
  const upright = sharp(await images.png(30, 20)).jpeg();
  const turned = await upright.withMetadata({ orientation: 6 }).toBuffer();
  const rows: [filename: string, image: Buffer, box: [string, string], to: number[]][] = [
    ["a.png", await images.png(), ["5", "100"], [5, 3]],
    ["a.webp", await images.webp(), ["10000", "5"], [10, 5]],
    ["larger.jpg", await images.jpg(), ["40", "40"], [20, 10]],
    ["as large.gif", await images.gif(), ["20", "10"], [20, 10]],
    ["turned.jpg", turned, ["15", "15"], [10, 15]],
    ["one pixel.png", await images.png(300, 2), ["1", "1"], [1, 1]],
    ["moves.gif", await images.animatedGif(), ["10", "10"], [10, 5]],
    ["moves.webp", await images.animatedWebp(), ["10", "10"], [10, 5]],
  ];
  for (const [filename, image, [w, h], to] of rows) {
    const file = filePart(filename, image);
    const [width, height] = [textPart("width", w), textPart("height", h)];
    const before = await sharp(image).metadata();
    for (const parts of [
      [file, width, height],
      [height, width, file],
      [width, file, height],
    ]) {
      const answer = await upload(server, formOf(...parts));
      t.equal(answer.status, 201, filename);
      const { bytes } = await follow(server, urlOf(answer));
      const meta = await sharp(bytes, { animated: true }).metadata();
      t.strictSame([meta.width, meta.pageHeight ?? meta.height], to, filename);
      t.strictSame([meta.pages, meta.delay], [before.pages, before.delay], filename);
    }
  }
  const { headers, body } = formOf(filePart("a.pdf", PDF), ...box("9"));
  const slow = await server.app.inject({
    method: "POST",
    url: path,
    headers: { ...headers, authorization: GUEST },
    payload: Readable.from([...body].map((byte) => Buffer.of(byte))),
  });
  t.equal(slow.statusCode, 201, "byte by byte");
  const pdf = await upload(server, formOf(...box("9"), filePart("a.pdf", PDF)));
  const { bytes } = await follow(server, urlOf(pdf));
  t.equal(bytes.toString(), PDF, "other files stay as they are");
});

/** Returns an image cleaner, and a function that cleans an image in a folder and returns its bytes. */
async function cleanerOf(t: Test) {
  const folder = testdir(t);
  const cleaner = new ImageCleaner();
  t.teardown(() => cleaner.close());
  let count = 0;
  const clean = async (
    bytes: Buffer,
    { pixels = 1e6, gone = new AbortController().signal, world = "demo" } = {},
  ) => {
    const path = join(folder, String(count++));
    writeFileSync(path, bytes);
    const image = { format: "png", pixels, maxBytes: 1e6 } as const;
    return cleaner.clean(world, path, image, gone, ({ bytes }) => buffer(bytes));
  };
  return { cleaner, clean, folder };
}

void t.test("broken images, and a process that ends", async (t) => {
  const { cleaner, clean, folder } = await cleanerOf(t);
  const warnings: Error[] = [];
  const warned = (warning: Error) => warnings.push(warning);
  process.on("warning", warned);
  t.teardown(() => process.off("warning", warned));
  const good = await images.png();
  const broken = good.subarray(0, 40);
  const all = [good, broken, good, broken, good].map((bytes) => clean(bytes));
  const results = await Promise.allSettled(all);
  const isGood = results.map(({ status }) => status === "fulfilled");
  t.strictSame(isGood, [true, false, true, false, true]);
  t.match((results[1] as PromiseRejectedResult).reason, { code: "file.type" });
  t.strictSame((await readdir(folder)).sort(), ["0", "1", "2", "3", "4"], "no copy is left");
  cleaner.close();
  t.equal((await sharp(await clean(good)).metadata()).width, 20, "another process begins");
  for (let i = 0; i < 15; i++) await clean(good);
  await new Promise(setImmediate);
  t.strictSame(warnings, [], "many images leave nothing behind in the process");
});

void t.test("worlds take turns", async (t) => {
  const { clean } = await cleanerOf(t);
  const png = await images.png();
  const order: string[] = [];
  const add = (world: string, pixels = 1e6) =>
    clean(png, { world, pixels }).then(() => order.push(world));
  const refused = /Too many images are waiting/;
  const first = add("busy");
  await new Promise(setImmediate);
  const busy = Array.from({ length: 5 }, () => add("busy", MAX_PIXELS));
  await t.rejects(add("busy", MAX_PIXELS), refused, "it has all the room");
  const calm = [add("calm", MAX_PIXELS), add("calm", MAX_PIXELS)];
  await t.rejects(add("calm", MAX_PIXELS), refused, "half of it is its own");
  await Promise.all([first, ...busy, ...calm]);
  // Consecutive images may be stored out of order.
  t.ok(order.lastIndexOf("calm") < 5, order.join());
});

void t.test("images that wait are bounded by their pixels", async (t) => {
  const { clean } = await cleanerOf(t);
  const png = await images.png();
  const largest = { pixels: 1e8 };
  const running = clean(png, largest);
  await new Promise(setImmediate);
  const leaving = new AbortController();
  const waiting = Array.from({ length: 4 }, () => clean(png, largest));
  const left = clean(png, { ...largest, gone: leaving.signal });
  const tooMany = /Too many images are waiting/;
  await t.rejects(clean(png, { pixels: 1 }), tooMany, "one pixel too many");
  leaving.abort();
  await t.rejects(left, /disconnected/, "at once");
  const another = clean(png, largest);
  await t.rejects(clean(png, largest), tooMany, "its place is taken");
  for (const image of [running, ...waiting, another]) t.ok(await image);
  t.ok(await clean(png, largest), "and all places are free");
  await t.rejects(clean(png, { pixels: 1e8 + 1 }), { code: "file.type" });
  await t.rejects(
    clean(png, { pixels: 199 }),
    { code: "file.type" },
    "more pixels than were counted",
  );
});
