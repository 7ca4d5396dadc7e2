import t from "tap";

import { byTrait, COUNTED_POLL, keys, POLL, startVotes } from "./kit.js";

// Section 10, F6, F12, F14: votes in polls.

void t.test("10 poll.vote", async (t) => {
  const votes = await startVotes(t);

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
});
