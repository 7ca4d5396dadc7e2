import { configOf } from "../stack.js";
import t, { type Test } from "tap";
import { createApp } from "../../app.js";
import type { Live, LiveOptions, SentEvent } from "../../client/index.js";
import { startTestServer } from "../../testing.js";
import { putDatabase } from "../database.js";
import {
  keyOf,
  listen,
  startFoyer,
  tokenOf,
  until,
  worldOf,
} from "../helper.js";
import { take } from "../client/fake-chat.js";
import { liveOf, next, rejection } from "../client/fake-server.js";
import { testdir } from "../testdir.js";

// The channels of the live client and the real server.

const names = { ada: "Ada", ben: "Ben" };

/** A client of somebody with a name. Ada may do everything. */
function person(
  t: Test,
  baseUrl: string,
  uid: keyof typeof names,
  options: Partial<LiveOptions> = {},
): Live {
  const traits = uid === "ada" ? ["admin", "api"] : [];
  const profile = { display_name: names[uid] };
  const token = tokenOf(keyOf("demo"), { uid, traits, profile });
  return liveOf(t, { baseUrl }, { token, ...options });
}

/** Creates a room with a chat. */
async function createRoom(live: Live, config = {}): Promise<string> {
  const { room } = await live.call("room.create", {
    name: "Hall",
    description: null,
    modules: [{ type: "chat.native", config }],
  });
  return room;
}

const bodies = (events: SentEvent[]) =>
  events.map(({ content }) => content.body ?? content.membership);

/** A server in this process, with a world. */
async function start(t: Test): Promise<string> {
  const server = await startTestServer();
  t.teardown(() => server.close());
  const { config } = worldOf("demo");
  await server.createWorld({
    id: "demo",
    config,
    permission_config: {
      ...worldOf("demo").permission_config,
      "chat.moderate": ["admin"],
    },
  });
  return server.baseUrl;
}

void t.test("two people talk", async (t) => {
  const baseUrl = await start(t);
  const ada = person(t, baseUrl, "ada");
  const ben = person(t, baseUrl, "ben");
  const room = await createRoom(ada);
  await ben.connected();
  const hall = ada.channel(room);
  const his = ben.channel(room);
  t.match(await rejection(his.send("Hi")), { code: "chat.denied" });
  await hall.join();
  await his.join();
  t.match(ben.state!.channels, [{ id: room }]);
  t.same(bodies(await hall.history()), ["join", "join"]);

  const events = hall.events({ after: 0 });
  const { event_id } = await his.send(`Hi @${ada.state!.user.id}`);
  const [, , hi] = await take(events, 3);
  t.equal(hi!.event_id, event_id);
  t.match(hall.users.get(hi!.sender!), { profile: { display_name: "Ben" } });
  await until(() => hall.isUnread && hall.notifications === 1);
  hall.markRead();
  await until(() => !hall.isUnread && hall.notifications === 0);
  t.equal(hall.readPointer, event_id);
  t.equal(his.isUnread, false);

  const reacted = new Promise<SentEvent>((done) => his.onReaction(done));
  const hisEvents = his.events();
  await his.send("Anybody?");
  await take(hisEvents, 1);
  await hall.react(event_id, "👍");
  t.match(await reacted, {
    event_id,
    reactions: { "👍": [ada.state!.user.id] },
  });
  await hall.unreact(event_id, "👍");

  const edited = his.edit(event_id, "Hello");
  const deleted = hall.delete((await take(events, 1))[0]!.event_id);
  t.match(await edited, { replaces: event_id, content: { body: "Hello" } });
  t.match(await deleted, { content: { type: "deleted" } });
  const all = await hall.history();
  t.match(all, [
    {},
    {},
    { edited: String, content: { body: "Hello" } },
    { content: { type: "deleted" } },
    { replaces: event_id },
    { content: { type: "deleted" } },
  ]);
  t.match(await rejection(his.edit(event_id + 1, "No")), {
    code: "chat.denied",
  });
  t.match(await rejection(his.delete(999_999)), { code: "chat.unknown_event" });
  const { id } = await ada.call("chat.direct.create", {
    users: [ben.state!.user.id],
  });
  await ada.channel(id).send("Psst");
  await until(() => ben.channel(id).notifications === 1);
  t.match(ben.state!.channels, [{ id: room }, { id, members: [{}, {}] }]);
  t.equal(ben.channel(id).isUnread, true);

  await his.leave();
  t.same(ben.state!.channels.length, 1);
  await ada.call("room.delete", { room });
  t.match(await rejection(take(hisEvents, 10)), { code: "room.unknown" });
  t.match(await rejection(hall.send("Nobody?")), { code: "room.unknown" });
});

