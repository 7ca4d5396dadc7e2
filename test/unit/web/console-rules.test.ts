import fc from "fast-check";
import t, { type Test } from "tap";
import { Foyer, Live } from "../../../client/index.js";
import { stringOf } from "../../../live/rules/rights.js";
import {
  defaultPermissionConfig,
  type PermissionConfig,
  type Rule,
} from "../../../schemas/plain/permissions.js";
import { Draft, faultsIn } from "../../../web/state/draft.js";
import { keysOf, replaceKey, rotateIn, rotateOut, signerOf } from "../../../web/state/keys.js";
import { GuardedRoute, type RouteWindow } from "../../../web/state/route.js";
import {
  entersWorld,
  fallbackOf,
  holdsKey,
  isTrait,
  lostBy,
  permissionKeys,
  previewOf,
  rulesFrom,
  traitsIn,
  traitsOf,
} from "../../../web/state/rules.js";
import { worldFaults } from "../../../web/state/world-form.js";
import {
  liveRules,
  liveSettings,
  ROLES,
  worldRules,
  worldSettings,
} from "../../../web/state/world-source.js";
import { keyOf, tokenOf } from "../../support/helper.js";
import { startServer } from "../../support/server.js";
import { newWorld } from "./world.js";

const server = await startServer(t, { worlds: [] });

async function connect(t: Test) {
  const { baseUrl, world, key, tokenFor, open } = await newWorld(t, server);
  const token = tokenFor("7");
  const as = (token: string) => new Foyer({ baseUrl, world, token });
  return { as, token, key, open, foyer: as(token) };
}

void t.test("a draft of the settings of a world", async (t) => {
  const { foyer, key } = await connect(t);
  const draft = new Draft(worldSettings(foyer));
  await draft.load();
  t.equal(draft.now.values?.["title"], "The demo");
  t.notOk("config.JWT_secrets" in draft.now.values!);

  draft.set("title", "Mine");
  draft.set("config.locale", "de");
  t.same(draft.now.unsaved, ["title", "config.locale"]);
  draft.set("title", "The demo");
  t.same(draft.now.unsaved, ["config.locale"]);
  t.ok(await draft.save());
  const world = await foyer.getWorld();
  t.equal(world.config["locale"], "de");
  t.same(keysOf(world), [key], "the keys stay");

  // Another organizer changes a field that this draft does not contain.
  await foyer.updateWorld({ permission_config: defaultPermissionConfig });
  draft.set("config.timezone", "Europe/Berlin");
  t.ok(await draft.save(), "nothing that is shown has changed");

  await foyer.updateWorld({ title: "Theirs" });
  draft.set("title", "Mine");
  draft.set("config.locale", undefined);
  t.notOk(await draft.save());
  draft.takeTheirs();
  t.equal(draft.now.values?.["title"], "Theirs");
  t.same(draft.now.unsaved, []);
  draft.set("config.locale", undefined);
  t.ok(await draft.save());
  t.notOk("locale" in (await foyer.getWorld()).config);

  draft.set("domain", "Not a domain");
  t.notOk(await draft.save());
  t.match(faultsIn(draft.now.faults, "domain"), /host name/);
  t.equal(faultsIn(draft.now.faults, "title"), undefined);
  draft.set("domain", "x.example.org");
  t.equal(faultsIn(draft.now.faults, "domain"), undefined);
  draft.discard();
  t.same(draft.now.unsaved, []);
});

void t.test("what is typed while a draft is saved stays unsaved", async (t) => {
  const { foyer } = await connect(t);
  const draft = new Draft(worldSettings(foyer));
  await draft.load();
  draft.set("title", "One");
  const saving = draft.save();
  draft.set("title", "Two");
  t.ok(await saving);
  t.same(draft.now.unsaved, ["title"]);
  t.equal(draft.saved?.["title"], "One");
});

