import { mkdtemp, open, readdir, readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import type { Store } from "../../db/contract/store.js";
import {
  exportArchive,
  importArchive,
} from "../../db/maintenance/world-archive.js";
import { openIn } from "../stack.js";
import { foyer, worldOf } from "../helper.js";
import { testdir } from "../testdir.js";
import { entriesOf, type Entry, tarOf } from "./tar.js";

const KEYS = ["a", "b"].map((name) => `pub/demo/${name}.secret-00010.pdf`);
const ADA = { tokenId: "ada", traits: new Set<string>() };

async function* bytesOf(text: string) {
  yield Buffer.from(text);
}

void t.test("a world moves with its files", async (t) => {
  const dir = testdir(t);
  const [from, to] = [join(dir, "from"), join(dir, "to")];
  const { store, files } = await openIn(t, from);
  await store.worlds.create(worldOf("demo"));
  await store.worlds.create(worldOf("other"));
  const modified = new Date(1e12);
  for (const key of [...KEYS, "pub/other/c.secret-00010.pdf"]) {
    const world = key.split("/")[1]!;
    const record = (stored: { size: number; sha256: string }) =>
      store.files.add(world, ADA, { key, ...stored }, 1e6);
    await files.put(key, bytesOf(key), record, modified);
  }
  const killed = await mkdtemp(join(tmpdir(), "foyer-copy-"));
  await writeFile(join(killed, "backup.lock"), "");
  const archive = join(dir, "demo.tar");
  const exporting = ["world", "export", "demo", "--with-files", archive];
  t.match(await foyer(from, exporting), {
    ...{ code: 0, stderr: "" },
    stdout: `${archive} holds the world demo and 2 files.\n`,
  });
  t.match(await foyer(from, exporting), { code: 1, stderr: /exists already/ });
  await t.rejects(readdir(killed), "what a killed process left is removed");
  t.same(
    (await readdir(dir)).filter((name) => name.startsWith("demo")),
    ["demo.tar"],
    "nothing else is left",
  );
  const entries = entriesOf(await readFile(archive));
  t.strictSame(
    entries.map(({ path }) => path),
    [...KEYS.map((key) => `media/${key}`), "world.json"],
  );
  const document = entries.at(-1)!.body.toString();

  const importing = (file: string, ...more: string[]) =>
    foyer(to, ["world", "import", file, ...more]);
  const [one, two, last] = entries as [Entry, Entry, Entry];
  const other = { ...one, body: Buffer.from("other") };
  const edited = (from: string, to: string) => ({
    ...last,
    body: Buffer.from(document.replaceAll(from, to)),
  });
  const cases: [name: string, tar: Buffer | string, stderr: RegExp][] = [
    ["without a file", tarOf([two, last]), /files\.key: .* without the bytes/],
    ["with other bytes", tarOf([other, two, last]), /without the bytes/],
    ["a plain document", document, /without the bytes of this file/],
    [
      "a file of another world",
      tarOf([one, two, edited(KEYS[0]!, "pub/other/c.secret-00010.pdf")]),
      /files\.key: Is of no file/,
    ],
    [
      "a path out of the folder",
      tarOf([one, two, edited(KEYS[0]!, "pub/demo/../../x.secret-00010.pdf")]),
      /files\.key: Is of no file/,
    ],
    [
      "a strange entry",
      tarOf([{ ...one, path: "../x" }, two, last]),
      /\.\.\/x is strange/,
    ],
    [
      "a link",
      tarOf([{ ...one, type: "SymbolicLink", linkpath: "/etc" }, two, last]),
      /is strange/,
    ],
    ["a file twice", tarOf([one, one, two, last]), /occurs twice/],
    ["cut off", tarOf([one, two]), /has no world\.json/],
    ["torn", tarOf(entries).subarray(0, 700), /foyer: /],
    ["a document twice", tarOf([...entries, last]), /is strange/],
  ];
  for (const [name, tar, stderr] of cases) {
    const file = join(dir, "bad");
    await writeFile(file, tar);
    const refused = await importing(file);
    t.match(refused, { code: 1, stdout: "", stderr }, name);
  }
  const next = await openIn(t, to);
  t.same(await next.store.worlds.list({ limit: 9 }), []);
  for await (const { key } of next.files.keys()) t.fail(`${key} is left`);

  t.match(await importing(archive, "--dry-run"), { code: 0, stderr: "" });
  for await (const { key } of next.files.keys()) t.fail(`${key} is left`);
  t.match(await importing(archive), {
    ...{ code: 0, stderr: "" },
    stdout: /with 0 rooms, 1 user, 2 files\.\n$/,
  });
  for (const key of KEYS) {
    const found = await next.files.open(key);
    t.match(found, { size: key.length, modified });
    let text = "";
    for await (const chunk of (await found!.read())!) text += String(chunk);
    t.equal(text, key);
  }
  t.equal(
    await next.store.files.size("demo"),
    await store.files.size("demo"),
    "its files count",
  );
  t.match(await foyer(to, ["check"]), { code: 0 });
  t.match(await importing(archive), { code: 1, stderr: /id demo is taken/ });
  t.ok(await next.files.open(KEYS[0]!), "the files of the world stay");

  // A file that is deleted or damaged is left out of the next export.
  await store.files.delete("demo", "a");
  await files.remove(KEYS[0]!);
  await files.remove(KEYS[1]!);
  const second = join(dir, "second.tar");
  t.match(await foyer(from, [...exporting.slice(0, -1), second]), {
    ...{ code: 0, stderr: `warning: ${KEYS[1]} was already missing.\n` },
    stdout: /and 0 files/,
  });
  t.match(
    JSON.parse(
      entriesOf(await readFile(second))
        .at(-1)!
        .body.toString(),
    ),
    { files: [] },
  );
});

void t.test(
  "two imports of one archive take nothing from each other",
  async (t) => {
    const dir = testdir(t);
    const from = await openIn(t, join(dir, "from"));
    await from.store.worlds.create(worldOf("demo"));
    for (const key of KEYS) {
      const record = (stored: { size: number; sha256: string }) =>
        from.store.files.add("demo", ADA, { key, ...stored }, 1e6);
      await from.files.put(key, bytesOf(key), record);
    }
    const archive = join(dir, "demo.tar");
    await exportArchive(from, "demo", archive, true);
    const one = await openIn(t, join(dir, "to"));
    const other = await openIn(t, join(dir, "to"));
    const { store, files } = one;
    const importInto = async (store: Store, into = files) => {
      const file = await open(archive);
      try {
        return await importArchive({ store, files: into }, file.fd, false);
      } finally {
        await file.close();
      }
    };
    /** A store on which something happens when an import begins to make its world. */
    const storeWith = (begin: () => Promise<unknown>) => {
      const value = async (...args: Parameters<Store["worlds"]["import"]>) => {
        if (!args[1]?.dryRun) await begin();
        return store.worlds.import(...args);
      };
      const worlds: unknown = Object.create(store.worlds, {
        import: { value },
      });
      return Object.create(store, { worlds: { value: worlds } }) as Store;
    };
    const all = async (name: string) => {
      for (const key of KEYS) t.ok(await files.open(key), `${name}: ${key}`);
    };

    const ends = await Promise.allSettled([
      importInto(store),
      importInto(other.store),
    ]);
    t.same(ends.map(({ status }) => status).sort(), ["fulfilled", "rejected"]);
    await all("both at once");

    await store.worlds.delete("demo");
    const failing = storeWith(() => Promise.reject(new Error("It fails.")));
    await t.rejects(importInto(failing), /It fails/);
    await all("the files of the other one stay");
    for (const key of KEYS) await files.remove(key);

    const removes = () => Promise.all(KEYS.map((key) => files.remove(key)));
    await importInto(storeWith(removes));
    await all("the other one has failed and removed them");

    // Once the world exists, an import cannot be repeated, so it does not give up at once.
    let failures = 0;
    const unreliable = Object.create(files, {
      put: { value: files.put.bind(files) },
      open: {
        async value(key: string) {
          if (key === KEYS[1] && (await store.worlds.get("demo"))) {
            if (failures-- > 0) throw new Error("The bucket is away.");
          }
          return files.open(key);
        },
      },
    }) as typeof files;
    for (const [name, fails, message] of [
      ["a short failure", 2, undefined],
      [
        "a long failure",
        9,
        `The world demo exists now, .*: ${KEYS.join(", ")}\\. .*away`,
      ],
    ] as const) {
      await store.worlds.delete("demo");
      await removes();
      failures = fails;
      const done = importInto(storeWith(removes), unreliable);
      if (message === undefined) await t.resolves(done, name);
      else await t.rejects(done, { message: new RegExp(message) }, name);
      t.ok(await store.worlds.get("demo"), name);
      if (message === undefined) await all(name);
    }
  },
);
