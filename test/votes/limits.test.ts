import t from "tap";
import { type Client, holdRates, type Json } from "../live/client.js";
import { startVotes } from "./kit.js";

// Section C, F22: how long texts are, and how often a user may ask.

void t.test("C question.ask a second", async (t) => {
  const votes = await startVotes(t, { messagesPerSecond: 5 });
  const room = await votes.room({ chat: true });
  const go = holdRates(t);
  const codes = async (client: Client, count: number) => {
    const found: string[] = [];
    for (let i = 0; i < count; i++) {
      const asked = { room, content: `${i}` };
      found.push(await client.code("question.ask", asked));
    }
    return found;
  };
  const ok = (count: number) => Array<string>(count).fill("ok");
  const limited = "protocol.rate_limited";
  const one = await votes.person("one");
  const two = await votes.person("one");
  const other = await votes.person("other");
  t.same(await codes(one, 10), ok(10));
  t.same(
    await codes(two, 12),
    [...ok(10), limited, limited],
    "a burst of twenty, on all connections of a user",
  );
  t.same(await codes(other, 1), ["ok"], "others have their own");
  const list = await (await votes.host()).do("question.list", { room });
  t.equal(list.length, 21, "a command too many is not executed");
  const { id } = list[0];
  for (const [action, payload] of [
    ["question.vote", { id }],
    ["question.list", {}],
    ["poll.list", {}],
  ] as const) {
    t.equal(await one.code(action, { room, ...payload }), "ok", action);
  }
  const big = await votes.person("big");
  const large = { room, content: "€".repeat(10_000) };
  const asked: string[] = [];
  for (let i = 0; i < 6; i++) asked.push(await big.code("question.ask", large));
  t.same(asked, [...ok(5), limited], "30 KB count as four");
  const poll = await votes.poll(room);
  const [option] = poll.options;
  const vote = (i: number) =>
    i % 2 === 0
      ? one.code("question.vote", { room, id, vote: i % 4 === 0 })
      : one.code("poll.vote", { room, id: poll.id, options: [option.id] });
  const voted: string[] = [];
  for (let i = 0; i < 21; i++) voted.push(await vote(i));
  t.same(voted, [...ok(19), limited, limited], "votes count together");
  const options = { room, id: poll.id, options: [option.id] };
  t.equal(await two.code("poll.vote", options), limited);
  t.equal(await other.code("poll.vote", options), "ok");
  go();
});

void t.test("F22 lists are bounded", async (t) => {
  const votes = await startVotes(t);
  const { store } = votes.live.app;
  const host = await votes.host();
  const room = await votes.room();
  const guest = await votes.live.guest();

  await t.test("9 question.list: the newest thousand", async (t) => {
    const [sender] = await votes.users(1);
    const ids: string[] = [];
    const ask = async (i: number) => {
      const draft = { sender: sender!, content: `${i}` };
      const state = "visible" as const;
      const { id } = await store.questions.create("demo", room, {
        ...draft,
        state,
      });
      ids.push(id);
    };
    for (let i = 0; i < 1010; i++) await ask(i);
    const listed = async (): Promise<Json[]> =>
      guest.do("question.list", { room });
    const idsOf = (list: Json[]) => list.map(({ id }) => id);
    t.same(idsOf(await listed()), ids.slice(-1000), "oldest first");
    await host.do("question.pin", { room, id: ids[3] });
    const pinned = await listed();
    t.ok(pinned.length <= 1000);
    t.ok(idsOf(pinned).includes(ids[3]), "a pinned one always");
    t.same(idsOf(pinned).at(0), ids[3], "in its place");
    t.same(idsOf(pinned).at(-1), ids.at(-1));
  });

  await t.test("9 question.list: a mebibyte of text", async (t) => {
    const long = await votes.room();
    const [sender] = await votes.users(1);
    const content = "x".repeat(10_000);
    for (let i = 0; i < 150; i++) {
      const draft = { sender: sender!, content, state: "visible" as const };
      await store.questions.create("demo", long, draft);
    }
    const list: Json[] = await guest.do("question.list", { room: long });
    const size = list.reduce((sum, one) => sum + one.content.length, 0);
    t.ok(size <= 2 ** 20, `${size}`);
    t.ok(size > 2 ** 20 - 20_000, `${size}: and not much less`);
  });

  await t.test("10 poll.list: the newest thousand", async (t) => {
    const ids: string[] = [];
    for (let i = 0; i < 1005; i++) {
      const draft = { content: `${i}`, options: [], state: "open" as const };
      ids.push((await store.polls.create("demo", room, draft)).id);
    }
    for (const client of [guest, host]) {
      const list: Json[] = await client.do("poll.list", { room });
      t.same(
        list.map(({ id }) => id),
        ids.slice(-1000),
      );
    }
  });
});