void t.test("a draft of rules", async (t) => {
  const { foyer } = await connect(t);
  const draft = new Draft(worldRules(foyer));
  await draft.load();
  draft.set("room.view", [["attendee", "speaker"]]);
  draft.set("room.create", undefined);
  const roles = [{ trait: "vip", title: "VIP" }];
  draft.set(ROLES, roles);
  t.ok(await draft.save());
  t.same((await foyer.getWorld()).config["roles"], roles);
  draft.set(ROLES, [{ trait: "a b", title: "" }]);
  t.notOk(await draft.save());
  t.match(faultsIn(draft.now.faults, "config"), /spaces/);
  const { permission_config } = await foyer.getWorld();
  t.same(permission_config["room.view"], [["attendee", "speaker"]]);
  t.notOk("room.create" in permission_config);
  t.notOk(ROLES in permission_config);
});

void t.test("two hosts who save at once get a conflict", async (t) => {
  const { foyer, open } = await connect(t);
  const session = await open("7");
  const ways = [
    ["rules", "room.view", () => worldRules(foyer)],
    ["rules without the keys", "room.view", () => liveRules(session.live)],
    ["settings", "title", () => worldSettings(foyer)],
    ["settings without the keys", "title", () => liveSettings(session.live)],
  ] as const;
  for (const [way, name, source] of ways) {
    const drafts = [new Draft(source()), new Draft(source())];
    const word = (i: number) => `${way}-${i}`.replaceAll(" ", "-");
    const mine = (i: number) => (name === "title" ? word(i) : [word(i)]);
    await Promise.all(drafts.map((draft) => draft.load()));
    drafts.forEach((draft, i) => draft.set(name, mine(i)));
    const saved = await Promise.all(drafts.map((draft) => draft.save()));
    t.same([...saved].sort(), [false, true], way);
    const first = saved.indexOf(true);
    const late = drafts[1 - first]!;
    t.same(late.now.theirs?.values[name], mine(first), `${way}: theirs`);
    t.same(late.now.values?.[name], mine(1 - first), `${way}: mine`);
    late.keepMine();
    t.ok(await late.save(), way);
    await drafts[first]!.load();
    t.same(drafts[first]!.saved?.[name], mine(1 - first), way);
  }
});

void t.test("a rotation of keys locks no user out", async (t) => {
  const { as, token, key: old, foyer } = await connect(t);
  const rotator = (token: string) => ({ api: as(token), identity: { token } });
  const moves: string[] = [];
  const move = async (token: string) => {
    await as(token).getWorld();
    moves.push(token);
    return rotator(token);
  };
  const before = await foyer.getWorld();
  const key = { ...old, secret: "x".repeat(64) };

  await t.rejects(
    rotateOut(rotator(token), move, before, old),
    /needs a key/,
    "the last key stays",
  );
  const added = await rotateIn(rotator(token), move, before, key);
  t.same(keysOf(added.world), [key, old]);
  t.ok(await foyer.getWorld(), "the old key still verifies");
  t.equal(signerOf(keysOf(added.world), moves[0]), 0);
  await t.rejects(
    rotateIn(rotator(token), move, before, keyOf("b")),
    /^412/,
    "another organizer was faster",
  );
  // When using the old token, a new one must be issued before the old key is removed.
  const removed = await rotateOut(rotator(token), move, added.world, old);
  t.same(keysOf(removed.world), [key]);
  t.equal(moves.length, 2);
  await t.rejects(foyer.getWorld(), /^401/);

  const fresh = { ...keyOf("fresh"), secret: "y".repeat(64) };
  const { rotator: last } = await replaceKey(removed.rotator, move, removed.world, [key, fresh]);
  t.same(keysOf(await last.api.getWorld()), [fresh]);
  t.equal(moves.length, 3);
});

