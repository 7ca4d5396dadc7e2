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

const saved = "poll.created_or_updated";

void t.test("10 poll.vote", async (t) => {
  const votes = await startVotes(t);
  const { live } = votes;
  const host = await votes.host();

  /** The answer to a vote for some ids; only its code if it fails. */
  const voteFor = async (client: Client, poll: Json, options: Json) => {
    const payload = { room: poll.room_id, id: poll.id, options };
    const [name, , answer] = await client.call("poll.vote", payload);
    return name === "success" ? (answer as Json) : (answer as Json).code;
  };
  const counts = async ({ room_id, id }: Json) =>
    countsOf(await votes.pollNow(room_id, id));
  const answersOf = async (client: Client, { room_id, id }: Json) => {
    const list: Json[] = await client.do("poll.list", { room: room_id });
    return list.find((poll) => poll.id === id).answers;
  };

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
      [ann, ["x", null, 5, {}, [], true, c], [0, 1, 1], [c]],
      [ann, [foreign], [0, 1, 0], undefined],
      [ann, [a], [1, 1, 0], [a]],
      [ann2, [], [0, 1, 0], undefined],
      [ann2, [], [0, 1, 0], undefined],
      [bob, [randomUUID(), ""], [0, 0, 0], undefined],
    ];
    for (const [i, [client, options, wanted, own]] of steps.entries()) {
      const name = `${i}: ${JSON.stringify(wanted)}`;
      const answer = await voteFor(client, poll, options);
      t.same(keys(answer), ["poll"], name);
      t.same(keys(answer.poll), own ? COUNTED_POLL : POLL, name);
      if (own) t.same(countsOf(answer.poll), wanted, name);
      t.same(await counts(poll), wanted, name);
      t.same(await answersOf(client, poll), own, name);
    }
  });

  await t.test("F14 choice takes one option, multi any number", async (t) => {
    const room = await votes.room();
    const ann = await votes.person("ann");
    const choice = await votes.poll(room);
    const foreign = choice.options[0].id;
    await voteFor(ann, choice, [choice.options[2].id]);
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
      const answer = await voteFor(ann, poll, [...ids, foreign]);
      const name = `${poll_type} ${places.join()}`;
      if (typeof wanted === "string") {
        t.equal(answer, wanted, name);
        t.same(await counts(poll), [0, 0, 0], `${name}: nothing is stored`);
      } else {
        t.same(await counts(poll), wanted, name);
      }
    }
    t.same(await counts(choice), [0, 0, 1]);
    const ids = choice.options.map(({ id }: Json) => id);
    t.equal(await voteFor(ann, choice, ids), "poll.vote");
    t.same(await counts(choice), [0, 0, 1], "the vote before stays");
  });

  await t.test("10 open polls only", async (t) => {
    const room = await votes.room();
    for (const state of pollStates) {
      const poll = await votes.poll(room, { state });
      const isOpen = state === "open";
      for (const client of [host, await live.guest()]) {
        const answer = await voteFor(client, poll, [poll.options[0].id]);
        if (isOpen) t.same(keys(answer), ["poll"], state);
        else t.equal(answer, "poll.vote", state);
      }
      const withdrawn = await voteFor(host, poll, []);
      if (!isOpen) t.equal(withdrawn, "poll.vote", `withdrawing, ${state}`);
      t.same(await counts(poll), [isOpen ? 1 : 0, 0, 0], state);
    }
  });

  await t.test("10 who hears of a vote", async (t) => {
    const room = await votes.room({ rules: byTrait });
    const [read, vote] = ["poll.read", "poll.vote"];
    const entered = (uid: string, ...traits: string[]) =>
      votes.entered(room, uid, traits);
    const left = await entered("left", read, "poll.manage");
    await left.do("room.leave", { room });
    const people: Record<string, Client> = {
      reader: await entered("reader", read, vote),
      voter: await entered("voter", read, vote),
      voter2: await entered("voter", read, vote),
      voterOutside: await votes.person("voter", [read, vote]),
      me: await entered("me", read, vote),
      me2: await entered("me", read, vote),
      me3: await votes.person("me", [read, vote]),
      withdrawn: await entered("withdrawn", read, vote),
      elsewhere: await entered("in another poll", read, vote),
      manager: await entered("manager", read, "poll.manage"),
      votingManager: await entered(
        "voting manager",
        ...[read, vote, "poll.manage", "poll.results"],
      ),
      blind: await entered("blind", "poll.manage"),
      early: await entered("early", read, "poll.results"),
      blindEarly: await entered("blind early", "poll.results"),
      nobody: await entered("nobody"),
      outside: await votes.person("outside", [read, vote, "poll.manage"]),
      left,
    };
    const other = await votes.poll(room);
    await votes.vote(people.elsewhere!, other, 0);
    const prepared = async () => {
      const poll = await votes.poll(room);
      await votes.vote(people.withdrawn!, poll, 2);
      await votes.vote(people.withdrawn!, poll);
      await votes.vote(people.voter!, poll, 1);
      await votes.vote(people.votingManager!, poll, 1);
      // The last state comes last, so nothing of this comes later.
      await people.manager!.next(
        saved,
        (data) =>
          data.poll.id === poll.id && countsOf(data.poll)!.join() === "0,2,0",
      );
      return poll;
    };
    const always = [
      ...["voter", "voter2", "manager", "votingManager"],
      ...["blind", "early", "blindEarly"],
    ];

    const poll = await prepared();
    const first = await votes.audience(
      t,
      people,
      [...always, "me", "me2"],
      saved,
      () => votes.vote(people.me!, poll, 0),
      "a first vote",
    );
    for (const [name, data] of Object.entries(first)) {
      t.same(keys(data), ["poll"], name);
      t.same(keys(data.poll), COUNTED_POLL, `without answers, to ${name}`);
      t.same(countsOf(data.poll), [1, 2, 0], name);
    }
    const changed = await votes.audience(
      t,
      people,
      [...always, "me", "me2", "me3"],
      saved,
      () => votes.vote(people.me3!, poll, 2),
      "a changed vote, from a connection that did not enter",
    );
    for (const data of Object.values(changed)) {
      t.same(countsOf(data.poll), [0, 2, 1]);
    }
    const ended = await votes.audience(
      t,
      people,
      [...always, "me", "me2"],
      saved,
      () => votes.vote(people.me!, poll),
      "a withdrawn vote",
    );
    for (const [name, data] of Object.entries(ended)) {
      const isMine = ["me", "me2"].includes(name);
      t.same(keys(data.poll), isMine ? POLL : COUNTED_POLL, name);
      if (!isMine) t.same(countsOf(data.poll), [0, 2, 0], name);
    }
    await votes.audience(
      t,
      people,
      [...always, "reader"],
      saved,
      () => votes.vote(people.reader!, poll, 0),
      "after withdrawing, nothing more",
    );
  });

  await t.test(
    "10 those who voted before they entered hear, too",
    async (t) => {
      const room = await votes.room();
      const poll = await votes.poll(room);
      const late = await votes.person("late");
      await votes.vote(late, poll, 0);
      await late.next(saved);
      await late.do("room.enter", { room });
      const before = await votes.person("reconnected");
      await votes.vote(before, poll, 0);
      before.close();
      const after = await votes.entered(room, "reconnected");
      await votes.vote(await live.guest(), poll, 1);
      for (const client of [late, after]) {
        const { poll: heard } = await client.next(
          saved,
          (data) => countsOf(data.poll)?.join() === "2,1,0",
        );
        t.equal(heard.id, poll.id);
      }
    },
  );

  await t.test(
    "4.7 nothing is seen after the own vote is withdrawn",
    async (t) => {
      const room = await votes.room();
      const manager = await votes.entered(room, "watcher", ["admin"]);
      const mine = [
        await votes.entered(room, "regretful"),
        await votes.entered(room, "regretful"),
      ] as const;
      const guest = await live.guest();
      for (let i = 0; i < 4; i++) {
        const poll = await votes.poll(room);
        await votes.cast(manager, mine[0], poll, 0);
        await votes.calm(...mine);
        const options: string[] = [];
        const payload = { room, id: poll.id, options };
        mine[0].sendFrame("poll.vote", "end", payload);
        await mine[0].answered("end");
        await mine[0].all();
        await mine[1].all();
        await votes.cast(manager, guest, poll, 1);
        for (const client of mine) {
          const frames = JSON.stringify(await client.all());
          t.notOk(frames.includes('"results"'), `${i}`);
        }
      }
    },
  );

  await t.test(
    "4.7 the answer shows results to who may see them",
    async (t) => {
      const room = await votes.room({ rules: byTrait });
      const poll = await votes.poll(room);
      const table: [traits: string[], sees: boolean][] = [
        [["poll.vote"], false],
        [["poll.vote", "poll.read"], false],
        [["poll.vote", "poll.results"], true],
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
    t.same(await counts(poll), [0, 0, 1]);
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
      const found = await voteFor(ann, poll, options);
      t.equal(typeof found === "string" ? found : "ok", code, poll_type);
    }
    t.same(await counts(poll), [0, 0, 1]);
  });

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
    t.equal(sum((await counts(poll))!), 1);
    t.equal(sum((await counts(multi))!), 2);
    t.equal((await answersOf(mine[0]!, poll)).length, 1);
    t.equal((await answersOf(mine[0]!, multi)).length, 2);
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
    t.same(await counts(poll), [50, 50, 0]);
    // Ten withdraw, thirty change, and the others vote as before.
    await Promise.all(
      people.map((client, i) => {
        if (i < 10) return votes.vote(client, poll);
        return votes.vote(client, poll, i < 40 ? 2 : i % 2);
      }),
    );
    t.same(await counts(poll), [30, 30, 30]);
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
    const sum = (await counts(poll))!.reduce((a, b) => a + b);
    t.equal(sum, 1000);
    t.same(await counts(multi), [0, 1000, 1000]);
    await Promise.all(
      ids.map((user, i) => cast(user, i < 250 ? [] : i < 600 ? [c] : [a])),
    );
    t.same(await counts(poll), [400, 0, 350]);
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
      people.map((client) => voteFor(client, poll, [poll.options[0].id])),
    );
    const frozen = countsOf((await closing).poll)!;
    const accepted = answers.filter((one) => one !== "poll.vote").length;
    t.equal(frozen[0], accepted, "each accepted vote counts, no other");
    t.same(await counts(poll), frozen);
    for (const client of people) client.close();
  });
});
