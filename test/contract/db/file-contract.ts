import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { buffer } from "node:stream/consumers";
import type { Test } from "tap";
import type { FileStore, StoredBytes } from "../../../db/contract/file-store.js";

/** Yields bytes in chunks, and may end with an error. */
export async function* pieces(bytes: Buffer, error?: Error): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += 1000) {
    await new Promise(setImmediate);
    yield bytes.subarray(at, at + 1000);
  }
  if (error) throw error;
}

async function listed<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
}

/** A callback that does nothing. */
export const noop = async (): Promise<void> => {};

/**
 * Tests that a file store keeps its contract, whatever its backend.
 * @param open opens a store at a new, empty location.
 */
export async function fileStoreContract(
  t: Test,
  open: (t: Test) => FileStore | Promise<FileStore>,
): Promise<void> {
  const contract = (name: string, run: (t: Test, files: FileStore) => Promise<void>) =>
    t.test(name, async (t) => run(t, await open(t)));

  const read = async (files: FileStore, key: string) => {
    const stream = await (await files.open(key))?.read();
    return stream && buffer(stream);
  };
  const bytes = Buffer.from("some bytes ".repeat(2000));

  await contract("bytes are there as they were put", async (t, files) => {
    for (const [key, body] of [
      ["a", bytes],
      ["b/c.d/e_f-g.h", bytes.subarray(7)],
      ["b/empty", Buffer.alloc(0)],
    ] as const) {
      let told: StoredBytes | undefined;
      await files.put(key, pieces(body), async (stored) => {
        told = stored;
        t.same(await read(files, key), body, `${key}: in place when recorded`);
      });
      t.strictSame(told, {
        size: body.length,
        sha256: createHash("sha256").update(body).digest("hex"),
      });
      t.same(await read(files, key), body, key);
    }
  });

  await contract("a file in parts", async (t, files) => {
    await files.put("a", pieces(bytes), noop);
    await files.put("empty", pieces(Buffer.alloc(0)), noop);
    const file = (await files.open("a"))!;
    t.equal(file.size, bytes.length);
    t.ok(Math.abs(file.modified.getTime() - Date.now()) < 60_000);
    const last = bytes.length - 1;
    for (const [start, end] of [
      [0, 0],
      [0, last],
      [5, 10],
      [last, last],
    ] as const) {
      const part = await buffer((await file.read({ start, end }))!);
      t.ok(part.equals(bytes.subarray(start, end + 1)), `${start} to ${end}`);
    }
    t.equal((await files.open("empty"))!.size, 0);
    const tooMuch = await file.read({ start: 0, end: bytes.length });
    await t.rejects(buffer(tooMuch!), /early/, "more than there is");
    await files.remove("a");
    t.equal(await file.read(), undefined, "removed since");
  });

  await contract("nothing is there of what failed", async (t, files) => {
    const failed = new Error("failed");
    const refuse = () => Promise.reject(failed);
    const never = async () => void t.fail("it is recorded");
    await t.rejects(files.put("a/b", pieces(bytes, failed), never), failed, "the source");
    t.equal(await files.open("a/b"), undefined);
    await t.rejects(files.put("a/c", pieces(bytes), refuse), failed, "the record");
    t.equal(await files.open("a/c"), undefined);
    await files.put("a/c", pieces(bytes), noop);
    t.same(await read(files, "a/c"), bytes, "and it can be put again");
  });

  await contract("nothing is there before it is whole", async (t, files) => {
    let seen: unknown;
    const slowly = async function* () {
      yield bytes;
      yield Buffer.alloc(0);
      seen = await files.open("a");
      yield bytes;
    };
    await files.put("a", slowly(), noop);
    t.equal(seen, undefined);
    t.equal((await read(files, "a"))?.length, 2 * bytes.length);
  });

  await contract("many at once", async (t, files) => {
    const bodies = Array.from({ length: 30 }, (_, i) => Buffer.from(`${i} `.repeat(5000)));
    await Promise.all(bodies.map((body, i) => files.put(`x/${i}`, pieces(body), noop)));
    for (const [i, body] of bodies.entries()) {
      t.same(await read(files, `x/${i}`), body);
    }
  });

  await contract("bytes are taken away", async (t, files) => {
    await files.put("a", pieces(bytes), noop);
    await files.put("b", pieces(bytes), noop);
    await files.remove("a");
    await files.remove("a");
    await files.remove("never/there");
    t.equal(await files.open("a"), undefined);
    t.ok(await read(files, "b"));
  });

  await contract("a local file for a while", async (t, files) => {
    let kept = "";
    const result = await files.withScratch(pieces(bytes), async (path) => {
      kept = path;
      t.same(await readFile(path), bytes);
      return 7;
    });
    t.equal(result, 7);
    t.notOk(existsSync(kept), "gone when it was used");
    const failing = files.withScratch(pieces(bytes), async (path) => {
      kept = path;
      throw new Error("failed");
    });
    await t.rejects(failing, { message: "failed" });
    t.notOk(existsSync(kept), "gone when its use failed");
    const never = async () => void t.fail("used when it is not whole");
    const cut = files.withScratch(pieces(bytes, new Error("cut")), never);
    await t.rejects(cut, { message: "cut" });
  });

  await contract("the time of a file", async (t, files) => {
    const modified = new Date("2001-02-03T04:05:06.789Z");
    await files.put("a", pieces(bytes), noop, modified);
    t.same((await files.open("a"))?.modified, modified);
  });

  await contract("all keys, in order", async (t, files) => {
    const keys = ["a-b/z", "a.b", "a/b", "a/b-c", "a/é", "a0", "b", "é+%2F x"];
    // Written in a different order than listed.
    for (const key of keys.toReversed()) {
      await files.put(key, pieces(Buffer.alloc(key.length)), noop);
    }
    const entries = keys.map((key) => ({ key, size: key.length }));
    await files.identify();
    await files.put("c", pieces(bytes), async () => {
      t.ok((await files.unsettled()).has("c"), "about to be recorded");
    });
    await files.discard(["c"], async () => {
      t.ok((await files.unsettled()).has("c"), "about to be removed");
      return ["c"];
    });
    t.equal((await files.unsettled()).size, 0);
    t.strictSame(await listed(files.keys()), entries);
    for (const [after, from] of Object.entries({
      "a/b": 3,
      "a/": 2,
      a: 0,
      "a/b-": 3,
      zz: 7,
      ü: 8,
    })) {
      t.strictSame(await listed(files.keys(after)), entries.slice(from), after);
    }
  });

  await contract("the place has a name", async (t, files) => {
    const names = await Promise.all([files.identify(), files.identify()]);
    t.match(names[0], /^[\w-]{36}$/);
    t.strictSame(names, [names[0], names[0]]);
    t.equal(await files.identify(), names[0]);
    t.strictSame(await listed(files.keys()), [], "which is no file");
  });

  await contract("a sweep leaves what is whole", async (t, files) => {
    await files.put("a", pieces(bytes), noop);
    let swept = false;
    await files.put("b", pieces(bytes), async () => {
      // The upload is in progress in a live process, so a sweep must keep it.
      await files.sweep(async () => false);
      swept = true;
    });
    await files.sweep(async () => false);
    t.ok(swept);
    t.same(await read(files, "a"), bytes);
    t.same(await read(files, "b"), bytes);
  });
}