void t.test("keys of several issuers may share a secret", async (t) => {
  const { as, token, key: own, foyer } = await connect(t);
  const rotator = { api: as(token), identity: { token } };
  const move = async (token: string) => {
    await as(token).getWorld();
    return { api: as(token), identity: { token } };
  };
  const shop = { ...own, issuer: "shop" };
  const { config, etag } = await foyer.getWorld();
  const shared = await foyer.updateWorld(
    { config: { ...config, JWT_secrets: [shop, own, shop] } },
    { ifMatch: etag },
  );
  t.same(keysOf(shared), [shop, own], "each once");
  t.equal(signerOf(keysOf(shared), token), 1, "the issuer counts");

  const { world } = await rotateOut(rotator, move, shared, shop);
  t.same(keysOf(world), [own], "the other issuer stays");
  t.ok(await foyer.getWorld());
});

void t.test("faults of a form", async (t) => {
  const cases = [
    ["title", " ", "Empty"],
    ["domain", "a b", "Domain"],
    ["domain", "a.example:8375", undefined],
    ["config.locale", "not a locale", "Locale"],
    ["config.locale", "de", undefined],
    ["config.timezone", "Mars/Base", "Timezone"],
    ["config.timezone", "Europe/Berlin", undefined],
    ["config.connection_limit", "many", "Number"],
    ["config.connection_limit", 3, undefined],
    ["config.theme", { colors: { primary: "red" } }, "Color"],
    ["config.theme", { colors: { primary: "#AABBCC" } }, undefined],
    ["config.profile_fields", [{ id: "a" }, { id: "a" }], "Fields"],
    ["config.profile_fields", [{ id: "a" }], undefined],
    ["config.other", 1, undefined],
  ] as const;
  for (const [name, value, fault] of cases) {
    t.equal(worldFaults({ [name]: value }, [name])[name], fault, name);
  }
});

void t.test("rules", async (t) => {
  t.equal(fallbackOf("world.view"), "everybody");
  t.equal(fallbackOf("world.secrets"), "nobody");
  t.equal(fallbackOf("poll.results"), "poll.manage");
  t.ok(permissionKeys.includes("user.list"));

  const world = { "world.view": ["attendee"], "chat.moderate": ["mod"] };
  t.notOk(holdsKey("chat.send", [], world));
  t.ok(holdsKey("chat.send", ["attendee"], world));
  t.notOk(holdsKey("poll.manage", ["mod"], world), "the world is closed to it");
  t.ok(holdsKey("poll.manage", ["mod", "attendee"], world));
  const room = { "room.view": ["vip"] };
  t.notOk(holdsKey("chat.send", ["attendee"], world, room));

  t.same(traitsIn(world, room, { a: [["x", "mod"]] }), ["attendee", "mod", "vip", "x"]);
  t.ok(isTrait("a-b"));
  t.notOk(isTrait("a b"));
  t.same(traitsOf("admin, api  x|y"), ["admin", "api", "x", "y"]);

  const mine = ["admin", "api"];
  t.same(lostBy(mine, [defaultPermissionConfig], [{}]), [
    "world.update",
    "world.secrets",
    "world.api",
    "world.feed",
  ]);
  t.same(lostBy(mine, [defaultPermissionConfig], [defaultPermissionConfig]), []);
  const closed = { "room.view": ["vip"] };
  t.same(lostBy(mine, [defaultPermissionConfig, {}], [defaultPermissionConfig, closed]), [
    "room.view",
    "room.update",
  ]);

  t.same(rulesFrom('{"a.b":["x",["y","z"]]}'), { "a.b": ["x", ["y", "z"]] });
  for (const text of ["", "[]", "null", '{"a.b":"x"}', '{"a.b":[1]}']) {
    t.equal(rulesFrom(text), undefined, text);
  }
});

