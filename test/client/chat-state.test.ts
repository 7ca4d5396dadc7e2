import t, { type Test } from "tap";
import type { Authenticated, SentRoom } from "../../client/index.js";
import { until } from "../helper.js";
import { BEN, person, startChat, takeIds } from "./fake-chat.js";
import {
  ATTIC,
  HALL,
  liveOf,
  next,
  rejection,
  welcome,
  type Peer,
} from "./fake-server.js";

// Memberships, read pointers and notifications.

const direct = {
  id: ATTIC,
  unread_pointer: 7,
  members: [person(BEN)],
};

const hall = (
  config: Record<string, unknown>,
  ...permissions: string[]
): SentRoom => ({
  ...welcome["world.config"].rooms[0]!,
  permissions,
  modules: [{ type: "chat.native", config, channel_id: HALL }],
});

/** A client whose login is answered with other things. */
async function start(
  t: Test,
  changes: Partial<Authenticated> = {},
  room = hall({}),
) {
  const { server, chat } = await startChat(t);
  const answer = {
    ...welcome,
    ...changes,
    "world.config": { ...welcome["world.config"], rooms: [room] },
  };
  chat.intercept = (peer, name) => {
    if (name === "authenticate") peer.send(["authenticated", answer]);
    return name === "authenticate";
  };
  const errors: unknown[] = [];
  const onError = (error: unknown) => void errors.push(error);
  const live = liveOf(t, server, { onError });
  await live.connected();
  const reconnect = async () => {
    const gone = next(live, "client.disconnected");
    server.peers.at(-1)!.drop();
    await gone;
    await live.connected();
  };
  const peer = () => server.peers.at(-1)!;
  return { server, chat, live, answer, errors, reconnect, peer };
}

/** Sends a push, and waits until the client has read it. */
async function push(peer: Peer, live: { on: unknown }, ...frame: unknown[]) {
  const read = next(live as never, frame[0] as string);
  peer.send(frame);
  await read;
}

void t.test("pointers and notifications", async (t) => {
  const { live, peer } = await start(t, {
    "chat.channels": [{ id: HALL, unread_pointer: 3 }, direct],
    "chat.read_pointers": { [HALL]: 3, [ATTIC]: 5 },
    "chat.notification_counts": { [ATTIC]: 2 },
  });
  const room = live.channel(HALL);
  const dm = live.channel(ATTIC);
  const now = () => [
    [room.readPointer, room.isUnread, room.notifications],
    [dm.readPointer, dm.isUnread, dm.notifications],
  ];
  t.match(live.state?.channels, [{ id: HALL }, { id: ATTIC, members: [{}] }]);
  const event = { event_id: 8, channel: ATTIC, sender: BEN, content: {} };
  const steps: [name: string, data: object, state: unknown[]][] = [
    ["", {}, [[3, false, 0], [5, true, 2]]],
    ["chat.unread_pointers", { [HALL]: 4 }, [[3, true, 0], [5, true, 2]]],
    ["chat.read_pointers", { [HALL]: 4 }, [[4, false, 0], [5, true, 2]]],
    [
      "chat.notification",
      { event, sender: person(BEN) },
      [[4, false, 0], [5, true, 3]],
    ],
    ["chat.notification_counts", { [HALL]: 1 }, [[4, false, 1], [5, true, 0]]],
    [
      "chat.channels",
      { channels: [{ id: HALL, unread_pointer: 9 }] },
      [[4, true, 1], [5, false, 0]],
    ],
  ]; // prettier-ignore
  const told: unknown[] = [];
  live.on("client.state", (state) => told.push(state));
  for (const [name, data, state] of steps) {
    const before = live.state;
    if (name) await push(peer(), live, name, data);
    t.same(now(), state, name);
    t.equal(live.state === before, name === "", "a new object");
    t.equal(
      told.pop(),
      name === "" ? undefined : live.state,
      "the caller gets it",
    );
    t.same(told, [], "once");
  }
  const unknown = live.channel("unknown");
  t.same([unknown.isUnread, unknown.notifications], [false, 0]);
});

void t.test("the server tells the others only", async (t) => {
  const { live, chat } = await start(t);
  const intercept = chat.intercept;
  chat.intercept = (peer, name, id, payload) => {
    const isDirect = name === "chat.direct.create";
    if (isDirect) peer.send(["success", id, { ...chat.state(), ...direct }]);
    return isDirect || intercept(peer, name, id, payload);
  };
  const ids = () => live.state!.channels.map(({ id }) => id);
  let told: unknown;
  live.on("client.state", (state) => (told = state));
  await live.channel(HALL).join();
  t.same(ids(), [HALL]);
  await live.channel(HALL).join();
  t.same(ids(), [HALL]);
  await live.call("chat.direct.create", { users: [BEN] });
  t.same(ids(), [HALL, ATTIC]);
  t.equal(told, live.state);
  t.same(live.state!.channels[1], direct);
  t.equal(live.channel(ATTIC).isUnread, true);
  const payload = { channel: ATTIC, id: "7" };
  const marked = live.call("chat.mark_read", payload);
  payload.id = "changed afterwards";
  await marked;
  t.equal(live.channel(ATTIC).readPointer, 7);
  await live.channel(HALL).leave();
  t.same(ids(), [ATTIC]);
});

