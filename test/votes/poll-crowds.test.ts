import t from "tap";
import type { Client, Json } from "../live/client.js";
import { countsOf, startVotes } from "./kit.js";

// Section 10, F6: many votes at once, each counted once.

void t.test("10 many votes at once", async (t) => {
  const votes = await startVotes(t);
  const { live } = votes;
  const host = await votes.host();

  await t.test("F6 the same user at once has one vote", async (t) => {
    const room = await votes.room();
    const poll = await votes.poll(room);
    const multi = await votes.poll(room, { poll_type: "multi" });
    const mine: Client[] = [];
    for (let i = 0; i < 6; i++) mine.push(await votes.person("twice"));
    await Promise.all(
      mine.flatMap((client, i) => [
        votes.vote(client, poll, i % 3),
        votes.vote(client, multi, i % 3, (i + 1) % 3),
        votes.vote(client, poll, (i + 1) % 3),
      ]),
    );
    const sum = (numbers: number[]) => numbers.reduce((a, b) => a + b);
    t.equal(sum((await votes.countsNow(poll))!), 1);
    t.equal(sum((await votes.countsNow(multi))!), 2);
    t.equal((await votes.answersOf(mine[0]!, poll)).length, 1);
    t.equal((await votes.answersOf(mine[0]!, multi)).length, 2);
  });

  await t.test("10 a hundred people at once, on their sockets", async (t) => {
    const room = await votes.room();
    const poll = await votes.poll(room);
    const people = await Promise.all(
      Array.from({ length: 100 }, () => live.guest()),
    );
    await Promise.all(
      people.map((client, i) => votes.vote(client, poll, i % 2)),
    );
    t.same(await votes.countsNow(poll), [50, 50, 0]);
    // Ten withdraw, thirty change, and the others vote as before.
    await Promise.all(
      people.map((client, i) => {
        if (i < 10) return votes.vote(client, poll);
        return votes.vote(client, poll, i < 40 ? 2 : i % 2);
      }),
    );
    t.same(await votes.countsNow(poll), [30, 30, 30]);
    for (const client of people) client.close();
  });

  await t.test("10 a thousand users at once end in a thousand", async (t) => {
    const { polls } = live.app.store;
    const room = await votes.room();
    const poll = await votes.poll(room);
    const multi = await votes.poll(room, { poll_type: "multi" });
    const [a, b, c] = poll.options.map(({ id }: Json) => id);
    const several = multi.options.map(({ id }: Json) => id);
    const ids = await votes.users(1000);
    const cast = (user: string, options: string[]) =>
      polls.vote("demo", room, poll.id, user, options);
    await Promise.all([
      ...ids.map((user) => cast(user, [a])),
      ...ids.map((user) => cast(user, [b])),
      ...ids.map((user) =>
        polls.vote("demo", room, multi.id, user, several.slice(1)),
      ),
    ]);
    const sum = (await votes.countsNow(poll))!.reduce((a, b) => a + b);
    t.equal(sum, 1000);
    t.same(await votes.countsNow(multi), [0, 1000, 1000]);
    await Promise.all(
      ids.map((user, i) => cast(user, i < 250 ? [] : i < 600 ? [c] : [a])),
    );
    t.same(await votes.countsNow(poll), [400, 0, 350]);
  });

  await t.test("10 votes at the moment of closing", async (t) => {
    const room = await votes.room();
    const poll = await votes.poll(room);
    const people = await Promise.all(
      Array.from({ length: 20 }, () => live.guest()),
    );
    const closing = host.do("poll.update", {
      ...{ room, id: poll.id },
      state: "closed",
    });
    const answers = await Promise.all(
      people.map((client) => votes.voteFor(client, poll, [poll.options[0].id])),
    );
    const frozen = countsOf((await closing).poll)!;
    const accepted = answers.filter((one) => one !== "poll.vote").length;
    t.equal(frozen[0], accepted, "each accepted vote counts, no other");
    t.same(await votes.countsNow(poll), frozen);
    for (const client of people) client.close();
  });
});