void t.test("a page with changes is not left without a word", async (t) => {
  const listeners = new Map<string, (event: object) => void>();
  const location = { hash: "#/world" };
  const window = {
    location,
    history: { pushState: (_: unknown, __: string, url: string) => (location.hash = url) },
    addEventListener: (name: string, listener: (event: object) => void) =>
      listeners.set(name, listener),
  } as unknown as RouteWindow;
  const go = (hash: string) => {
    location.hash = hash;
    listeners.get("hashchange")!({});
  };
  const route = new GuardedRoute(window);
  const seen: string[] = [];
  route.subscribe((words) => seen.push(words.join("/")));
  const wanted: (string | undefined)[] = [];
  route.wanted.subscribe((hash) => wanted.push(hash));

  let isUnsaved = false;
  const end = route.protect(() => isUnsaved);
  go("#/keys");
  isUnsaved = true;
  go("#/links");
  t.equal(location.hash, "#/keys", "the address stays");
  t.same(seen, ["world", "keys"]);
  t.same(wanted, [undefined, "#/links"]);
  let isAsked = false;
  listeners.get("beforeunload")!({ preventDefault: () => (isAsked = true) });
  t.ok(isAsked);

  route.leave("#/links");
  listeners.get("hashchange")!({});
  t.same(seen, ["world", "keys", "links"]);
  end();
  go("#/world");
  t.same(seen.at(-1), "world");
});

// The preview must match the server, so each case also queries the server.

type NewWorld = Awaited<ReturnType<typeof newWorld>>;

interface Case {
  world: PermissionConfig;
  rooms: PermissionConfig[];
  traits: string[];
}

const names = (rights: readonly string[]) =>
  ["room:view", ...rights.map((key) => stringOf(key as never)!)].sort();

/** Returns the rooms and permissions that the server grants a user; undefined if it refuses. */
async function asked(
  { baseUrl, world, key }: NewWorld,
  traits: string[] | undefined,
): Promise<{ live: unknown; rest: string[] } | undefined> {
  const identity = traits
    ? { token: tokenOf(key, { uid: "somebody", traits }) }
    : { clientId: "guest" };
  const access = { baseUrl, world, ...identity };
  const live = new Live(access);
  try {
    const { rooms } = await live.connected();
    const seen = rooms.map(({ name, permissions }) => ({ name, rights: [...permissions].sort() }));
    if (!traits) return { live: seen, rest: seen.map(({ name }) => name) };
    const list = await new Foyer(access).listRooms({ page_size: 100 });
    return { live: seen, rest: list.results.map(({ name }) => name) };
  } catch {
    return undefined;
  } finally {
    live.close();
  }
}

/** Compares the preview of a case with the server. */
async function compare(t: Test, to: NewWorld, { world, rooms, traits }: Case) {
  // REST is open to everybody here, so that its list can be compared.
  const rules = { ...world, "world.api": [] };
  await server.store.worlds.update(to.world, { permission_config: rules });
  for (const { value } of await to.rooms.all(to.world, { page: 1, pageSize: 100 })) {
    await to.rooms.delete(to.world, value.id);
  }
  const ruled = rooms.map((rules, at) => ({ id: "", name: `${at}`, rules }));
  const module_config = [{ type: "question", config: { anonymous: true } }];
  for (const { name, rules } of ruled) {
    await to.rooms.create(to.world, { name, permission_config: rules, module_config });
  }
  for (const held of [traits, undefined]) {
    const set = held ?? [];
    const preview = previewOf(set, rules, ruled).map(({ room, rights }) => ({
      name: room.name,
      rights: names(rights),
    }));
    const answer = await asked(to, held);
    if (!answer) {
      if (entersWorld(set, rules) || preview.length > 0) {
        throw new Error(`The server refuses ${String(held)}`);
      }
      continue;
    }
    t.same(answer.live, preview);
    t.same(
      answer.rest,
      preview.map(({ name }) => name),
    );
  }
}

void t.test("a preview of any rules is what the server does", async (t) => {
  const own = await newWorld(t, server);
  const trait = fc.constantFrom("a", "b", "c");
  const rule: fc.Arbitrary<Rule> = fc.array(fc.oneof(trait, fc.array(trait, { maxLength: 2 })), {
    maxLength: 2,
  });
  const config = fc.dictionary(fc.constantFrom(...permissionKeys), rule, { maxKeys: 6 });
  const any = fc.record({
    world: config,
    rooms: fc.array(config, { maxLength: 4 }),
    traits: fc.uniqueArray(trait),
  });
  await fc.assert(
    fc.asyncProperty(any, (it) => compare(t, own, it)),
    { numRuns: 100 },
  );
});
