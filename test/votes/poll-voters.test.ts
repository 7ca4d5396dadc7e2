import t from "tap";
import { Voters } from "../../live/modules/items/polls/voters.js";
import { type Client, holdRates, type Json } from "../live/client.js";
import {
  byTrait,
  COUNTED_POLL,
  countsOf,
  keys,
  POLL,
  startVotes,
} from "./kit.js";

// Sections 4.7 and 10, F12: who hears of a vote, and who sees what it comes to.

const saved = "poll.created_or_updated";

void t.test("10 voters", async (t) => {
  const votes = await startVotes(t);
  const { live } = votes;
  const host = await votes.host();

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
      const pushed = (counts: string) =>
        people.manager!.next(
          saved,
          ({ poll: { id, ...rest } }) =>
            id === poll.id && countsOf(rest)!.join() === counts,
        );
      await votes.vote(people.withdrawn!, poll, 2);
      await pushed("0,0,1");
      // The others are pushed together: if a push came between the last vote and the
      // news of it, one more with the same counts would follow.
      const go = holdRates(t);
      await votes.vote(people.withdrawn!, poll);
      await votes.vote(people.voter!, poll, 1);
      await votes.vote(people.votingManager!, poll, 1);
      go();
      await pushed("0,2,0");
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
    "10 people who voted before they entered get it, too",
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

  await t.test("4.7 who has just voted, or withdrawn", async (t) => {
    const room = await votes.room();
    const voter = await votes.entered(room, "hasty");
    const voter2 = await votes.entered(room, "hasty");
    const manager = await votes.entered(room, "watcher", ["admin"]);
    /** Edits a poll. @returns the results in the pushes, by receiver. */
    const edited = async ({ id }: Json, content: string) => {
      await host.do("poll.update", { room, id, content });
      const counts: Json[] = [];
      for (const client of [voter, voter2]) {
        const isEdited = ({ poll }: Json) =>
          poll.id === id && poll.content === content;
        const { poll } = await client.next(saved, isEdited);
        counts.push(countsOf(poll)?.join());
      }
      return counts;
    };
    const guest = await votes.live.guest();
    const kinds = ["voted", "due", "withdrawn", "lost"];
    const seen: Record<string, Json[]> = Object.fromEntries(
      kinds.map((kind) => [kind, []]),
    );
    for (let i = 0; i < 5; i++) {
      const poll = await votes.poll(room);
      await votes.vote(voter, poll, 0);
      seen.voted!.push(...(await edited(poll, "After a vote")));
      // The first vote is pushed at once, so the push of the second is still due.
      const busy = await votes.poll(room);
      await votes.cast(manager, guest, busy, 1);
      await votes.vote(voter, busy, 0);
      seen.due!.push(...(await edited(busy, "After another vote")));
      const known = await votes.poll(room);
      await votes.cast(manager, voter, known, 0);
      await votes.vote(voter2, known);
      seen.withdrawn!.push(...(await edited(known, "After withdrawing")));
      const short = await votes.poll(room);
      await votes.cast(manager, voter, short, 0);
      const { room_id, id, options } = short;
      const payload = { room: room_id, id, options: options.slice(1) };
      await host.do("poll.update", payload);
      seen.lost!.push(...(await edited(short, "After losing the option")));
    }
    const every = (counts: Json) => Array<Json>(10).fill(counts);
    t.same(seen.voted, every("1,0,0"), "a voter sees results in the next push");
    t.same(seen.due, every("1,1,0"), "even if others vote as well");
    t.same(seen.withdrawn, every(undefined), "who withdrew sees none");
    t.same(seen.lost, every(undefined), "nor who lost the chosen option");
  });
});

void t.test("a push leaves out people who vote while it is read", async (t) => {
  t.plan(1);
  const store = { voters: async () => ({ users: [], changed: 1 }) };
  const voters = new Voters(store as never);
  const of = (user: string) => ({ login: { user } }) as never;
  const poll = { world: "w", room: "r", id: "p" };
  const read = async () => voters.voted("p", ["ann"]);
  await voters.during(poll, read, async (_, { isVoting }) => {
    t.same([isVoting(of("ann")), isVoting(of("bob"))], [true, false]);
  });
});
