import { existsSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import t from "tap";
import type { World } from "../../schemas/worlds.js";
import type { Store } from "../../db/contract/store.js";
import { exported } from "../exported.js";
import { admin, foyer, rules, serve, worldOf } from "../helper.js";

/** Gives a world what only the live layer makes. */
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
  const world = worldOf("demo", {
    permission_config: rules({ "room.view": [["admin", "crew"]] }),
  });
  world.config.theme = { colors: ["#fff", null, 0.5], "10": "Ünïcode 🎪" };
  const old = await serve(t, [world]);
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
    const next = await serve(t, []);
    const imported = await foyer(
      next.dataDir,
      ["world", "import", "-"],
      {},
      document.stdout,
    );
    t.same(imported, {
      code: 0,
      stdout:
        "The world demo is at demo.example.org, with 5 rooms, 3 users, 1 announcement.\n",
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
    const { dataDir, store } = await serve(t, []);
    const file = join(dataDir, "world.json");
    await writeFile(file, document.stdout);
    const args = ["world", "import", file, "--dry-run"];
    const trial = await foyer(dataDir, args);
    t.same(trial, {
      code: 0,
      stdout:
        "It would create the world demo at demo.example.org with 5 rooms, 3 users, 1 announcement. Nothing was written.\n",
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
  const { dataDir, store } = await serve(t, [worldOf("here")]);
  const room = await store.rooms.create("here", { name: "x" });
  const taken = room.value.id;
  const good: Document = {
    format: "foyer.world",
    version: 1,
    world: worldOf("new"),
    rooms: [{ id: "00000000-0000-4000-8000-000000000000", name: "x" }],
  };
  const world = (changes: object) => ({
    ...good,
    world: { ...good.world, ...changes },
  });
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
  const world = worldOf("demo");
  world.config.theme = "dark";
  const { dataDir, store } = await serve(t, [world]);
  for (const domain of ["own.org", "demo.example.org", undefined]) {
    await store.rooms.create("demo", { name: String(domain), domain });
  }
  await furnishLive(store, "demo");
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
  t.same(made.permission_config, world.permission_config);
  t.not(secret, world.config.JWT_secrets[0]!.secret);
  t.equal(made.config.JWT_secrets.length, 1);

  const { rows } = await exported(store, "next");
  const rooms = rows.rooms!.toSorted((a, b) =>
    String(a.name).localeCompare(String(b.name)),
  );
  t.same(
    rooms.map(({ name, domain }) => [name, domain]),
    [
      ["demo.example.org", null],
      ["live", null],
      ["own.org", "own.org"],
      ["undefined", null],
    ],
    "no room stays at the old domain",
  );
  t.match(JSON.parse(String(rooms[1]!.extras)), {
    picture: "/p.png",
    pretalx_id: 7,
    force_join: true,
    schedule_data: { title: "Talk" },
  });
  const refused: [args: string[], code: number, stderr: RegExp][] = [
    [clone, 1, /^foyer: The id next is taken\.\n$/],
    [
      ["world", "clone", "none", "b", ...args],
      1,
      /^foyer: There is no world none\.\n$/,
    ],
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
