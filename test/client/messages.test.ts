import t, { type Test } from "tap";
import type { SentEvent } from "../../client/index.js";
import { until } from "../helper.js";
import { ADA, BEN, startChat, takeIds, type FakeChat } from "./fake-chat.js";
import {
  ATTIC,
  HALL,
  liveOf,
  next,
  rejection,
  type FakeServer,
  type Peer,
} from "./fake-server.js";

// What a client sends to a channel.

/** The texts that the server has stored. */
const texts = ({ events }: FakeChat) =>
  events.map(({ content }) => content.body);

const text = (body: string) => ({ type: "text", body });

/** All commands that came in, in their order, but for logins. */
const commands = (server: FakeServer): unknown[] =>
  server.peers
    .flatMap(({ names }) => names)
    .filter((name) => name !== "authenticate");

/** A client and a server that executes a command and breaks before the answer. */
async function breaking(
  t: Test,
  isExecuted: (sends: number) => boolean,
  isBroken: (sends: number) => boolean,
) {
  const { server, chat } = await startChat(t);
  let sends = 0;
  chat.intercept = (peer, name, _, payload) => {
    if (name !== "chat.send") return false;
    const number = ++sends;
    if (!isBroken(number)) return false;
    if (isExecuted(number)) {
      const { content, channel, replaces } = payload;
      chat.push(chat.store(channel!, content, ADA, replaces ?? null));
    }
    peer.drop();
    return true;
  };
  return { server, chat, live: liveOf(t, server), sends: () => sends };
}

void t.test(
  "a message is shown at once, and resolves to its event",
  async (t) => {
    const { server, chat } = await startChat(t);
    const live = liveOf(t, server);
    const content = {
      type: "text",
      body: "Hi",
      files: ["a"],
      local_id: "mine",
    };
    const message = live.channel(HALL).send(content);
    content.files.push("b");
    t.match(message.localId, /^[0-9a-f]{32}$/);
    t.same(message.content, {
      ...{ type: "text", body: "Hi", files: ["a"] },
      local_id: message.localId,
    });
    const event = await message;
    t.same(event, chat.events[0]);
    t.same(event.content, message.content);
    const other = live.channel(HALL).send("Hi");
    t.not(other.localId, message.localId);
    t.match(await other, { content: { type: "text", body: "Hi" } });
    t.same(server.peers[0]!.frames.at(-1), [
      "chat.send",
      3,
      {
        channel: HALL,
        event_type: "channel.message",
        content: other.content,
      },
    ]);
  },
);

void t.test("exactly once, in order", async (t) => {
  const all = () => true;
  const none = () => false;
  const odd = (n: number) => n % 2 === 1;
  const third = (n: number) => n % 3 === 0;
  const upTo = (max: number) => (n: number) => n <= max;
  const cases: [
    name: string,
    isExecuted: (n: number) => boolean,
    isBroken: (n: number) => boolean,
    sends: number,
  ][] = [
    ["all arrive, no answer does", all, all, 6],
    ["the first is lost three times", none, upTo(3), 9],
    ["each is lost once", none, odd, 12],
    ["some arrive, some are lost", third, upTo(5), 10],
  ];
  for (const [name, isExecuted, isBroken, sends] of cases) {
    const it = await breaking(t, isExecuted, isBroken);
    const channel = it.live.channel(HALL);
    const others = it.live.channel(ATTIC);
    const events = channel.events();
    await until(() => it.chat.subscribers(HALL) > 0);
    const bodies = ["1", "2", "3", "4", "5", "6"];
    const messages = bodies.map((body) => channel.send(body));
    t.same(
      (await Promise.all(messages)).map(({ content }) => content.body),
      bodies,
      name,
    );
    t.same(texts(it.chat), bodies, name);
    t.same(await takeIds(events, 6), [1, 2, 3, 4, 5, 6], name);
    t.equal(it.sends(), sends, name);
    t.match(await others.send("7"), { channel: ATTIC, event_id: 7 });
    it.live.close();
  }
});

