import { writeFileSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import sharp from "sharp";
import t, { type Test } from "tap";
import { ImageCleaner } from "../../../plugins/upload/images.js";
import { MAX_PIXELS } from "../../../plugins/upload/pixels.js";
import { images } from "../../files.js";
import { testdir } from "../../testdir.js";

/** Cleans an image in a folder, and gives it back as bytes. */
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
    return cleaner.clean(world, path, image, gone, buffer);
  };
  return { cleaner, clean, folder };
}

void t.test("an image after its process began to end", async (t) => {
  const { cleaner, clean } = await cleanerOf(t);
  const png = await images.png();
  await clean(png);
  cleaner.close();
  t.equal((await sharp(await clean(png)).metadata()).width, 20);
});

void t.test("one broken image among others", async (t) => {
  const { clean, folder } = await cleanerOf(t);
  const good = await images.png();
  const broken = good.subarray(0, 40);
  const results = await Promise.allSettled(
    [good, broken, good, broken, good].map((bytes) => clean(bytes)),
  );
  t.strictSame(
    results.map(({ status }) => status),
    ["fulfilled", "rejected", "fulfilled", "rejected", "fulfilled"],
  );
  t.match((results[1] as PromiseRejectedResult).reason, { code: "file.type" });
  t.strictSame(
    (await readdir(folder)).sort(),
    ["0", "1", "2", "3", "4"],
    "no copy is left",
  );
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
  // Images that follow each other may be stored in another order.
  t.ok(order.lastIndexOf("calm") < 5, order.join());
});

void t.test("many images leave nothing behind in the process", async (t) => {
  const warnings: Error[] = [];
  const warned = (warning: Error) => warnings.push(warning);
  process.on("warning", warned);
  t.teardown(() => process.off("warning", warned));
  const { clean } = await cleanerOf(t);
  const png = await images.png();
  for (let i = 0; i < 15; i++) await clean(png);
  await new Promise(setImmediate);
  t.strictSame(warnings, []);
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
  await t.rejects(left, /went away/, "at once");
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
