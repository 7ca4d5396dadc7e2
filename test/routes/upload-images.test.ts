import { Readable } from "node:stream";
import sharp from "sharp";
import t from "tap";
import { serve, startFoyer } from "../helper.js";
import {
  fileForm,
  filePart,
  follow,
  formOf,
  GUEST,
  images,
  PDF,
  textPart,
  textsBelow,
  upload,
  urlOf,
} from "../files.js";
import { testdir } from "../testdir.js";

const path = "/storage/upload/";

void t.test(
  "a photo loses what tells of its maker, and stays upright",
  async (t) => {
    // In a process of its own, as all its files are read.
    const dataDir = testdir(t);
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

void t.test("a box scales images down, and never up", async (t) => {
  const server = await serve(t);
  const turned = await sharp(await images.png(30, 20))
    .jpeg()
    .withMetadata({ orientation: 6 })
    .toBuffer();
  const rows: [
    filename: string,
    image: Buffer,
    box: [string, string],
    to: number[],
  ][] = [
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
    const width = textPart("width", w);
    const height = textPart("height", h);
    const before = await sharp(image).metadata();
    for (const form of [
      formOf(file, width, height),
      formOf(height, width, file),
      formOf(width, file, height),
    ]) {
      const answer = await upload(server, form);
      t.equal(answer.status, 201, filename);
      const { bytes } = await follow(server, urlOf(answer));
      const meta = await sharp(bytes, { animated: true }).metadata();
      const { pages, delay } = meta;
      t.strictSame([meta.width, meta.pageHeight ?? meta.height], to, filename);
      t.strictSame([pages, delay], [before.pages, before.delay], filename);
    }
  }
  const sides = [textPart("width", "9"), textPart("height", "9")];
  const { headers, body } = formOf(filePart("a.pdf", PDF), ...sides);
  const slow = await server.app.inject({
    method: "POST",
    url: path,
    headers: { ...headers, authorization: GUEST },
    payload: Readable.from([...body].map((byte) => Buffer.of(byte))),
  });
  t.equal(slow.statusCode, 201, "byte by byte");
  const pdf = await upload(server, formOf(...sides, filePart("a.pdf", PDF)));
  const { bytes } = await follow(server, urlOf(pdf));
  t.equal(bytes.toString(), PDF, "other files stay as they are");
});
