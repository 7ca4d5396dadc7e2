import t from "tap";
import type { Client, Frame, Json } from "../live/client.js";
import { keys, pollStates, startVotes } from "./kit.js";

// Section 10 and 4.5: a poll that opens is an event of the chat.

const PUSHED = [
  "channel",
  "content",
  "edited",
  "event_id",
  "event_type",
  "reactions",
  "replaces",
  "sender",
  "timestamp",
  "users",
];

void t.test("10 channel.poll", async (t) => {
  const votes = await startVotes(t);
  const host = await votes.host();

  const set = (poll: Json, changes: object, by: Client = host) =>
    by.do("poll.update", { room: poll.room_id, id: poll.id, ...changes });
  const history = async (channel: string): Promise<Json[]> => {
    const page = { channel, count: 100, before_id: "9223372036854775807" };
    return (await host.do("chat.fetch", page)).results;
  };
  const chats = (frames: Frame[] = []) =>
    frames.filter(([name]) => name === "chat.event").map(([, data]) => data);

  await t.test("10 once, when a draft opens", async (t) => {
    const room = await votes.room({ chat: true });
    const listener = await votes.person("listener");
    await listener.do("chat.subscribe", { channel: room });
    const inRoom = await votes.entered(room, "in room");
    const manager = await votes.person("opener", ["admin"]);
    const people = { listener, inRoom };
    const poll = await votes.poll(room, { state: "draft" });
    const heard = await votes.heard(people, { listener: 1, inRoom: 1 }, () =>
      set(poll, { state: "open", content: "Now?" }, manager),
    );
    const [event, ...others] = chats(heard.listener) as Json[];
    t.same(others, [], "once");
    t.same(chats(heard.inRoom), [], "to those who subscribed");
    t.same(keys(event), PUSHED);
    const { event_id, timestamp, users, ...rest } = event;
    t.same(rest, {
      channel: room,
      sender: manager.id,
      event_type: "channel.poll",
      content: { poll_id: poll.id, state: "open" },
      edited: null,
      replaces: null,
      reactions: {},
    });
    t.ok(Date.parse(timestamp) > 0);
    t.same(keys(users), [manager.id]);
    const stored = await history(room);
    t.same(
      stored.map(({ event_id }) => event_id),
      [event_id],
      "it is stored",
    );
    const { users: _users, ...stays } = event;
    t.same(stored[0], { ...stays, type: "chat.event" });
  });

  await t.test("10 no other change makes one", async (t) => {
    const room = await votes.room({ chat: true });
    for (const state of pollStates) await votes.poll(room, { state });
    t.same(await history(room), [], "creating a poll, whatever its state");
    for (const before of pollStates) {
      for (const after of pollStates) {
        const poll = await votes.poll(room, { state: before });
        const events = (await history(room)).length;
        await set(poll, { state: after });
        const more = (await history(room)).length - events;
        const opens = before === "draft" && after === "open";
        t.equal(more, opens ? 1 : 0, `${before} to ${after}`);
      }
    }
    const poll = await votes.poll(room, { state: "draft" });
    const events = (await history(room)).length;
    await set(poll, { content: "x" });
    await set(poll, {});
    await set(poll, { state: "open" });
    await set(poll, { state: "open" });
    await votes.vote(host, poll, 0);
    t.equal((await history(room)).length, events + 1);
    await set(poll, { state: "draft" });
    await set(poll, { state: "open" });
    t.equal((await history(room)).length, events + 2, "whenever it opens");
  });

  await t.test("10 a room without a chat has none", async (t) => {
    const room = await votes.room();
    const poll = await votes.poll(room, { state: "draft" });
    await set(poll, { state: "open" });
    await votes.alter(room, { chat: true });
    t.same(await history(room), []);
  });

  await t.test("10 a failing update makes none", async (t) => {
    const room = await votes.room({ chat: true });
    const poll = await votes.poll(room, { state: "draft" });
    const options = [{ id: "none", content: "x" }];
    const payload = { room, id: poll.id, state: "open", options };
    t.equal(
      await host.code("poll.update", payload),
      "protocol.invalid_payload",
    );
    t.same(await history(room), []);
    t.match(await votes.pollNow(room, poll.id), { state: "draft" });
  });
});
