import t from "tap";
import type { Json } from "../live/client.js";
import { countsOf, startVotes } from "./kit.js";

// Section 10: closing or archiving freezes the results, reopening thaws them.

void t.test("10 frozen results", async (t) => {
  const votes = await startVotes(t);
  const { live } = votes;
  const host = await votes.host();
  const [ann, bob] = [await votes.person("ann"), await votes.person("bob")];

  const set = async (poll: Json, changes: object) => {
    const payload = { room: poll.room_id, id: poll.id, ...changes };
    return (await host.do("poll.update", payload)).poll;
  };
  const voted = async () => {
    const poll = await votes.poll(await votes.room());
    await votes.vote(ann, poll, 0);
    await votes.vote(bob, poll, 1);
    return poll;
  };
  const resultsOf = async ({ room_id, id }: Json) =>
    (await votes.pollNow(room_id, id)).results;

  for (const state of ["closed", "archived"]) {
    await t.test(`10 ${state}: whatever happens to the options`, async (t) => {
      const poll = await voted();
      const [a, b, c] = poll.options;
      const { results } = await set(poll, { state });
      t.same(results, { [a.id]: 1, [b.id]: 1, [c.id]: 0 });
      const edits = [
        [{ ...a, content: "A!" }, b, c],
        [b, c, { content: "D" }],
        [{ content: "E" }],
        [],
      ];
      for (const options of edits) {
        const edited = await set(poll, { options });
        t.same(edited.results, results, JSON.stringify(options));
        t.same(await resultsOf(poll), results);
      }
      const other = state === "closed" ? "archived" : "closed";
      t.same((await set(poll, { state: other })).results, results, other);
      t.same((await set(poll, { state })).results, results, "and back");
    });

    await t.test(`10 ${state}: after the options of the update`, async (t) => {
      const poll = await voted();
      const [a, , c] = poll.options;
      const changes = { state, options: [a, c, { content: "D" }] };
      const closed = await set(poll, changes);
      t.same(countsOf(closed), [1, 0, 0]);
      t.same(Object.keys(closed.results).length, 3);
    });

    for (const next of ["open", "draft"]) {
      await t.test(`10 ${state}, then ${next}: thawed`, async (t) => {
        const poll = await voted();
        const [a, b, c] = poll.options;
        await set(poll, { state });
        await set(poll, { options: [b, c] });
        const thawed = await set(poll, { state: next });
        t.same(thawed.results, { [b.id]: 1, [c.id]: 0 });
        if (next === "draft") await set(poll, { state: "open" });
        await votes.vote(ann, thawed, 0);
        t.same(await resultsOf(poll), { [b.id]: 2, [c.id]: 0 });
        const again = await set(poll, { state });
        t.same(again.results, { [b.id]: 2, [c.id]: 0 }, "frozen anew");
        t.notOk(a.id in again.results);
      });
    }
  }

  await t.test(
    "10 a vote after reopening changes only the open results",
    async (t) => {
      const poll = await voted();
      await set(poll, { state: "closed" });
      await set(poll, { state: "open" });
      await votes.vote(bob, poll, 2);
      t.same(countsOf(await votes.pollNow(poll.room_id, poll.id)), [1, 0, 1]);
      await votes.vote(ann, poll);
      t.same(countsOf(await set(poll, { state: "archived" })), [0, 0, 1]);
    },
  );

  await t.test("10 what others see of it", async (t) => {
    const poll = await voted();
    const room = poll.room_id;
    const [a] = poll.options;
    const closed = await set(poll, { state: "closed" });
    const reader = await live.guest();
    const [seen] = await reader.do("poll.list", { room });
    t.same(seen.results, closed.results);
    await set(poll, { options: [{ ...a, content: "Alone" }] });
    const [later] = await reader.do("poll.list", { room });
    t.same(later.results, closed.results);
    t.equal(later.options.length, 1);
  });

  await t.test("10 votes come to nothing while it is closed", async (t) => {
    const poll = await voted();
    const room = poll.room_id;
    const before = (await set(poll, { state: "closed" })).results;
    const options = [poll.options[2].id];
    const payload = { room, id: poll.id, options };
    t.equal(await ann.code("poll.vote", payload), "poll.vote");
    const withdraw = { room, id: poll.id, options: [] };
    t.equal(await ann.code("poll.vote", withdraw), "poll.vote");
    t.same(await resultsOf(poll), before);
    const [{ answers }] = await ann.do("poll.list", { room });
    t.same(answers, [poll.options[0].id], "the vote is as it was");
  });
});