void t.test("it looks for the message wherever it may be", async (t) => {
  const { server, chat } = await startChat(t);
  const live = liveOf(t, server);
  chat.store(HALL);
  let sends = 0;
  chat.intercept = (peer, name, _, { channel, content }) => {
    if (name !== "chat.send" || ++sends > 1) return false;
    // Many others say something meanwhile, some of them the very same.
    for (let i = 0; i < 300; i++) chat.store(channel!, text("Hi"));
    chat.store(channel!, text("Hi"), ADA);
    chat.store(channel!, { ...content, type: "text" }, BEN);
    chat.store(channel!, content, ADA);
    for (let i = 0; i < 300; i++) chat.store(channel!);
    peer.drop();
    return true;
  };
  // The channel is not read, so the client asks for the last event first.
  t.match(await live.channel(HALL).send("Hi"), { event_id: 304 });
  t.same(commands(server), [
    "chat.fetch",
    "chat.send",
    "chat.fetch",
    "chat.fetch",
  ]);
});

void t.test("an answer that never comes", async (t) => {
  const { server, chat } = await startChat(t);
  const live = liveOf(t, server, { timeout: 50 });
  let sends = 0;
  chat.intercept = (_, name, __, { channel, content }) => {
    if (name !== "chat.send" || ++sends > 2) return false;
    if (sends === 2) chat.store(channel!, content, ADA);
    return true;
  };
  t.match(await live.channel(HALL).send("Hi"), { event_id: 1 });
  t.equal(sends, 2);
});

void t.test("a server that lost its database", async (t) => {
  const { server, chat } = await startChat(t);
  const live = liveOf(t, server);
  let sends = 0;
  chat.intercept = (peer, name, id, { channel, content }) => {
    if (name !== "chat.send" || ++sends > 2) return false;
    // The second one was stored all the same.
    if (sends === 2) chat.store(channel!, content, ADA);
    peer.send(["error", id, { code: "server.doubtful" }]);
    return true;
  };
  t.match(await live.channel(HALL).send("Hi"), { event_id: 1 });
  t.same(texts(chat), ["Hi"]);
  t.equal(sends, 2, "it was sent again only while it was not there");
});

void t.test(
  "it waits for a connection without a limit, or with one",
  async (t) => {
    const { server, chat } = await startChat(t);
    server.isFull = true;
    const live = liveOf(t, server, { timeout: 20 });
    const channel = live.channel(HALL);
    const waiting = channel.send("1");
    t.match(await rejection(channel.send("2", { timeout: 60 })), {
      code: "client.timeout",
    });
    server.isFull = false;
    t.match(await waiting, { content: { body: "1" } });
    await channel.send("3");
    t.same(texts(chat), ["1", "3"]);
  },
);

void t.test("a message is not sent again after its time", async (t) => {
  const { server, chat } = await startChat(t);
  const live = liveOf(t, server);
  await live.connected();
  let sends = 0;
  chat.intercept = (peer, name) => {
    if (name !== "chat.send" || ++sends > 1) return false;
    server.isFull = true;
    peer.drop();
    return true;
  };
  const channel = live.channel(HALL);
  const late = [
    rejection(channel.send("1", { timeout: 150 })),
    rejection(channel.send("2", { timeout: 150 })),
  ];
  for (const error of late) t.match(await error, { code: "client.timeout" });
  server.isFull = false;
  await channel.send("3");
  t.same(texts(chat), ["3"]);
  t.equal(sends, 2);
});

