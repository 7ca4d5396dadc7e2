import t from "tap";
import type { Client } from "../live/client.js";
import { byTrait, keys, QUESTION, questionStates, startVotes } from "./kit.js";

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

  await t.test("9 questions of every state, and their audience", async (t) => {
    const room = await votes.room({ rules: byTrait });
    const read = "question.read";
    const moderate = "question.moderate";
    const vote = "question.vote";
    const entered = (uid: string, ...traits: string[]) =>
      votes.entered(room, uid, traits);
    const left = await entered("left", read, moderate, vote);
    await left.do("room.leave", { room });
    const people: Record<string, Client> = {
      reader: await entered("reader", read),
      moderator: await entered("moderator", read, moderate),
      blind: await entered("blind", moderate),
      voter: await entered("voter", vote, read),
      blindVoter: await entered("blind voter", vote),
      nobody: await entered("nobody"),
      outside: await votes.person("outside", [read, moderate, vote]),
      left,
    };
    for (const state of questionStates) {
      const isSeen = state === "visible";
      const all = isSeen
        ? ["reader", "moderator", "voter"]
        : ["moderator", "blind"];
      for (const me of isSeen ? ["voter", "outside"] : ["outside"]) {
        const { id } = await votes.question(room, state);
        const heard = await votes.audience(
          t,
          people,
          [...new Set([...all, me])],
          "question.created_or_updated",
          () => people[me]!.do("question.vote", { room, id }),
          `${state}, by ${me}`,
        );
        for (const { question } of Object.values(heard)) {
          t.same(keys(question), QUESTION);
          t.match(question, { id, state, score: 1 });
        }
      }
    }
  });
});
