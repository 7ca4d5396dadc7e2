import { writeFileSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import sharp from "sharp";
import t, { type Test } from "tap";
import { ImageCleaner } from "../../../plugins/upload/images.js";
import { images } from "../../files.js";

/** Cleans an image in a folder, and gives it back as bytes. */
async function cleanerOf(t: Test) {
  const folder = t.testdir();
  const cleaner = new ImageCleaner();
  t.teardown(() => cleaner.close());
  let count = 0;
  const clean = async (bytes: Buffer) => {
    const path = join(folder, String(count++));
    writeFileSync(path, bytes);
    return cleaner.clean(path, "png", async (source) => {
      const chunks: Buffer[] = [];
      for await (const chunk of source) chunks.push(chunk);
      return Buffer.concat(chunks);
    });
  };
  return { cleaner, clean, folder };
}

void t.test("an image after its process was told to end", async (t) => {
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
    [good, broken, good, broken, good].map(clean),
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

void t.test("a process with many images keeps nothing of them", async (t) => {
  const { clean } = await cleanerOf(t);
  const warnings: string[] = [];
  const onWarning = ({ message }: Error) => warnings.push(message);
  process.on("warning", onWarning);
  t.teardown(() => process.off("warning", onWarning));
  const png = await images.png();
  // Node warns of more than ten listeners for one event.
  for (let count = 0; count < 12; count++) await clean(png);
  t.strictSame(warnings, []);
});
