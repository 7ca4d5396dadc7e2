import { existsSync } from "node:fs";
import { mkdtemp, open, readdir, readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import type { Store } from "../../../db/contract/store.js";
import { exportArchive, importArchive } from "../../../db/maintenance/world-archive.js";
import { defaultPermissionConfig } from "../../../schemas/plain/permissions.js";
import type { World } from "../../../schemas/worlds.js";
import { exported } from "../../support/database.js";
import { admin, foyer, keyOf, rules, worldOf } from "../../support/helper.js";
import { demo, startServer } from "../../support/server.js";
import { openIn } from "../../support/stack.js";
import { testdir } from "../../support/testdir.js";
import { entriesOf, type Entry, tarOf } from "./archives.js";

/** Adds data to a world that only the live layer creates. */
async function furnishLive(store: Store, world: string): Promise<void> {
  const { value } = await store.rooms.open(world, { name: "live" });
  await store.rooms.update(world, value.id, {
    extras: { picture: "/p.png", pretalx_id: 7, force_join: true },
  });
  await store.rooms.schedule(world, value.id, { title: "Talk" });
  const enter = (clientId: string) =>
    store.users.enter(world, { clientId, traits: new Set(), login: true });
  const [one, two, gone] = await Promise.all(["1", "2", "3"].map(enter));
  await store.users.enter(world, {
    tokenId: "ada",
    traits: new Set(["a"]),
    profile: { display_name: "Ada" },
    pretalxId: "P",
  });
  await store.users.update(world, one!.id, { client_state: { "2": 1, x: {} } });
  await store.users.moderate(world, two!.id, "banned");
  await store.users.block(world, one!.id, two!.id);
  await store.users.erase(world, { user_id: gone!.id });
  await store.announcements.create(world, { text: "x", show_until: 1e12 });
}

interface Document {
  format: string;
  version: number;
  world: World;
  rooms: Record<string, unknown>[];
}

void t.test("a world moves to another server", async (t) => {
  const world = demo({
    domain: "demo.example.org",
    permission_config: rules({ "room.view": [["admin", "crew"]] }),
    config: { theme: { colors: ["#fff", null, 0.5], "10": "Ünïcode 🎪" } },
  });
  const old = await startServer(t, { worlds: [world] });
  for (const body of [
    { name: "plain" },
    { name: "own", domain: "own.org", sorting_priority: -3 },
    { name: "full", description: "*x*", module_config: [{ type: "m", x: 1 }] },
    { name: "crew", permission_config: { "room.view": ["crew"] } },
  ]) {
    const url = "/api/v1/worlds/demo/rooms/";
    await old.call({ method: "POST", url, as: admin("demo"), body });
  }
  await furnishLive(old.store, "demo");
  const patch = { method: "PATCH", as: admin("demo"), body: { title: "New" } };
  await old.call({ ...patch, url: "/api/v1/worlds/demo/" });
  const document = await foyer(old.dataDir, ["world", "export", "demo"]);
  t.same([document.code, document.stderr], [0, ""]);

  await t.test("where it answers as it did", async (t) => {
    const next = await startServer(t, { worlds: [] });
    const imported = await foyer(next.dataDir, ["world", "import", "-"], {}, document.stdout);
    t.same(imported, {
      code: 0,
      stdout: "Created the world demo at demo.example.org with 5 rooms, 3 users, 1 announcement.\n",
      stderr: "",
    });
    const list = "/api/v1/worlds/demo/rooms/";
    const { body } = await old.call({ url: list, as: admin("demo") });
    const { results } = body as { results: { id: string }[] };
    t.equal(results.length, 4);
    const urls = results.map(({ id }) => `${list}${id}/`);
    for (const url of ["/api/v1/worlds/demo/", list, ...urls]) {
      const [before, after] = await Promise.all(
        [old, next].map(({ call }) => call({ url, as: admin("demo") })),
      );
      t.equal(after!.text, before!.text, url);
      t.equal(after!.headers.etag, before!.headers.etag, url);
    }
    const users = "/api/v1/worlds/demo/users/";
    const [before, after] = await Promise.all(
      [old, next].map(({ call }) => call({ url: users, as: admin("demo") })),
    );
    t.equal(after!.text, before!.text);
    const again = await foyer(next.dataDir, ["world", "export", "demo"]);
    t.equal(again.stdout, document.stdout, "and can be exported again");
  });

  await t.test("by a dry run, it stays where it is", async (t) => {
    const { dataDir, store } = await startServer(t, { worlds: [] });
    const file = join(dataDir, "world.json");
    await writeFile(file, document.stdout);
    const args = ["world", "import", file, "--dry-run"];
    const trial = await foyer(dataDir, args);
    t.same(trial, {
      code: 0,
      stdout:
        "This would create the world demo at demo.example.org with 5 rooms, 3 users, 1 announcement. Nothing was written.\n",
      stderr: "",
    });
    const { stdout } = await foyer(dataDir, [...args, "--json"]);
    t.same(JSON.parse(stdout), {
      id: "demo",
      domain: "demo.example.org",
      rooms: 5,
      users: 3,
      announcements: 1,
      dry_run: true,
    });
    t.same(await store.worlds.list({ limit: 100 }), []);

    const missing = join(dataDir, "missing");
    t.same(await foyer(missing, args), trial, "also without a database");
    t.notOk(existsSync(missing), "which it does not make");
  });
});

void t.test("what is no world is refused whole", async (t) => {
  const { dataDir, store } = await startServer(t, { worlds: [demo({ id: "here" })] });
  const room = await store.rooms.create("here", { name: "x" });
  const taken = room.value.id;
  const good: Document = {
    format: "foyer.world",
    version: 1,
    world: worldOf("new"),
    rooms: [{ id: "00000000-0000-4000-8000-000000000000", name: "x" }],
  };
  const world = (changes: object) => ({ ...good, world: { ...good.world, ...changes } });
  const cases: [name: string, input: unknown, stderr: string][] = [
    ["no JSON", "{", "foyer: stdin is not JSON.\n"],
    [
      "a number that is rounded, and a name that comes twice",
      '{"format":"foyer.world","world":{"config":{"n":9007199254740993},"id":"a","id":"b"}}',
      "foyer: stdin is not a world document. world.config.n: Must be a number that fits in 64 bits as it is written. world.id: This name may occur only once.\n",
    ],
    [
      "two faults",
      { ...world({ title: "" }), rooms: [{ name: "x" }] },
      "foyer: stdin is not a world document. world.title: May not be empty. rooms.0.id: This field is required.\n",
    ],
    ["an id", world({ id: "here" }), "foyer: The id here is taken.\n"],
    [
      "a room",
      { ...good, rooms: [...good.rooms, { id: taken, name: "y" }] },
      `foyer: The id ${taken} of a room is taken.\n`,
    ],
  ];
  const args = ["world", "import", "-"];
  for (const [name, input, stderr] of cases) {
    const text = typeof input === "string" ? input : JSON.stringify(input);
    const refused = await foyer(dataDir, args, {}, text);
    t.same(refused, { code: 1, stdout: "", stderr }, name);
    t.equal((await store.worlds.list({ limit: 100 })).length, 1);
  }
  const missing = join(dataDir, "none.json");
  t.match(await foyer(dataDir, ["world", "import", missing]), {
    code: 1,
    stderr: /^foyer: .*none\.json cannot be read: ENOENT.*\n$/,
  });
  const least = await foyer(dataDir, args, {}, JSON.stringify(good));
  t.equal(least.code, 0, "fields with a default may be missing");
  t.same((await store.worlds.get("new"))?.value, worldOf("new"));
});

void t.test("a clone is a world of its own", async (t) => {
  const world = demo({ domain: "demo.example.org", config: { theme: "dark" } });
  const { dataDir, store } = await startServer(t, { worlds: [world] });
  for (const domain of ["own.org", "demo.example.org", undefined]) {
    await store.rooms.create("demo", { name: String(domain), domain });
  }
  const args = ["--title", "Next", "--domain", "next.org"];
  const clone = ["world", "clone", "demo", "next", ...args];
  const { code, stdout } = await foyer(dataDir, [...clone, "--json"]);
  t.equal(code, 0);
  const made = (await store.worlds.get("next"))!.value;
  t.same(JSON.parse(stdout), made);
  const { secret } = made.config.JWT_secrets[0]!;
  t.match(made, {
    title: "Next",
    domain: "next.org",
    config: {
      theme: "dark",
      JWT_secrets: [{ issuer: "foyer", audience: "next", secret: /^\w{64}$/ }],
    },
  });
  t.same(made.permission_config, defaultPermissionConfig);
  t.not(secret, keyOf("demo").secret);
  t.equal(made.config.JWT_secrets.length, 1);

  const domains = (await exported(store, "next")).rows.rooms!.map(({ domain }) => domain);
  t.same(domains.sort(), [null, null, "own.org"], "no room stays at the old domain");
  const refused: [args: string[], code: number, stderr: RegExp][] = [
    [clone, 1, /^foyer: The id next is taken\.\n$/],
    [["world", "clone", "none", "b", ...args], 1, /^foyer: There is no world none\.\n$/],
    [["world", "clone", "demo", "B", ...args], 2, /a-z, 0-9 and -/],
    [["world", "import"], 2, /missing required argument/],
    [["world", "export", "none"], 1, /^foyer: There is no world none\.\n$/],
  ];
  for (const [args, code, stderr] of refused) {
    const result = await foyer(dataDir, args);
    t.match(result, { code, stdout: "", stderr }, args.join(" "));
  }
  t.equal((await store.worlds.list({ limit: 100 })).length, 2);
});

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
    code: 0,
    stderr: "",
    stdout: `${archive} holds the world demo and 2 files.\n`,
  });
  t.match(await foyer(from, exporting), { code: 1, stderr: /already exists/ });
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
    ["a strange entry", tarOf([{ ...one, path: "../x" }, two, last]), /\.\.\/x is unexpected/],
    [
      "a link",
      tarOf([{ ...one, type: "SymbolicLink", linkpath: "/etc" }, two, last]),
      /is unexpected/,
    ],
    ["a file twice", tarOf([one, one, two, last]), /occurs twice/],
    ["cut off", tarOf([one, two]), /has no world\.json/],
    ["torn", tarOf(entries).subarray(0, 700), /foyer: /],
    ["a document twice", tarOf([...entries, last]), /is unexpected/],
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
    code: 0,
    stderr: "",
    stdout: /with 0 rooms, 1 user, 2 files\.\n$/,
  });
  for (const key of KEYS) {
    const found = await next.files.open(key);
    t.match(found, { size: key.length, modified });
    let text = "";
    for await (const chunk of (await found!.read())!) text += String(chunk);
    t.equal(text, key);
  }
  t.equal(await next.store.files.size("demo"), await store.files.size("demo"), "its files count");
  t.match(await foyer(to, ["check"]), { code: 0 });
  t.match(await importing(archive), { code: 1, stderr: /id demo is taken/ });
  t.ok(await next.files.open(KEYS[0]!), "the files of the world stay");

  // Exports omit files that are deleted or damaged.
  await store.files.delete("demo", "a");
  await files.remove(KEYS[0]!);
  await files.remove(KEYS[1]!);
  const second = join(dir, "second.tar");
  t.match(await foyer(from, [...exporting.slice(0, -1), second]), {
    code: 0,
    stderr: `warning: ${KEYS[1]} was already missing.\n`,
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

void t.test("two imports of one archive take nothing from each other", async (t) => {
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
  /** Returns a store that calls `begin` right before an import creates its world. */
  const storeWith = (begin: () => Promise<unknown>) => {
    const value = async (...args: Parameters<Store["worlds"]["import"]>) => {
      if (!args[1]?.dryRun) await begin();
      return store.worlds.import(...args);
    };
    const worlds: unknown = Object.create(store.worlds, { import: { value } });
    return Object.create(store, { worlds: { value: worlds } }) as Store;
  };
  const all = async (name: string) => {
    for (const key of KEYS) t.ok(await files.open(key), `${name}: ${key}`);
  };

  const ends = await Promise.allSettled([importInto(store), importInto(other.store)]);
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

  // Once the world exists, an import cannot be repeated, so it retries before it gives up.
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
    ["a long failure", 9, `The world demo exists now, .*: ${KEYS.join(", ")}\\. .*away`],
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
});