void t.test("a channel is lost with the right to read it", async (t) => {
  const baseUrl = await start(t);
  const ada = person(t, baseUrl, "ada");
  const ben = person(t, baseUrl, "ben");
  const room = await createRoom(ada);
  await ben.connected();
  const events = ben.channel(room).events();
  const lost = rejection(events.next());
  await ben.call("user.list.blocked");
  await ada.call("room.config.patch", {
    room,
    trait_grants: { "chat.read": ["admin"] },
  });
  t.match(await lost, { code: "protocol.denied" });
});

void t.test("volatile members are members again after a restart", async (t) => {
  const dataDir = testdir(t);
  await putDatabase(dataDir, [worldOf("demo")]);
  const config = await configOf(dataDir);
  const before = createApp({ config });
  const port = await listen(before);
  const ada = person(t, `http://127.0.0.1:${port}`, "ada");
  const room = await createRoom(ada, { volatile: true });
  const hall = ada.channel(room);
  const events = hall.events();
  await hall.join();
  await hall.send("One");
  const gone = next(ada, "client.disconnected");
  await before.close();
  await gone;
  const message = hall.send("Two");
  const after = createApp({ config });
  t.teardown(() => after.close());
  await after.listen({ host: "127.0.0.1", port });
  t.match(await message, { content: { body: "Two" } });
  t.same(bodies(await take(events, 2)), ["One", "Two"]);
  t.same(ada.state!.channels, []);
});

void t.test("the server is killed again and again", async (t) => {
  const dataDir = testdir(t);
  await putDatabase(dataDir, [worldOf("demo")]);
  // No limit is to be in the way of two hundred messages.
  const env = { LIVE_MESSAGES_PER_SECOND: "1000" };
  let server = await startFoyer(t, dataDir, [], env);
  const { port } = server;
  const baseUrl = `http://127.0.0.1:${port}`;
  const options = { timeout: 60_000 };
  const ada = person(t, baseUrl, "ada", options);
  const ben = person(t, baseUrl, "ben", options);
  const room = await createRoom(ada);
  await ben.connected();
  await ben.channel(room).join();
  const events = ada.channel(room).events({ after: 0 });
  await take(events, 1);
  const sent: string[] = [];
  const kills = [40, 41, 120];
  const sending = (async () => {
    for (let i = 1; i <= 200; i++) {
      sent.push(`${i}`);
      const message = ben.channel(room).send(`${i}`);
      // Not awaited, so that messages wait, and one is under way.
      message.catch((error: unknown) => t.fail(String(error)));
      if (i % 10 === 0) await message;
    }
  })();
  const got: SentEvent[] = [];
  for (const count of kills) {
    got.push(...(await take(events, count - got.length)));
    const gone = next(ada, "client.disconnected");
    server.signal("SIGKILL");
    await server.finished;
    await gone;
    server = await startFoyer(t, dataDir, [], { ...env, PORT: String(port) });
  }
  await sending;
  got.push(...(await take(events, sent.length - got.length)));
  t.same(bodies(got), sent, "each once, and in order");
  const ids = got.map(({ event_id }) => event_id);
  t.same(
    ids,
    [...ids].sort((a, b) => a - b),
  );
  const stored = await ada.channel(room).history({ count: 1000 });
  t.same(bodies(stored), ["join", ...sent], "and nothing else is stored");
});
