import t from "tap";

import {
  byTrait,
  COUNTED_POLL,
  keys,
  POLL,
  pollStates,
  startVotes,
} from "./kit.js";

// Section 10, F6, F12, F14: votes in polls.

void t.test("10 poll.vote", async (t) => {
  const votes = await startVotes(t);
  const { live } = votes;
  const host = await votes.host();

  await t.test("10 open polls only", async (t) => {
    const room = await votes.room();
    for (const state of pollStates) {
      const poll = await votes.poll(room, { state });
      const isOpen = state === "open";
      for (const client of [host, await live.guest()]) {
        const answer = await votes.voteFor(client, poll, [poll.options[0].id]);
        if (isOpen) t.same(keys(answer), ["poll"], state);
        else t.equal(answer, "poll.vote", state);
      }
      const withdrawn = await votes.voteFor(host, poll, []);
      if (!isOpen) t.equal(withdrawn, "poll.vote", `withdrawing, ${state}`);
      t.same(await votes.countsNow(poll), [isOpen ? 1 : 0, 0, 0], state);
    }
  });

  await t.test(
    "4.7 the answer shows results to who may see them",
    async (t) => {
      const room = await votes.room({ rules: byTrait });
      const poll = await votes.poll(room);
      const table: [traits: string[], sees: boolean][] = [
        [["poll.vote", "poll.read"], false],
        [["poll.vote", "poll.read", "poll.results"], true],
        [["poll.vote", "poll.manage"], true],
      ];
      for (const [traits, sees] of table) {
        const client = await votes.person(traits.join(), traits);
        const answer = await votes.vote(client, poll);
        t.same(keys(answer), sees ? COUNTED_POLL : POLL, traits.join());
        const voted = await votes.vote(client, poll, 0);
        t.same(keys(voted), COUNTED_POLL, "who voted sees them");
        const again = await votes.vote(client, poll);
        t.same(keys(again), sees ? COUNTED_POLL : POLL, "withdrawn");
      }
    },
  );

  await t.test("4.7 only readers and managers vote", async (t) => {
    const room = await votes.room({ rules: byTrait });
    const { id } = await votes.poll(room);
    const question = await votes.question(room);
    const blind = await votes.person("blind", ["poll.vote", "question.vote"]);
    const ballot = { room, id, options: [] };
    t.equal(await blind.code("poll.vote", ballot), "poll.unknown");
    const vote = { room, id: question.id };
    t.equal(await blind.code("question.vote", vote), "question.unknown");
  });

  await t.test("A4 votes of one connection count in their order", async (t) => {
    const room = await votes.room();
    const poll = await votes.poll(room);
    const client = await votes.person("hasty");
    for (let i = 0; i < 9; i++) {
      const options = i % 2 ? [] : [poll.options[i % 3].id];
      client.sendFrame("poll.vote", i, { room, id: poll.id, options });
    }
    for (let i = 0; i < 9; i++) {
      const [frame] = await votes.frames(client, 1);
      if (frame![0] === "success") t.equal(frame![1], i);
      else i--;
    }
    t.same(await votes.countsNow(poll), [0, 0, 1]);
  });
});
