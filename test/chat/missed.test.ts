import t from "tap";
import type { Client, Json } from "../live/client.js";
import { until } from "../helper.js";
import { startPair } from "./pair.js";

// Two servers lose what they tell each other, and read it in the log.

const named = (uid: string, traits: string[] = []) => ({
  uid,
  traits,
  profile: { display_name: uid },
});

const ROOM = {
  name: "Hall",
  module_config: [
    { type: "chat.native", config: {} },
    { type: "question", config: { active: true, requires_moderation: false } },
    { type: "poll", config: { active: true } },
  ],
};

void t.test("what was missed is made good", async (t) => {
  const pair = await startPair(t);
  const { one, two } = pair;
  const { value: hall } = await one.store.rooms.create("demo", ROOM);
  const room = hall.id;
  const boss = await one.person(named("boss", ["admin"]));
  const ann = await two.person(named("ann"));
  const mod = await two.person(named("mod", ["admin"]));
  const annToo = await one.person(named("ann"));
  for (const client of [boss, ann, mod])
    await client.do("room.enter", { room });
  const presence = two.app.live.presence;
  await until(() => presence.countIn("demo", room) === 3);

  /** What did not reach the other server. */
  const lost: string[] = [];

  /** Does something of which the other server gets no message. */
  async function missed(act: () => Promise<unknown>): Promise<void> {
    for (const client of [ann, mod]) await client.all();
    lost.length = 0;
    pair.link = (event) => {
      lost.push(JSON.stringify(event));
      return [];
    };
    await act();
    await new Promise(setImmediate);
    pair.link = (message) => [message];
  }

  let fences = 0;
  /** Waits until everything is sent that was decided before: two such pushes follow each other. */
  async function fence(): Promise<void> {
    for (let i = 0; i < 2; i++) {
      const title = `fence ${++fences}`;
      await boss.do("world.config.patch", { title });
      await ann.next("world.updated", ({ world }) => world.title === title);
    }
  }

  await t.test("rooms and the config", async (t) => {
    await missed(async () => {
      await boss.do("world.config.patch", { title: "Renamed" });
      await one.store.rooms.create("demo", { name: "Annex" });
    });
    const push = await ann.next("world.updated");
    t.equal(push.world.title, "Renamed");
    t.ok(push.rooms.some(({ name }: Json) => name === "Annex"));
    await missed(() =>
      one.store.rooms.schedule("demo", room, { title: "Now" }, undefined),
    );
    t.match(await ann.next("room.schedule"), {
      ...{ room, schedule_data: { title: "Now" } },
    });
  });

  await t.test("an announcement", async (t) => {
    let id = "";
    await missed(async () => {
      const payload = { text: "Lunch", state: "active" };
      const made = await boss.do("announcement.create", payload);
      id = made.announcement.id;
    });
    const name = "announcement.created_or_updated";
    t.equal((await ann.next(name)).text, "Lunch");
    await missed(() =>
      boss.do("announcement.update", { id, state: "archived" }),
    );
    t.match(await ann.next(name), { id, is_visible: false });
    await fence();
    t.notOk((await ann.names()).includes(name), "nothing is said twice");
  });

  await t.test("questions", async (t) => {
    const ask = async (content: string): Promise<string> =>
      (await boss.do("question.ask", { room, content })).question.id;
    const [kept, gone, hidden, voted] = [
      await ask("kept"),
      await ask("gone"),
      await ask("hidden"),
      await ask("voted"),
    ];
    for (const client of [ann, mod]) {
      const list: Json[] = await client.do("question.list", { room });
      t.equal(list.length, 4);
    }
    let added = "";
    await missed(async () => {
      added = await ask("added");
      await boss.do("question.delete", { room, id: gone });
      await boss.do("question.update", { room, id: hidden, state: "archived" });
      await boss.do("question.vote", { room, id: voted });
      await boss.do("question.pin", { room, id: kept });
    });
    for (const client of [ann, mod]) {
      const is = (id: string) => (data: Json) => data.question.id === id;
      const name = "question.created_or_updated";
      t.match(await client.next(name, is(added)), { question: { score: 0 } });
      t.match(await client.next(name, is(voted)), { question: { score: 1 } });
      await client.next("question.deleted", ({ id }) => id === gone);
      await client.next(name, is(hidden));
      t.match(await client.next("question.pinned"), { id: kept });
    }
    const frames = await mod.all();
    t.notOk(frames.some(([name]) => name === "question.deleted"));
    await ann.all();
    await fence();
    t.strictSame(
      (await ann.names()).filter((name) => name.startsWith("question")),
      [],
      "what is the same is not sent",
    );
  });

  await t.test("polls", async (t) => {
    const create = async (content: string, state = "open"): Promise<Json> =>
      (
        await boss.do("poll.create", {
          room,
          content,
          state,
          options: [{ content: "Yes" }],
        })
      ).poll;
    const [gone, hidden, voted] = [
      await create("gone"),
      await create("hidden"),
      await create("voted"),
    ];
    for (const client of [ann, mod]) {
      const list: Json[] = await client.do("poll.list", { room });
      t.equal(list.length, 3);
    }
    let added: Json;
    await missed(async () => {
      added = await create("added");
      await boss.do("poll.delete", { room, id: gone.id });
      await boss.do("poll.update", { room, id: hidden.id, state: "archived" });
      const options = [voted.options[0].id];
      await boss.do("poll.vote", { room, id: voted.id, options });
      await boss.do("poll.pin", { room, id: voted.id });
    });
    for (const client of [ann, mod]) {
      const is = (id: string) => (data: Json) => data.poll.id === id;
      const name = "poll.created_or_updated";
      await client.next(name, is(added.id));
      // Ann sees no results before she votes.
      if (client === mod) await client.next(name, is(voted.id));
      await client.next("poll.deleted", ({ id }) => id === gone.id);
      await client.next(name, is(hidden.id));
      t.match(await client.next("poll.pinned"), { id: voted.id });
    }
    await ann.all();
    await fence();
    t.strictSame(
      (await ann.names()).filter((name) => name.startsWith("poll")),
      [],
    );
  });

  await t.test("channels, and how far they are read", async (t) => {
    let channel = "";
    await missed(async () => {
      const made = await boss.do("chat.direct.create", {
        users: [ann.id],
        hide: false,
      });
      channel = made.id;
    });
    const { channels } = await ann.next("chat.channels");
    t.strictSame(
      channels.map(({ id }: Json) => id),
      [channel],
    );

    const text = { type: "text", body: "hello" };
    const said = { channel, event_type: "channel.message", content: text };
    const { event } = await boss.do("chat.send", said);
    await ann.next("chat.notification");
    await missed(async () => {
      await annToo.do("chat.mark_read", { channel, id: event.event_id });
      await until(() => one.app.live.chat.readStates.pending === 0);
    });
    const pointers = await ann.next("chat.read_pointers");
    t.strictSame(pointers, { [channel]: event.event_id });
    await ann.next("chat.notification_counts");
    await fence();
    t.notOk((await ann.names()).some((name) => name.startsWith("chat.")));
  });

  await t.test("a message", async () => {
    await ann.do("chat.subscribe", { channel: room });
    await boss.do("chat.join", { channel: room });
    const content = { type: "text", body: "missed" };
    const event_type = "channel.message";
    await missed(() =>
      boss.do("chat.send", { channel: room, event_type, content }),
    );
    await ann.next("chat.event", (data) => data.content.body === "missed");
  });

  await t.test("who is where", async (t) => {
    const bob: Client = await one.person(named("bob"));
    await until(() => presence.isOnline("demo", bob.id));
    const { id: annex } = (
      await one.store.rooms.create("demo", { name: "Attic" })
    ).value;
    await missed(async () => {
      await boss.do("room.leave", { room });
      await bob.do("room.enter", { room });
      await annToo.do("room.enter", { room: annex });
      annToo.close();
      await annToo.closed;
      await until(() => lost.some((text) => text.includes('"gone":["seen')));
    });
    const expected = [ann.id, bob.id, mod.id].sort().join();
    await until(
      () => presence.usersIn("demo", room).sort().join() === expected,
    );
    t.equal(presence.connectionsOf("demo", ann.id).length, 1);
    t.match(await mod.next("room.viewer.added"), { user: { id: bob.id } });
    t.match(await mod.next("room.viewer.removed"), { user_id: boss.id });
    t.equal(presence.countIn("demo", annex), 0, "no ghosts stay");

    const eva = await one.person(named("eva"));
    await until(() => presence.isOnline("demo", eva.id));
    pair.hand(two, { type: "process.ended", process: one.app.events.process });
    t.notOk(presence.isOnline("demo", eva.id));
    pair.hand(two, { type: "process.began", process: one.app.events.process });
    await until(() => presence.isOnline("demo", eva.id));
    await until(() => presence.countIn("demo", room) === 3);
  });

  await t.test("a ban", async () => {
    await missed(() => one.store.users.moderate("demo", ann.id, "banned"));
    await ann.closed;
  });
});