void t.test("refusals", async (t) => {
  const codes = [
    "chat.denied",
    "protocol.denied",
    "server.unavailable",
    "chat.empty",
    "room.unknown",
  ];
  const { server, chat } = await startChat(t);
  const live = liveOf(t, server);
  const channel = live.channel(HALL);
  let code: string | undefined;
  chat.intercept = (peer, name, id) => {
    if (name !== "chat.send" || !code) return false;
    peer.send(["error", id, { code }]);
    return true;
  };
  for (code of codes) {
    t.match(await rejection(channel.send("No.")), { code });
  }
  code = undefined;
  t.ok(await channel.send("Yes."), "the next one is not in its way");
  t.same(texts(chat), ["Yes."]);

  const circle: Record<string, unknown> = {};
  circle.circle = circle;
  t.throws(() => channel.send({ type: "text", circle }), TypeError);

  chat.intercept = (_, name) => name === "chat.send";
  const messages = Array.from({ length: 201 }, () =>
    rejection(channel.send("Hi")),
  );
  t.match(await messages[200], { code: "client.overloaded" });
  live.close();
  for (const message of messages.slice(0, 200)) {
    t.match(await message, { code: "client.closed" });
  }
  t.match(await rejection(channel.send("Hi")), { code: "client.closed" });
});

void t.test("it is unknown whether it arrived", async (t) => {
  const cases: [
    name: string,
    happens: (chat: FakeChat, content: Record<string, unknown>) => void,
    refused: string[],
  ][] = [
    [
      "it, or another one, was deleted",
      (chat) => {
        const deleted = chat.store(HALL, { type: "deleted" }, ADA);
        deleted.edited = deleted.timestamp;
      },
      [],
    ],
    [
      "it, or another one, was edited",
      (chat) => {
        chat.store(HALL, text("Ho"), ADA).edited = "2026-01-01T00:00:00.000Z";
      },
      [],
    ],
    ["the right to read is gone", () => {}, ["chat.fetch"]],
  ];
  for (const [name, happens, refused] of cases) {
    const { server, chat } = await startChat(t);
    const live = liveOf(t, server);
    chat.store(HALL);
    let isBroken = false;
    chat.intercept = (peer, command, id, { content }) => {
      if (isBroken && refused.includes(command)) {
        peer.send(["error", id, { code: "protocol.denied" }]);
        return true;
      }
      if (command !== "chat.send") return false;
      happens(chat, content!);
      isBroken = true;
      peer.drop();
      return true;
    };
    const message = live.channel(HALL).send("Hi");
    t.match(await rejection(message), { code: "client.disconnected" }, name);
    live.close();
  }
});

void t.test("who may not read may send", async (t) => {
  const { server, chat } = await startChat(t);
  const live = liveOf(t, server);
  chat.intercept = (peer, name, id) => {
    if (name === "chat.fetch")
      peer.send(["error", id, { code: "protocol.denied" }]);
    return name === "chat.fetch";
  };
  t.match(await live.channel(HALL).send("Hi"), { event_id: 1 });
});

void t.test("edits and deletions", async (t) => {
  const it = await breaking(
    t,
    (n) => n % 2 === 0,
    (n) => n > 1 && n < 6,
  );
  const channel = it.live.channel(HALL);
  const { event_id } = await channel.send("One");
  // Executed without an answer; lost, then executed without an answer.
  const edited = channel.edit(event_id, "Two");
  const deleted = channel.delete(event_id);
  t.match(await edited, { event_id: 2, replaces: 1, content: { body: "Two" } });
  t.match(await deleted, { event_id: 3, replaces: 1 });
  t.equal(it.sends(), 4);
  t.same(
    it.chat.events.map(({ content, replaces }) => [content.type, replaces]),
    [
      ["text", null],
      ["text", 1],
      ["deleted", 1],
    ],
  );
});

