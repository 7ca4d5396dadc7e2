import { randomUUID } from "node:crypto";
import t from "tap";
import type { Json } from "../live/client.js";
import { invalid, startVotes } from "./kit.js";

// Sections 10 and A13: options that are edited, after votes as well.

void t.test("10 options", async (t) => {
  const votes = await startVotes(t);
  const host = await votes.host();
  const people = {
    ann: await votes.person("ann"),
    bob: await votes.person("bob"),
    cas: await votes.person("cas"),
  };

  /** The options of a poll as text, in their order. */
  const textOf = ({ options }: Json): string[] =>
    options.map(({ content, order }: Json) => `${order} ${content}`);

  const edit = async (poll: Json, options: Json[], more = {}) => {
    const payload = { room: poll.room_id, id: poll.id, options, ...more };
    const answer = await host.do("poll.update", payload);
    const now = await votes.pollNow(poll.room_id, poll.id);
    t.same(now, answer.poll, "what is answered is stored");
    return answer.poll;
  };

  await t.test("A13 orders of new polls", async (t) => {
    const room = await votes.room();
    const table: [orders: Json[], wanted: string[]][] = [
      [
        [undefined, undefined],
        ["1 a", "2 b"],
      ],
      [
        ["2", "1"],
        ["1 b", "2 a"],
      ],
      [
        [5, undefined],
        ["5 a", "6 b"],
      ],
      [
        ["10", 9, undefined],
        ["9 b", "10 a", "11 c"],
      ],
      [
        [0, -1],
        ["-1 b", "0 a"],
      ],
      [
        ["-3", "007"],
        ["-3 a", "7 b"],
      ],
      [
        [3, 3, 3],
        ["3 a", "3 b", "3 c"],
      ],
    ];
    for (const [orders, wanted] of table) {
      const options = orders.map((order, i) => ({
        content: "abc"[i],
        ...(order !== undefined && { order }),
      }));
      const payload = { room, content: "x", options };
      const { poll } = await host.do("poll.create", payload);
      t.same(textOf(poll), wanted, JSON.stringify(orders));
      t.same(textOf(await votes.pollNow(room, poll.id)), wanted);
    }
  });

  await t.test("10 options that are refused, and change nothing", async (t) => {
    const room = await votes.room();
    const poll = await votes.poll(room);
    const other = await votes.poll(room);
    await votes.vote(people.ann, poll, 0);
    const before = await votes.pollNow(room, poll.id);
    const [a, b] = poll.options;
    const fresh = (count: number) =>
      Array.from({ length: count }, (_, i) => ({ content: `${i}` }));
    const table: Record<string, Json[]> = {
      unknown: [{ id: randomUUID(), content: "x" }],
      malformed: [{ id: "x", content: "x" }],
      "a number": [{ id: 5, content: "x" }],
      "of another poll": [a, { ...other.options[0] }],
      doubled: [a, b, { ...a, content: "again" }],
      "new without content": [a, {}],
      "new with an order only": [a, { id: null, order: 5 }],
      "too many": [a, b, ...fresh(99)],
    };
    for (const [name, options] of Object.entries(table)) {
      const payload = { room, id: poll.id, options, content: "changed" };
      const [, , answer] = await host.call("poll.update", payload);
      t.match(answer, { code: invalid }, name);
      const { details = {} } = answer as { details?: object };
      t.match(Object.keys(details)[0], /^options/, name);
      t.same(await votes.pollNow(room, poll.id), before, name);
    }
    const most = await edit(poll, [a, b, ...fresh(98)]);
    t.equal(most.options.length, 100, "a hundred are fine");
    t.same(await votes.pollNow(room, other.id), other);
  });
});
