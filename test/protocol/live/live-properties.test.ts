import fc, { type Arbitrary } from "fast-check";
import t from "tap";
import { commands } from "../../../schemas/live/index.js";
import { components } from "../../../schemas/openapi/components.js";
import type { JsonObject } from "../../../schemas/openapi/openapi-schema.js";
import { arbitraryOf } from "../../support/arbitrary.js";
import { openWorld, soon } from "../../support/open-world.js";
import { startServer } from "../../support/server.js";

// Whatever a client sends, every message is answered in order, no response reports a server fault,
// and the connection stays open. Seeds are random and printed: SEED=… repeats a run, and RUNS=…
// runs for longer.

const seed = Number(process.env.SEED ?? Date.now() % 2 ** 31);
const numRuns = Number(process.env.RUNS ?? 40);
t.comment(`SEED=${seed} RUNS=${numRuns}`);

/** The maximum number of messages sent without waiting. */
const AT_ONCE = 12;

const rates = { commandsPerSecond: 1_000_000, messagesPerSecond: 1_000_000 };
// Some of the frames are larger than users without special rights may send.
const server = await startServer(t, { limits: { ...rates, maxFrame: 1024 * 1024 } });

const byId = Object.fromEntries(
  components.map((schema) => [schema.$id, schema as unknown as JsonObject]),
) as JsonObject;

const deep = (depth: number): string => `${"[".repeat(depth)}1${"]".repeat(depth)}`;
const deepObject = (depth: number): string => `${'{"a":'.repeat(depth)}1${"}".repeat(depth)}`;

/** JSON that trips up parsers and programs. */
const nasty: readonly string[] = [
  ..."null true 0 -0 -1 1.5 1e400 -1e400 9007199254740993 1e-400 [] [[]] [null] {}".split(" "),
  "123456789012345678901234567890",
  '""',
  '" "',
  '"\\u0000"',
  '"\\ud800"',
  '"\\udc00\\ud800"',
  '"\\ufeff"',
  '"__proto__"',
  '"constructor"',
  '"%s%n%x"',
  '"\'; DROP TABLE rooms; --"',
  '{"":1}',
  '{"__proto__":{"admin":true}}',
  '{"constructor":{"prototype":{"admin":true}}}',
  '{"toString":1,"valueOf":2,"toJSON":3}',
  '{"then":1}',
  '{"length":5,"0":1}',
  '{"a":1,"a":2}',
  '{"id":1,"id":"x","room":null,"room":[]}',
  '{"\\ud800":1}',
  '{"\\u0000":1}',
  deep(101),
  deep(5000),
  deep(30_000),
  deepObject(101),
  deepObject(8000),
  `"${"x".repeat(60_000)}"`,
  `[${"0,".repeat(20_000)}0]`,
  `{${Array.from({ length: 3000 }, (_, i) => `"k${i}":0`).join()}}`,
];

const anyNasty = fc.oneof(fc.constantFrom(...nasty), fc.json());

/** The field names of all commands. */
const fields = [
  ...new Set(
    Object.values(commands).flatMap(({ payload }) =>
      Object.keys(((payload as unknown as JsonObject).properties as object) ?? {}),
    ),
  ),
  "__proto__",
  "constructor",
];

const names = fc.oneof(
  fc.constantFrom(...Object.keys(commands), "ping", "authenticate"),
  fc.constantFrom("", ".", "user", "user.", "room.__proto__", "constructor.x"),
  fc.string(),
);

/** Generates payloads with nasty fields, as text. */
const nastyObject = fc
  .array(fc.tuple(fc.constantFrom(...fields), anyNasty), { maxLength: 4 })
  .map((entries) => `{${entries.map(([name, value]) => `"${name}":${value}`).join()}}`);

/** Generates messages that no client should send, as text. */
const hostileFrame: Arbitrary<string> = fc.oneof(
  fc
    .tuple(names, anyNasty, fc.oneof(nastyObject, anyNasty))
    .map(([name, id, payload]) => `[${JSON.stringify(name)},${id},${payload}]`),
  fc
    .tuple(names, fc.oneof(nastyObject, anyNasty))
    .map(([name, payload]) => `[${JSON.stringify(name)},${payload}]`),
  fc.tuple(anyNasty, anyNasty, anyNasty).map((elements) => `[${elements.join()}]`),
  fc.array(anyNasty, { maxLength: 6 }).map((all) => `[${all.join()}]`),
  anyNasty,
  fc.string({ unit: "binary" }),
);