void t.test("reactions", async (t) => {
  const { server, chat } = await startChat(t);
  const live = liveOf(t, server);
  const channel = live.channel(HALL);
  const seen: SentEvent[] = [];
  const stop = channel.onReaction((event) => void seen.push(event));
  const event = chat.store(HALL);
  await channel.react(1, "👍");
  await channel.unreact(1, "👍");
  const [peer] = server.peers;
  t.same(peer!.frames.slice(1), [
    [
      "chat.react",
      1,
      { channel: HALL, event: 1, reaction: "👍", delete: false },
    ],
    [
      "chat.react",
      2,
      { channel: HALL, event: 1, reaction: "👍", delete: true },
    ],
  ]);
  const push = async (channel: string) => {
    const pushed = next(live, "chat.event.reaction");
    const data = { ...event, channel, reactions: { "👍": [BEN] }, users: {} };
    peer!.send(["chat.event.reaction", data]);
    await pushed;
  };
  await push(HALL);
  await push(ATTIC);
  t.match(seen, [{ event_id: 1, reactions: { "👍": [BEN] } }]);
  t.equal(seen.length, 1);
  stop();
  await push(HALL);
  t.equal(seen.length, 1);
});

void t.test("the history", async (t) => {
  const { server, chat } = await startChat(t);
  const live = liveOf(t, server);
  const channel = live.channel(HALL);
  t.same(await channel.history(), []);
  for await (const page of channel.pages()) t.same(page, "none");
  for (let i = 0; i < 60; i++) chat.store(HALL);
  const ids = (page: SentEvent[]) => page.map(({ event_id }) => event_id);
  const page = await channel.history({ before: 4, count: 2 });
  t.same(page, chat.events.slice(1, 3));
  const pages: number[][] = [];
  for await (const page of channel.pages()) pages.push(ids(page));
  t.same(
    pages.map((page) => [page[0], page.at(-1)]),
    [
      [36, 60],
      [11, 35],
      [1, 10],
    ],
  );
  const even: number[][] = [];
  for await (const page of channel.pages({ before: 5, count: 2 }))
    even.push(ids(page));
  t.same(even, [
    [3, 4],
    [1, 2],
  ]);
});

void t.test("the users", async (t) => {
  const { server, chat } = await startChat(t);
  const live = liveOf(t, server);
  const { users } = live.channel(HALL);
  chat.store(HALL, undefined, "a");
  await live.channel(HALL).history();
  // The server tells of a user once, whatever the channel.
  const events = live.channel(ATTIC).events();
  await until(() => chat.subscribers(ATTIC) > 0);
  chat.push(chat.store(ATTIC, undefined, "b"));
  await takeIds(events, 1);
  t.same([...users.keys()], ["a", "b"]);
  t.match(users.get("b"), { profile: { display_name: "b" } });
  t.equal(live.channel(ATTIC).users, users);

  const peer = server.peers[0] as Peer;
  const renamed = { ...users.get("a")!, profile: { display_name: "Al" } };
  const event = { ...chat.events[0]!, type: "chat.event" };
  const told = next(live, "chat.notification");
  peer.send(["chat.notification", { event, sender: renamed }]);
  await told;
  t.match(users.get("a"), { profile: { display_name: "Al" } });

  const crowd = Object.fromEntries(
    Array.from({ length: 10_000 }, (_, i) => [`${i}`, { id: `${i}` }]),
  );
  const heard = next(live, "chat.event");
  peer.send(["chat.event", { ...chat.events[1]!, users: crowd }]);
  await heard;
  t.equal(users.size, 10_000);
  t.notOk(users.has("a"), "the oldest are forgotten");
});

void t.test("too many messages are repeated, in their order", async (t) => {
  const { server, chat } = await startChat(t);
  const live = liveOf(t, server);
  const channel = live.channel(HALL);
  const ids = new Set<unknown>();
  let refusals = 2;
  chat.intercept = (peer, name, id, { content }) => {
    if (name !== "chat.send") return false;
    ids.add(content?.local_id);
    if (refusals-- <= 0) return false;
    peer.send(["error", id, { code: "protocol.rate_limited" }]);
    return true;
  };
  await Promise.all(["1", "2", "3"].map((text) => channel.send(text)));
  t.same(texts(chat), ["1", "2", "3"]);
  t.equal(ids.size, 3, "each keeps its local_id");
});