void t.test("marking as read", async (t) => {
  const { live, chat, server, errors, reconnect } = await start(t);
  const intercept = chat.intercept;
  const marks: unknown[] = [];
  let fault: "drop" | "chat.unknown" | undefined;
  chat.intercept = (peer, name, id, payload) => {
    if (name !== "chat.mark_read") return intercept(peer, name, id, payload);
    marks.push((payload as { id?: number }).id);
    if (fault === "drop") peer.drop();
    else if (fault) peer.send(["error", id, { code: fault }]);
    else peer.send(["success", id, {}]);
    fault = undefined;
    return true;
  };
  const channel = live.channel(HALL);
  channel.markRead();
  for (let i = 0; i < 9; i++) chat.store(HALL);
  await channel.history({ before: 6 });
  channel.markRead();
  channel.markRead(6);
  channel.markRead(4);
  channel.markRead(7);
  await until(() => marks.length === 2);
  t.same(marks, [5, 7], "the first at once, then the last");
  await until(() => channel.readPointer === 7);

  fault = "drop";
  channel.markRead(8);
  await until(() => channel.readPointer === 8);
  t.same(marks, [5, 7, 8, 8], "again after a break");
  fault = "chat.unknown";
  channel.markRead(9);
  await until(() => errors.length > 0);
  t.match(errors, [{ code: "chat.unknown" }]);
  await reconnect();
  t.equal(marks.length, 5);
  channel.markRead(9);
  live.close();
  channel.markRead(9);
  t.equal(errors.length, 1);
  t.ok(server.peers.length > 1);
});

void t.test("which memberships are renewed", async (t) => {
  const moderator = "room:chat.moderate";
  const cases: [
    name: string,
    room: SentRoom,
    options: { volatile?: boolean },
    isVolatile: boolean,
  ][] = [
    ["a lasting one", hall({}), {}, false],
    ["the channel of a volatile room", hall({ volatile: true }), {}, true],
    ["one without the choice", hall({}), { volatile: true }, false],
    ["the same", hall({ volatile: true }), { volatile: false }, true],
    ["a moderator's", hall({}, moderator), { volatile: true }, true],
    [
      "a lasting one of a moderator",
      hall({ volatile: true }, moderator),
      { volatile: false },
      false,
    ],
  ];
  for (const [name, room, options, isVolatile] of cases) {
    const { live, reconnect, peer } = await start(t, {}, room);
    await live.channel(HALL).join(options);
    const { channels } = live.state!;
    t.equal(channels.length, isVolatile ? 0 : 1, name);
    await reconnect();
    await live.call("user.list");
    t.same(
      peer().frames.slice(1),
      [
        ...(isVolatile
          ? [["chat.join", 1, { channel: HALL, ...options }]]
          : []),
        ["user.list", isVolatile ? 2 : 1, null],
      ],
      name,
    );
    live.close();
  }
});

void t.test("a volatile membership and its end", async (t) => {
  const room = hall({ volatile: true });
  const { live, chat, answer, errors, reconnect, peer, server } = await start(
    t,
    {},
    room,
  );
  const channel = live.channel(HALL);
  await channel.join();
  // The subscription carries the membership.
  const events = channel.events();
  await until(() => peer().names.includes("chat.subscribe"));
  await events.return!();
  await live.call("user.list");
  t.notOk(peer().names.includes("chat.unsubscribe"));

  // It joins before it sends what waits.
  await reconnect();
  await live.call("user.list");
  t.same(peer().names, ["authenticate", "chat.join", "user.list"]);

  // Another user's client made it last.
  const lasting = { "chat.channels": [{ id: HALL, unread_pointer: 0 }] };
  Object.assign(answer, lasting);
  await reconnect();
  await live.call("user.list");
  t.notOk(peer().names.includes("chat.join"));
  Object.assign(answer, { "chat.channels": [] });
  await reconnect();
  await live.call("user.list");
  t.notOk(peer().names.includes("chat.join"));

  await channel.join();
  const intercept = chat.intercept;
  chat.intercept = (peer, name, id, payload) => {
    if (name !== "chat.join") return intercept(peer, name, id, payload);
    peer.send(["error", id, { code: "protocol.denied" }]);
    return true;
  };
  await reconnect();
  await until(() => errors.length > 0);
  t.match(errors, [{ code: "protocol.denied" }]);
  t.match(await rejection(channel.join()), { code: "protocol.denied" });
  chat.intercept = intercept;
  await reconnect();
  await live.call("user.list");
  t.notOk(peer().names.includes("chat.join"), "it does not try again");

  // It was left while there was no connection.
  await channel.join();
  server.isFull = true;
  const gone = next(live, "client.disconnected");
  peer().drop();
  await gone;
  const left = channel.leave();
  server.isFull = false;
  await left;
  t.same(peer().names, ["authenticate", "chat.leave"]);
});

void t.test("who leaves may read on", async (t) => {
  const { live, chat, peer } = await start(t);
  const channel = live.channel(HALL);
  const events = channel.events();
  await channel.join();
  chat.add(HALL);
  t.same(await takeIds(events, 1), [1]);
  const intercept = chat.intercept;
  chat.intercept = (peer, name, id, payload) => {
    if (name === "chat.leave") setImmediate(() => chat.add(HALL));
    return intercept(peer, name, id, payload);
  };
  await channel.leave();
  t.same(await takeIds(events, 1), [2]);
  t.equal(chat.subscribers(HALL), 1);
  t.equal(peer().names.filter((it) => it === "chat.subscribe").length, 2);
});