/**
 * Generates payloads of a command: valid ones, and ones that are wrong in one respect.
 * @param schema the payload's schema.
 * @param schemas the schemas that it refers to.
 * @param ids the ids of existing rooms and users.
 */
function payloadOf(
  schema: JsonObject,
  schemas: JsonObject,
  ids: readonly string[],
): Arbitrary<unknown> {
  const valid = arbitraryOf(schema, schemas);
  const id = fc.constantFrom(...ids);
  const named = fc.tuple(valid, id, fc.array(id, { maxLength: 3 })).map(([payload, one, some]) => {
    if (typeof payload !== "object" || payload === null) return payload;
    if (Array.isArray(payload)) return some;
    const has = (name: string) => Object.hasOwn(payload, name);
    const { properties = {} } = schema as { properties?: object };
    return {
      ...payload,
      ...(Object.hasOwn(properties, "room") && { room: one }),
      ...(Object.hasOwn(properties, "id") && { id: one }),
      ...(has("ids") && { ids: some }),
    };
  });
  const wrong = fc
    .tuple(named, fc.constantFrom(...fields), fc.jsonValue())
    .map(([payload, name, value]) => {
      if (typeof payload !== "object" || payload === null) return value;
      return { ...payload, [name]: value };
    });
  return fc.oneof(named, named, wrong);
}

void t.test("no message costs the connection", async () => {
  // Everyone may do everything, except lock others out.
  const all = Object.fromEntries(
    [
      "chat.moderate",
      "room.announce",
      "world.announce",
      "room.create",
      "room.update",
      "room.delete",
      "world.api",
    ].map((key) => [key, []]),
  );
  const permission_config = { ...all, "world.update": ["boss"] };
  const world = await openWorld(server, { permission_config });
  const rooms = [await world.room(), await world.room(), await world.room()];
  const others = [await world.guest(), await world.guest()];
  const ids = [...rooms, ...others.map(({ id }) => id)];
  const frames = fc.oneof(
    hostileFrame,
    ...Object.entries(commands).map(([name, { payload }]) =>
      payloadOf(payload as unknown as JsonObject, byId, ids).map((sent) => [name, sent]),
    ),
  );
  let count = 0;
  /** Connects a user who may do everything, initially or after a legitimate close. */
  const open = () => world.person({ uid: `u${count++}`, traits: ["boss"] });
  let client = await open();
  await fc.assert(
    fc.asyncProperty(fc.array(frames, { minLength: 1, maxLength: AT_ONCE }), async (sent) => {
      if (!client.isOpen) client = await open();
      const texts = sent.map((frame, i) =>
        typeof frame === "string" ? frame : JSON.stringify([frame[0], `n${i}`, frame[1]]),
      );
      for (const text of texts) client.send(text);
      let answers = 0;
      let reloaded = false;
      const ended = client.closed.then(() => "ended" as const);
      client.sendFrame("ping", "last");
      for (;;) {
        // A user who may set rules can legitimately lock everyone out.
        const frame = await Promise.race([client.frame(), ended]);
        reloaded = frame === "ended" || frame[0] === "connection.reload";
        if (reloaded || (frame[0] === "pong" && frame[1] === "last")) break;
        if (["success", "error", "pong"].includes(frame[0])) answers++;
        const { code } = ((frame as unknown[]).at(-1) ?? {}) as { code?: string };
        if (frame[0] !== "error") continue;
        if (code === "server.fatal" || code === "server.unavailable") {
          throw new Error(`${code} after ${JSON.stringify(texts)}`);
        }
      }
      if (reloaded) {
        await soon(client.closed);
        await world.configure({ permission_config });
      } else if (answers !== texts.length) {
        throw new Error(`${answers} answers to ${JSON.stringify(texts)}`);
      }
      const { status } = await world.rest("GET", "rooms/");
      if (status >= 500) throw new Error(`${status}`);
      const errors = server.log.filter(({ level }) => level >= 50);
      if (errors.length > 0) throw new Error(JSON.stringify(errors));
    }),
    { seed, numRuns },
  );
});

