import sharp from "sharp";
import t, { type Test } from "tap";
import { serve, type TestServer } from "../helper.js";
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
  textPart,
  unfinished,
  upload,
  uploads,
  urlOf,
} from "../files.js";
import { filesOf, usersOf } from "../listed.js";

const path = "/storage/upload/";
const MIB = 1024 * 1024;
const missing = { error: "file.missing" };
const type = { error: "file.type" };
const size = { error: "file.size" };

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

const box = (side: string) => [
  textPart("width", side),
  textPart("height", side),
];

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
  const lying = Buffer.from(png);
  lying.writeUInt32BE(1, 16);
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
    ["of another size than it says.png", lying],
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
