import { randomUUID } from "node:crypto";
import t from "tap";
import type { Json } from "../live/client.js";
import { countsOf, invalid, startVotes } from "./kit.js";

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

  await t.test("10 changed, added, deleted, after votes", async (t) => {
    const room = await votes.room();
    const poll = await votes.poll(room);
    await votes.vote(people.ann, poll, 0);
    await votes.vote(people.bob, poll, 1);
    await votes.vote(people.cas, poll, 1);
    const [a, b, c] = poll.options;

    const renamed = await edit(poll, [{ ...a, content: "A!" }, b, c]);
    t.same(textOf(renamed), ["1 A!", "2 B", "3 C"]);
    t.same(countsOf(renamed), [1, 2, 0], "with its votes");
    t.same(
      renamed.options.map(({ id }: Json) => id),
      [a.id, b.id, c.id],
      "and its id",
    );

    const moved = await edit(poll, [
      { id: a.id, order: "9" },
      { id: b.id, content: "B!" },
      { id: c.id },
    ]);
    t.same(textOf(moved), ["2 B!", "3 C", "9 A!"], "what is left out stays");
    t.same(countsOf(moved), [2, 0, 1]);

    const longer = await edit(poll, [
      { content: "D" },
      { id: null, content: "E" },
      { id: "", content: "F", order: 1 },
      { id: a.id },
      { id: b.id },
      { id: c.id },
    ]);
    t.same(
      textOf(longer),
      ["1 F", "2 B!", "3 C", "9 A!", "10 D", "11 E"],
      "new ones without an order come last",
    );
    t.same(countsOf(longer), [0, 2, 0, 1, 0, 0]);

    const same = await edit(poll, []);
    t.same(same, longer, "an empty list changes none");

    const shorter = await edit(poll, [{ id: a.id }, { id: c.id }]);
    t.same(textOf(shorter), ["3 C", "9 A!"]);
    t.same(countsOf(shorter), [0, 1], "deleted with their votes");
    const [listed] = await people.bob.do("poll.list", { room });
    t.notOk("answers" in listed, "who chose it has not voted");
    t.notOk("results" in listed, "and sees nothing");
    const payload = { room, id: poll.id, options: [b.id] };
    const { poll: skipped } = await people.bob.do("poll.vote", payload);
    t.notOk("results" in skipped, "a deleted option is skipped");
    await votes.vote(people.bob, shorter, 0);
    t.same(countsOf(await votes.pollNow(room, poll.id)), [1, 1]);
  });

  await t.test("A13 the highest order there is", async (t) => {
    const room = await votes.room();
    const options = [{ content: "a", order: 2 ** 31 - 1 }, { content: "b" }];
    const payload = { room, content: "x", options };
    const [kind, , answer] = await host.call("poll.create", payload);
    if (kind === "error") t.match(answer, { code: invalid });
    else {
      const { poll } = answer as Json;
      t.equal(poll.options[1].content, "b", "it comes last");
      t.same(await votes.pollNow(room, poll.id), poll);
      const more = [...poll.options, { content: "c" }];
      const edits = { room, id: poll.id, options: more };
      const code = await host.code("poll.update", edits);
      t.ok(
        ["ok", invalid].includes(code),
        "what was answered can be sent back",
      );
    }
  });

  await t.test("10 a closed poll gets its first options", async (t) => {
    const room = await votes.room();
    const poll = await votes.poll(room, { state: "closed", options: [] });
    const closed = await edit(poll, [{ content: "A" }]);
    const votesOf = (results: Json) => Object.values(results as object);
    t.notOk(votesOf(closed.results).some((count) => count !== 0));
    const open = await edit(poll, [], { state: "open" });
    t.same(countsOf(open), [0]);
  });

  await t.test(
    "10 replaced as a whole, with a new one of the same text",
    async (t) => {
      const room = await votes.room();
      const poll = await votes.poll(room);
      await votes.vote(people.ann, poll, 0);
      const now = await edit(poll, [{ content: "A" }]);
      t.not(now.options[0].id, poll.options[0].id);
      t.same(countsOf(now), [0], "it has no votes");
    },
  );

  await t.test("10 a multi poll loses one option of several", async (t) => {
    const room = await votes.room();
    const poll = await votes.poll(room, { poll_type: "multi" });
    const [a, b, c] = poll.options;
    await votes.vote(people.ann, poll, 0, 1, 2);
    const now = await edit(poll, [a, c]);
    t.same(countsOf(now), [1, 1]);
    const [listed] = await people.ann.do("poll.list", { room });
    t.same(listed.answers, [a.id, c.id]);
    t.notOk(listed.answers.includes(b.id));
    t.same(countsOf(listed), [1, 1], "still a voter");
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
