import { shared } from "../shared.js";
import { openIn } from "../stack.js";
import t, { type Test } from "tap";
import { finished, textsBelow } from "../files.js";
import { foyer, worldOf } from "../helper.js";
import { testdir } from "../testdir.js";

const idOf = (i: number, kind = 0) =>
  `${String(i).padStart(8, "0")}-0000-4000-8000-${String(kind).padStart(12, "0")}`;
const keyOf = (world: string, id: string) =>
  `pub/${world}/${id}.secret-${id.slice(4, 8)}0.pdf`;

/** A folder with two worlds; the files of `demo` are few, and have bytes. */
async function dataOf(t: Test, count: number): Promise<string> {
  const dataDir = testdir(t);
  const { store, files } = await openIn(t, dataDir);
  for (const world of ["demo", "other", "many"]) {
    await store.worlds.create(worldOf(world));
  }
  const uploader = { tokenId: "ada\u001b[2J", traits: new Set<string>() };
  for (const [world, id] of [
    ["demo", idOf(1)],
    ["demo", idOf(2)],
    ["other", idOf(3)],
  ] as const) {
    const bytes = (async function* () {
      yield Buffer.from("%PDF-");
    })();
    const key = keyOf(world, id);
    await files.put(key, bytes, (stored) =>
      store.files.add(world, uploader, { key, ...stored }, 1e6),
    );
  }
  await Promise.all(
    Array.from({ length: count }, (_, i) => {
      const key = keyOf("many", idOf(i, 1));
      const record = { key, size: 1, sha256: "00" };
      return store.files.add("many", uploader, record, 1e9);
    }),
  );
  await files.close();
  await store.close();
  return dataDir;
}

void t.test("list, show and delete files", async (t) => {
  const dataDir = await dataOf(t, 0);
  const run = (...args: string[]) => foyer(dataDir, ["file", ...args]);
  const [listed, text, shown, described] = await Promise.all([
    run("list", "demo", "--json"),
    run("list", "demo"),
    run("show", "demo", idOf(1), "--json"),
    run("show", "demo", idOf(1)),
  ]);
  const files = JSON.parse(listed.stdout) as { id: string; path: string }[];
  t.strictSame(
    files.map(({ id }) => id),
    [idOf(2), idOf(1)],
  );
  const key = keyOf("demo", idOf(1));
  const path = `/media/${key}`;
  t.match(files[1], { path, size: 5, type: "application/pdf", key });
  t.match(
    text.stdout.split("\n")[1],
    /^00000001-.*\t5\tapplication\/pdf\t20\d\d-.*Z\t[0-9a-f-]{36}$/,
  );
  t.match(JSON.parse(shown.stdout), { ...files[1], is_there: true });
  t.match(described.stdout, path);
  t.match(described.stdout, /Bytes +there/);

  const engines = await openIn(t, dataDir);
  await engines.files.remove(keyOf("demo", idOf(2)));
  await engines.close();
  const cases: [name: string, args: string[], code: number, out: RegExp | string, err: RegExp | string][] = [
    ["missing bytes", ["show", "demo", idOf(2)], 0, /Bytes +missing/, ""],
    ["no such world", ["list", "none"], 1, "", /There is no world none/],
    ["nothing there", ["list", "many"], 0, /^There are no uploads/, ""],
    ["nothing, as JSON", ["list", "many", "--json"], 0, /^\[\]\n$/, ""],
    ["no such file", ["show", "demo", idOf(9)], 1, "", /There is no file/],
    ["of another world", ["show", "demo", idOf(3)], 1, "", /There is no file/],
    ["not confirmed", ["delete", "demo", idOf(1)], 2, "", /--yes/],
    ["to delete none", ["delete", "demo", idOf(9), "--yes"], 1, "", /no such file/],
    ["to delete another world's", ["delete", "demo", idOf(3), "--yes"], 1, "", /no such file/],
  ]; // prettier-ignore
  await Promise.all(
    cases.map(async ([name, args, code, out, err]) => {
      const got = await run(...args);
      t.equal(got.code, code, name);
      t.match(got.stdout, out, name);
      t.match(got.stderr, err, name);
      if (out === "") t.equal(got.stdout, "", name);
      if (code === 1) t.equal(got.stderr.trim().split("\n").length, 1, name);
    }),
  );

  const gone = await run("delete", "demo", idOf(1), "--yes", "--json");
  t.equal(gone.code, 0, gone.stderr);
  t.strictSame(JSON.parse(gone.stdout), { deleted: idOf(1) });
  t.strictSame(
    (await finished(dataDir)).map((path) => path.split("/").at(-2)),
    ["other"],
  );
  t.strictSame(
    await textsBelow(dataDir, [key, keyOf("other", idOf(3))]),
    shared ? [] : [keyOf("other", idOf(3))],
    "not a byte is left of its key",
  );
  const lost = await run("delete", "demo", idOf(2), "--yes");
  t.equal(lost.stdout, `The file ${idOf(2)} is deleted.\n`, "without bytes");
  const check = await foyer(dataDir, ["check"]);
  t.equal(check.code, 0, check.stdout);
});

void t.test("a long list is printed page by page", async (t) => {
  const count = 250;
  const dataDir = await dataOf(t, count);
  const [json, text] = await Promise.all([
    foyer(dataDir, ["file", "list", "many", "--json"]),
    foyer(dataDir, ["file", "list", "many"]),
  ]);
  const files = JSON.parse(json.stdout) as { id: string }[];
  const ids = Array.from({ length: count }, (_, i) => idOf(i, 1)).reverse();
  t.strictSame(
    files.map(({ id }) => id),
    ids,
  );
  t.equal(json.stdout, `${JSON.stringify(files, null, 2)}\n`);
  t.strictSame(
    text.stdout
      .trim()
      .split("\n")
      .map((line) => line.split("\t")[0]),
    ids,
  );
});