void t.test("nor before the login", async (t) => {
  const client = await server.connect();
  const credentials = fc.oneof(
    fc.record({ token: fc.anything(), client_id: fc.anything() }, { requiredKeys: [] }),
    fc.record({ token: fc.string() }),
    fc.record({ client_id: fc.string({ unit: "binary" }) }),
    fc.jsonValue(),
  );
  await fc.assert(
    fc.asyncProperty(
      fc.oneof(
        hostileFrame,
        credentials.map((sent) => ["authenticate", sent]),
      ),
      async (sent) => {
        const text = typeof sent === "string" ? sent : json(["authenticate", 1, sent[1]]);
        if (client.hello !== undefined) return;
        client.send(text);
        const answer = await client.frame();
        if (answer[0] === "authenticated") client.hello = answer[1];
        const { code } = (answer.at(-1) ?? {}) as { code?: string };
        if (code === "server.fatal") throw new Error(text);
      },
    ),
    { seed, numRuns },
  );
  t.equal(client.ws.readyState, client.ws.OPEN);
});

/** Serializes a value, omitting what JSON cannot represent. */
const json = (value: unknown): string =>
  JSON.stringify(value, (_, inner: unknown) => (typeof inner === "bigint" ? String(inner) : inner));

/** A snapshot from another process. */
const snapshot = {
  process: "x",
  world: "demo",
  number: 1,
  connections: 3,
  roomless: ["ann"],
  rooms: [["hall", ["bob"]]],
  shared: { ann: { connections: [["c", 1]], attending: ["hall"] } },
  left: [["ann", "hall", false]],
  counts: { messages: 2, slowReaders: 0, since: 1 },
  reactions: { hall: { clap: 1 } },
};

/** Values for each field that no process sends. */
const faulty: Partial<Record<keyof typeof snapshot | "asks", readonly unknown[]>> = {
  process: [1, null],
  world: [1, "other", null],
  number: [-1, "1", 1.5],
  connections: [-1, null],
  roomless: [-1, [1], {}, "ann"],
  rooms: [{}, [["hall"]], [["hall", [1]]], [["hall", "ann"]], [[1, []]]],
  shared: [
    [],
    { ann: [] },
    { ann: { connections: [["c"]], attending: [] } },
    { ann: { connections: [], attending: [1] } },
  ],
  left: [[["ann", "hall"]], [["ann", "hall", 1]], {}],
  counts: [{ messages: 1, slowReaders: -1, since: 1 }, { since: 1 }, [1, 1]],
  reactions: [{ hall: { clap: "x" } }, { hall: { clap: -1 } }, { hall: 1 }, 1],
  asks: [false, 1],
};

void t.test("messages that no process sends", async (t) => {
  const { app, log } = await startServer(t);
  const faults: string[] = [];
  const note = (fault: unknown) => void faults.push(String(fault));
  process.on("uncaughtException", note).on("unhandledRejection", note);
  t.teardown(() => {
    process.off("uncaughtException", note).off("unhandledRejection", note);
  });
  const hear = async (data: unknown, name: string) => {
    for (const place of [{ world: "demo" }, {}]) {
      app.events.publish({ type: "snapshot", ...place, data });
      await new Promise((resolve) => setImmediate(resolve));
      t.strictSame([...log.splice(0), ...faults.splice(0)], [], name);
    }
  };
  await app.live.snapshots.follow("demo");
  for (const data of [undefined, null, 1, "text", [], {}]) await hear(data, JSON.stringify(data));
  for (const [field, values] of Object.entries(faulty)) {
    for (const value of [undefined, ...values]) {
      if (value === undefined && field === "asks") continue;
      await hear({ ...snapshot, [field]: value }, `${field}: ${JSON.stringify(value)}`);
    }
  }
  t.match(app.live.presence.in("demo"), { connections: 0, users: 0 });
  for (const name of ["__proto__", "constructor"]) {
    const shared = JSON.parse(`{"${name}":{"connections":[["c",1]],"attending":["hall"]}}`);
    await hear({ ...snapshot, process: name, roomless: [name], shared, connections: 0 }, name);
  }
  await hear(snapshot, "a good one");
  t.match(app.live.presence.in("demo"), { connections: 3, users: 4, rooms: [{ viewers: 1 }] });
  t.equal(app.live.activity.of("demo").messages, 6, "what others say is heard");
});
