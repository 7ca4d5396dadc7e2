import fc from "fast-check";
import t, { type Test } from "tap";
import { Foyer, Live } from "../../client/index.js";
import { stringOf } from "../../live/rules/rights.js";
import {
  defaultPermissionConfig,
  type PermissionConfig,
  permissionKeys,
  type Rule,
} from "../../schemas/plain/permissions.js";
import { startTestServer, type TestServer } from "../../testing.js";
import { entersWorld, previewOf } from "../../web/state/preview.js";
import { keyOf, tokenOf } from "../helper.js";

// The preview says what the server does: each case asks the server as well.

interface Case {
  world: PermissionConfig;
  rooms: PermissionConfig[];
  traits: string[];
}

const names = (rights: readonly string[]) =>
  ["room:view", ...rights.map((key) => stringOf(key as never)!)].sort();

/** The rooms and permissions that a user gets from the server; undefined if it refuses. */
async function asked(
  { baseUrl }: TestServer,
  traits: string[] | undefined,
): Promise<{ live: unknown; rest: string[] } | undefined> {
  const access = {
    baseUrl,
    world: "demo",
    ...(traits
      ? { token: tokenOf(keyOf("demo"), { uid: "somebody", traits }) }
      : { clientId: "guest" }),
  };
  const live = new Live(access);
  try {
    const { rooms } = await live.connected();
    const seen = rooms.map(({ name, permissions }) => ({
      name,
      rights: [...permissions].sort(),
    }));
    if (!traits) return { live: seen, rest: seen.map(({ name }) => name) };
    const list = await new Foyer(access).listRooms({ page_size: 100 });
    return { live: seen, rest: list.results.map(({ name }) => name) };
  } catch {
    return undefined;
  } finally {
    live.close();
  }
}

const demo = async (t: Test) => {
  const server = await startTestServer();
  t.teardown(() => server.close());
  await server.createWorld({
    id: "demo",
    config: { JWT_secrets: [keyOf("demo")] },
  });
  return server;
};

/** Holds the preview of a case against the server. */
async function compare(server: TestServer, { world, rooms, traits }: Case) {
  const { worlds, rooms: store } = server.app.store;
  // REST answers everybody here, so that its list can be compared.
  const rules = { ...world, "world.api": [] };
  await worlds.update("demo", { permission_config: rules });
  for (const { value } of await store.all("demo", { page: 1, pageSize: 100 })) {
    await store.delete("demo", value.id);
  }
  const ruled = rooms.map((rules, at) => ({ id: "", name: `${at}`, rules }));
  for (const { name, rules } of ruled) {
    await store.create("demo", {
      ...{ name, permission_config: rules },
      module_config: [{ type: "question", config: { anonymous: true } }],
    });
  }
  for (const held of [traits, undefined]) {
    const set = held ?? [];
    const preview = previewOf(set, rules, ruled).map(({ room, rights }) => ({
      name: room.name,
      rights: names(rights),
    }));
    const answer = await asked(server, held);
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

void t.test("a preview is what the server does", async (t) => {
  const server = await demo(t);
  const cases: Record<string, Case> = {
    "the defaults, for an administrator": {
      world: defaultPermissionConfig,
      rooms: [{}, { "room.view": ["speaker"] }],
      traits: ["admin", "api"],
    },
    "a closed world": {
      world: { ...defaultPermissionConfig, "world.view": ["attendee"] },
      rooms: [{}],
      traits: ["attendee"],
    },
    "a closed world from outside": {
      world: { "world.view": ["attendee"] },
      rooms: [{ "room.view": [] }],
      traits: ["other"],
    },
    "a room's rule comes before the world's": {
      world: { "room.view": ["attendee"], "chat.send": ["speaker"] },
      rooms: [{ "room.view": [] }, { "chat.send": [] }, {}],
      traits: ["attendee"],
    },
    "one of several, and all of several": {
      world: {},
      rooms: [
        { "room.view": [["a", "b"], "c"] },
        { "room.view": [["a", "b"]] },
        { "room.view": ["a", "b"] },
        { "room.view": [[]] },
      ],
      traits: ["b", "c"],
    },
    "else: moderators of the chat moderate the rest": {
      world: { "chat.moderate": ["mod"] },
      rooms: [
        {},
        { "poll.manage": ["host"] },
        { "poll.results": [] },
        { "chat.moderate": ["host"] },
      ],
      traits: ["mod"],
    },
    "else, from the room's rule": {
      world: { "poll.results": ["nobody"] },
      rooms: [
        { "chat.moderate": [] },
        { "chat.moderate": [], "room.viewers": ["x"] },
      ],
      traits: [],
    },
  };
  for (const [name, it] of Object.entries(cases)) {
    await t.test(name, () => compare(server, it));
  }
});

void t.test("a preview of any rules is what the server does", async (t) => {
  const server = await demo(t);
  const trait = fc.constantFrom("a", "b", "c");
  const rule: fc.Arbitrary<Rule> = fc.array(
    fc.oneof(trait, fc.array(trait, { maxLength: 2 })),
    { maxLength: 2 },
  );
  const config = fc.dictionary(fc.constantFrom(...permissionKeys), rule, {
    maxKeys: 6,
  });
  const any = fc.record({
    world: config,
    rooms: fc.array(config, { maxLength: 4 }),
    traits: fc.uniqueArray(trait),
  });
  await fc.assert(
    fc.asyncProperty(any, (it) => compare(server, it)),
    { numRuns: 25 },
  );
});
