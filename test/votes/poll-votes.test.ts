import { randomUUID } from "node:crypto";
import t from "tap";
import type { Client, Json } from "../live/client.js";
import {
  byTrait,
  COUNTED_POLL,
  countsOf,
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

  await t.test("10 a vote replaces the own one", async (t) => {
    const room = await votes.room();
    const poll = await votes.poll(room);
    const [a, b, c] = poll.options.map(({ id }: Json) => id);
    const foreign = (await votes.poll(room)).options[0].id;
    const ann = await votes.person("ann");
    const ann2 = await votes.person("ann");
    const bob = await live.guest();
    const steps: [Client, options: Json[], counts: number[], own: Json][] = [
      [ann, [], [0, 0, 0], undefined],
      [ann, [a], [1, 0, 0], [a]],
      [ann, [a], [1, 0, 0], [a]],
      [ann2, [a], [1, 0, 0], [a]],
      [bob, [b], [1, 1, 0], [b]],
      [ann2, [b], [0, 2, 0], [b]],
      [ann, [c, c, c], [0, 1, 1], [c]],
      [ann, [randomUUID(), a], [1, 1, 0], [a]],
      [ann, [foreign, b, foreign], [0, 2, 0], [b]],
      [ann, [c], [0, 1, 1], [c]],
      [ann, [foreign], [0, 1, 1], [c]],
      [ann, [], [0, 1, 0], undefined],
      [ann, [a], [1, 1, 0], [a]],
      [ann2, [], [0, 1, 0], undefined],
      [ann2, [], [0, 1, 0], undefined],
      [bob, [randomUUID()], [0, 1, 0], [b]],
      [bob, [], [0, 0, 0], undefined],
    ];
    for (const [i, [client, options, wanted, own]] of steps.entries()) {
      const name = `${i}: ${JSON.stringify(wanted)}`;
      const answer = await votes.voteFor(client, poll, options);
      t.same(keys(answer), ["poll"], name);
      t.same(keys(answer.poll), own ? COUNTED_POLL : POLL, name);
      if (own) t.same(countsOf(answer.poll), wanted, name);
      t.same(await votes.countsNow(poll), wanted, name);
      t.same(await votes.answersOf(client, poll), own, name);
    }
  });

  await t.test("F14 choice takes one option, multi any number", async (t) => {
    const room = await votes.room();
    const ann = await votes.person("ann");
    const choice = await votes.poll(room);
    const foreign = choice.options[0].id;
    await votes.voteFor(ann, choice, [choice.options[2].id]);
    const table: [poll_type: string, places: number[], counts: Json][] = [
      ["choice", [0, 1], "poll.vote"],
      ["choice", [0, 1, 2], "poll.vote"],
      ["choice", [1, 1], [0, 1, 0]],
      ["multi", [0, 1], [1, 1, 0]],
      ["multi", [2, 0, 1], [1, 1, 1]],
      ["multi", [1, 1, 2, 2], [0, 1, 1]],
      ["multi", [], [0, 0, 0]],
    ];
    for (const [poll_type, places, wanted] of table) {
      const poll = await votes.poll(room, { poll_type });
      const ids = places.map((place) => poll.options[place].id);
      const answer = await votes.voteFor(ann, poll, [...ids, foreign]);
      const name = `${poll_type} ${places.join()}`;
      if (typeof wanted === "string") {
        t.equal(answer, wanted, name);
        t.same(
          await votes.countsNow(poll),
          [0, 0, 0],
          `${name}: nothing is stored`,
        );
      } else {
        t.same(await votes.countsNow(poll), wanted, name);
      }
    }
    t.same(await votes.countsNow(choice), [0, 0, 1]);
    const ids = choice.options.map(({ id }: Json) => id);
    t.equal(await votes.voteFor(ann, choice, ids), "poll.vote");
    t.same(await votes.countsNow(choice), [0, 0, 1], "the vote before stays");
  });

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

  await t.test("10 the type can change", async (t) => {
    const room = await votes.room();
    const poll = await votes.poll(room);
    const ids = poll.options.map(({ id }: Json) => id);
    const ann = await votes.person("ann");
    for (const [poll_type, places, code] of [
      ["multi", [0, 1], "ok"],
      ["choice", [1, 2], "poll.vote"],
      ["choice", [2], "ok"],
    ] as const) {
      const changes = { room, id: poll.id, poll_type };
      const answer = await host.do("poll.update", changes);
      t.same(keys(answer.poll), COUNTED_POLL, "it is never sent");
      const options = places.map((place) => ids[place]);
      const found = await votes.voteFor(ann, poll, options);
      t.equal(typeof found === "string" ? found : "ok", code, poll_type);
    }
    t.same(await votes.countsNow(poll), [0, 0, 1]);
  });
});
