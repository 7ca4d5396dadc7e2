import t from "tap";
import type { Client } from "../live/client.js";
import { keys, QUESTION, startVotes } from "./kit.js";

// Section 9, F6: votes for questions.

void t.test("9 question.vote", async (t) => {
  const votes = await startVotes(t);
  const { live } = votes;

  await t.test("9 one vote a user", async (t) => {
    const room = await votes.room();
    const { id } = await votes.question(room);
    const ann = await votes.person("ann");
    const ann2 = await votes.person("ann");
    const bob = await live.guest();
    const steps: [Client, vote: object, score: number, voted: boolean][] = [
      [ann, { vote: false }, 0, false],
      [ann, {}, 1, true],
      [ann, {}, 1, true],
      [ann2, { vote: true }, 1, true],
      [bob, { vote: true }, 2, true],
      [ann2, { vote: false }, 1, false],
      [ann, { vote: false }, 1, false],
      [ann, { vote: true }, 2, true],
      [ann, { vote: null }, 1, false],
      [ann, { vote: true }, 2, true],
      [ann, { vote: "true" }, 1, false],
      [ann, { vote: true }, 2, true],
      [ann, { vote: 1 }, 1, false],
      [ann, { vote: true }, 2, true],
      [ann, { vote: {} }, 1, false],
      [ann, {}, 2, true],
      [ann, { vote: 0 }, 1, false],
      [ann, { vote: [] }, 1, false],
      [bob, { vote: "" }, 0, false],
    ];
    for (const [i, [client, vote, score, voted]] of steps.entries()) {
      const name = `${i}: ${JSON.stringify(vote)}`;
      const payload = { room, id, ...vote };
      const answer = await client.do("question.vote", payload);
      t.same(keys(answer), ["question"], name);
      t.same(keys(answer.question), QUESTION, name);
      t.match(answer.question, { id, score }, name);
      const [listed] = await client.do("question.list", { room });
      t.match(listed, { id, score, voted }, name);
    }
  });
});
