import t from "tap";
import type { Json } from "../live/client.js";
import {
  bodiesOf,
  history,
  idsOf,
  invalid,
  keys,
  message,
  say,
  startTalk,
  text,
} from "./talk.js";

void t.test("fetching", async (t) => {
  const talk = await startTalk(t);
  const { live } = talk;

  await t.test("8.2 chat.fetch: pages before and after", async (t) => {
    const channel = await talk.room({ volatile: true });
    const ann = await talk.member("ann", channel);
    const ids: number[] = [];
    for (let i = 0; i < 10; i++) {
      ids.push((await say(ann, channel, String(i))).event_id);
    }
    const guest = await live.guest();
    const [first, last] = [ids[0]!, ids[9]!];
    type Row = [selection: object, from: number, to: number];
    const table: Row[] = [
      [{ count: 3, before_id: last + 1 }, 7, 10],
      [{ count: 3, before_id: last }, 6, 9],
      [{ count: 100, before_id: last }, 0, 9],
      [{ count: 3, before_id: ids[2] }, 0, 2],
      [{ count: 3, before_id: first }, 0, 0],
      [{ count: 3, before_id: 0 }, 0, 0],
      [{ count: 3, before_id: 1 }, 0, 0],
      [{ count: 3, before_id: 10 ** 12 }, 7, 10],
      [{ count: 3, before_id: 2 ** 53 }, 7, 10],
      [{ count: 3, before_id: "9223372036854775807" }, 7, 10],
      [{ count: "3", before_id: String(last) }, 6, 9],
      [{ count: 0, before_id: last }, 0, 0],
      [{ count: 5000, before_id: last }, 0, 9],
      [{ count: 10 ** 12, before_id: last }, 0, 9],
      [{ count: 3, after_id: 0 }, 0, 3],
      [{ count: 3, after_id: first }, 1, 4],
      [{ count: 100, after_id: ids[4] }, 5, 10],
      [{ count: 3, after_id: last }, 0, 0],
      [{ count: "2", after_id: String(first) }, 1, 3],
      [{ count: 3, after_id: "9223372036854775807" }, 0, 0],
    ];
    for (const [selection, from, to] of table) {
      const page = await guest.do("chat.fetch", { channel, ...selection });
      const name = JSON.stringify(selection);
      t.same(keys(page), ["results", "users"], name);
      t.same(idsOf(page.results), ids.slice(from, to), name);
    }
    // A number that no double holds.
    guest.send(
      `["chat.fetch","max",{"channel":"${channel}","count":2,"before_id":9223372036854775807}]`,
    );
    const [name, , page] = (await guest.answered("max")) as Json[];
    t.equal(name, "success");
    t.same(idsOf(page.results), ids.slice(8));
  });

  await t.test("8.2 and F1 chat.fetch: what it refuses", async (t) => {
    const channel = await talk.room();
    const guest = await live.guest();
    const table: object[] = [
      {},
      { count: 5 },
      { before_id: 5 },
      { after_id: 5 },
      { count: 5, before_id: 5, after_id: 5 },
      { count: -1, before_id: 5 },
      { count: 1.5, before_id: 5 },
      { count: null, before_id: 5 },
      { count: "x", before_id: 5 },
      { count: "", before_id: 5 },
      { count: {}, before_id: 5 },
      { count: 5, before_id: -1 },
      { count: 5, before_id: 1.5 },
      { count: 5, before_id: "x" },
      { count: 5, before_id: {} },
      { count: 5, before_id: null },
      { count: 5, before_id: [5] },
      { count: 5, after_id: "-1" },
      { count: 5, after_id: true },
    ];
    for (const selection of table) {
      const payload = { channel, ...selection };
      const name = JSON.stringify(selection);
      const [kind, , problem] = await guest.call("chat.fetch", payload);
      t.equal(kind, "error", name);
      t.match(problem, { code: invalid, details: Object }, name);
    }
    const page = { channel, count: 5, before_id: 5 };
    t.same(
      await guest.do("chat.fetch", page),
      { results: [], users: {} },
      "nothing has happened here",
    );
  });

  await t.test("8.2 chat.fetch: member events", async (t) => {
    type Row = [options: object, types: string[]];
    const both = ["channel.member", "channel.message"];
    const table: Row[] = [
      [{}, both],
      [{ volatile: false }, both],
      [{ volatile: true }, ["channel.message"]],
      [{ force_join: true }, ["channel.message"]],
    ];
    for (const [i, [options, types]] of table.entries()) {
      const channel = await talk.room();
      const ann = await talk.member(`ann ${i}`, channel);
      await say(ann, channel, "x");
      const { volatile, force_join } = options as Json;
      await talk.alter(channel, {
        module_config: [{ type: "chat.native", config: { volatile } }],
        extras: { force_join: force_join ?? false },
      });
      const events = await history(ann, channel);
      const name = JSON.stringify(options);
      t.same(
        new Set(events.map((event) => event.event_type)),
        new Set(types),
        name,
      );
      const one = { channel, count: 1, after_id: 0 };
      const { results } = await ann.do("chat.fetch", one);
      t.equal(results[0].event_type, types[0], name);
      await talk.alter(channel, { extras: { force_join: false } });
    }
  });

  await t.test("8.2 chat.fetch: at most 1,000, oldest first", async (t) => {
    const channel = await talk.room({ volatile: true });
    const ann = await talk.member("ann", channel);
    const { store } = live.app;
    const bodies = Array.from({ length: 1005 }, (_, i) => String(i));
    // The store writes in the order in which it is asked.
    await Promise.all(
      bodies.map((body) => {
        const draft = { sender: ann.id, content: text(body), volatile: true };
        return store.chat.send("demo", channel, draft);
      }),
    );
    const guest = await live.guest();
    const page = { channel, count: 5000 };
    const newest = await guest.do("chat.fetch", {
      ...page,
      before_id: 2 ** 53,
    });
    t.same(bodiesOf(newest.results), bodies.slice(5));
    const oldest = await guest.do("chat.fetch", { ...page, after_id: 0 });
    t.same(bodiesOf(oldest.results), bodies.slice(0, 1000));
    const state = await guest.do("chat.subscribe", { channel, after: 0 });
    t.same(bodiesOf(state.events), bodies.slice(0, 1000), "A5");
    const before_id = newest.results[0].event_id;
    const rest = await guest.do("chat.fetch", { ...page, before_id });
    t.same(bodiesOf(rest.results), bodies.slice(0, 5), "the beginning");
    t.equal(await ann.code("chat.send", message(channel, text("x"))), "ok");
  });
});
