import fc from "fast-check";
import t from "tap";
import { commands } from "../../schemas/live/index.js";
import { components } from "../../schemas/openapi/components.js";
import type { JsonObject } from "../../schemas/openapi/openapi-schema.js";
import { type Client, demo, makeRoom, soon, startLive } from "./client.js";
import { hostileFrame, payloadOf } from "./arbitrary-frames.js";

// Whatever a client sends: every message is answered in its turn, no answer is a
// fault of the server, and the connection stays. Seeds are new each time, and
// printed: SEED=… tries the same again, and `npm run fuzz` tries for longer.

const seed = Number(process.env.SEED ?? Date.now() % 2 ** 31);
const numRuns = Number(process.env.RUNS ?? 40);
t.comment(`SEED=${seed} RUNS=${numRuns}`);

/** How many messages are sent without waiting. */
const AT_ONCE = 12;

const byId = Object.fromEntries(
  components.map((schema) => [schema.$id, schema as unknown as JsonObject]),
) as JsonObject;

void t.test("no message costs the connection", async (t) => {
  // Everybody may do everything, but not lock the others out.
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
  const live = await startLive(
    t,
    { commandsPerSecond: 1_000_000, messagesPerSecond: 1_000_000 },
    [demo({ permission_config: { ...all, "world.update": ["boss"] } })],
  );
  const rooms = [];
  for (const name of ["A", "B", "C"])
    rooms.push(await makeRoom(live, { name }));
  const others = [await live.guest(), await live.guest()];
  const ids = [...rooms, ...others.map(({ id }) => id)];
  const frames = fc.oneof(
    hostileFrame,
    ...Object.entries(commands).map(([name, { payload }]) =>
      payloadOf(payload as unknown as JsonObject, byId, ids).map((sent) => [
        name,
        sent,
      ]),
    ),
  );

  const names = new Map<Client, string>();
  let count = 0;
  /** A websocket that may do everything; a new one if the last was rightly closed. */
  async function open(): Promise<Client> {
    const uid = `u${count++}`;
    const client = await live.person({ uid, traits: ["boss"] });
    names.set(client, uid);
    return client;
  }
  let client = await open();
  await fc.assert(
    fc.asyncProperty(
      fc.array(frames, { minLength: 1, maxLength: AT_ONCE }),
      async (sent) => {
        if (client.ws.readyState !== client.ws.OPEN) client = await open();
        const texts = sent.map((frame, i) =>
          typeof frame === "string"
            ? frame
            : JSON.stringify([frame[0], `n${i}`, frame[1]]),
        );
        for (const text of texts) client.send(text);
        let answers = 0;
        let reloaded = false;
        const ended = client.closed.then(() => "ended" as const);
        client.sendFrame("ping", "last");
        for (;;) {
          // Rules that lock everybody out can be set by who may set rules.
          const frame = await Promise.race([client.frame(), ended]);
          if (!Array.isArray(frame)) {
            reloaded = true;
            break;
          }
          if (frame[0] === "pong" && frame[1] === "last") break;
          if (frame[0] === "connection.reload") {
            reloaded = true;
            break;
          }
          if (["success", "error", "pong"].includes(frame[0])) answers++;
          const { code } = (frame.at(-1) ?? {}) as { code?: string };
          if (frame[0] !== "error") continue;
          if (code === "server.fatal" || code === "server.unavailable") {
            throw new Error(`${code} after ${JSON.stringify(texts)}`);
          }
        }
        if (reloaded) {
          await soon(client.closed);
          await live.app.store.worlds.configure("demo", {
            permission_config: { ...all, "world.update": ["boss"] },
          });
        } else if (answers !== texts.length) {
          throw new Error(`${answers} answers to ${JSON.stringify(texts)}`);
        }
        const { status } = await fetch(
          `${live.baseUrl}/api/v1/worlds/demo/rooms/`,
          {
            headers: {
              authorization: `Bearer ${live.tokenOf({ traits: ["boss"] })}`,
            },
          },
        );
        if (status >= 500) throw new Error(`${status}`);
        const errors = live.log.filter(({ level }) => level >= 50);
        if (errors.length > 0) throw new Error(JSON.stringify(errors));
      },
    ),
    { seed, numRuns },
  );
});

void t.test("nor before the login", async (t) => {
  const live = await startLive(t, {
    commandsPerSecond: 1_000_000,
    // Some of the frames are larger than a stranger may send.
    maxFrame: 1024 * 1024,
  });
  const client = await live.connect();
  const credentials = fc.oneof(
    fc.record(
      { token: fc.anything(), client_id: fc.anything() },
      { requiredKeys: [] },
    ),
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
        const text =
          typeof sent === "string" ? sent : json(["authenticate", 1, sent[1]]);
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

/** As JSON; what JSON cannot say is left out. */
const json = (value: unknown): string =>
  JSON.stringify(value, (_, inner: unknown) =>
    typeof inner === "bigint" ? String(inner) : inner,
  );
