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

// Section 10: creating, opening, closing and deleting polls, and who hears of it.

const read = "poll.read";
const manage = "poll.manage";
const saved = "poll.created_or_updated";

void t.test("10 polls", async (t) => {
  const votes = await startVotes(t);
  const host = await votes.host();

  /** A room, and who is there with which rights. */
  const crowd = async () => {
    const room = await votes.room({ rules: byTrait });
    const entered = (uid: string, ...traits: string[]) =>
      votes.entered(room, uid, traits);
    const left = await entered("left", read, manage);
    await left.do("room.leave", { room });
    const people: Record<string, Client> = {
      reader: await entered("reader", read),
      voter: await entered("voter", read, "poll.vote"),
      voter2: await entered("voter", read, "poll.vote"),
      manager: await entered("manager", read, manage),
      early: await entered("early", read, "poll.results"),
      blind: await entered("blind", manage),
      blindEarly: await entered("blind early", "poll.results"),
      nobody: await entered("nobody", "poll.vote"),
      outside: await votes.person("outside", [read, manage]),
      elsewhere: await votes.entered(await votes.room(), "elsewhere", [
        read,
        manage,
      ]),
      left,
    };
    return { room, people };
  };
  /** Open polls in which one voted for the second option, after that was pushed. */
  const voted = async (
    room: string,
    { voter, manager }: Record<string, Client>,
    count: number,
  ): Promise<Json> => {
    const polls: Json[] = [];
    while (polls.length < count) polls.push(await votes.poll(room));
    await Promise.all(
      polls.map((poll) => votes.cast(manager!, voter!, poll, 1)),
    );
    return polls;
  };
  const readers = ["reader", "voter", "voter2", "manager", "early"];
  const managers = ["manager", "blind"];
  const isOf = (state: string, ...states: string[]) => states.includes(state);

  await t.test("10, F14 poll.update through all states", async (t) => {
    const { room, people } = await crowd();
    const polls = await voted(room, people, pollStates.length ** 2);
    for (const before of pollStates) {
      for (const after of pollStates) {
        const { id } = polls.pop();
        await host.do("poll.update", { room, id, state: before });
        const isHidden =
          isOf(before, "draft", "archived") && isOf(after, "draft", "archived");
        const name = `${before} to ${after}`;
        const heard = await votes.audience(
          t,
          people,
          isHidden ? managers : readers,
          saved,
          async () => {
            const payload = { room, id, state: after };
            const answer = await host.do("poll.update", payload);
            t.same(keys(answer), ["poll"]);
            t.same(keys(answer.poll), COUNTED_POLL);
            t.same(
              [answer.poll.state, countsOf(answer.poll)],
              [after, [0, 1, 0]],
            );
          },
          name,
        );
        const isOver = isOf(after, "closed", "archived");
        for (const [one, data] of Object.entries(heard)) {
          t.same(keys(data), ["poll"]);
          t.match(data.poll, { id, state: after, room_id: room });
          const sees = isOver || one !== "reader";
          t.same(
            keys(data.poll),
            sees ? COUNTED_POLL : POLL,
            `${name}, to ${one}`,
          );
          if (sees) t.same(countsOf(data.poll), [0, 1, 0], `${name}, ${one}`);
        }
      }
    }
  });

  await t.test("10 poll.list: who sees which", async (t) => {
    const { room, people } = await crowd();
    const ids: Record<string, string> = {};
    for (const state of pollStates) {
      const poll = await votes.poll(room);
      await votes.vote(people.voter!, poll, 2);
      const payload = { room, id: poll.id, state };
      await host.do("poll.update", payload);
      ids[state] = poll.id;
    }
    const seen = async (name: string) => {
      const list: Json[] = await people[name]!.do("poll.list", { room });
      return list.map(({ id, results, answers, options }) => [
        id,
        countsOf({ options, results }),
        answers?.length,
      ]);
    };
    const counts = [0, 0, 1];
    const all = pollStates.map((state) => [ids[state], counts, undefined]);
    t.same(await seen("manager"), all, "managers");
    const table: [name: string, open: Json, answers: Json][] = [
      ["reader", undefined, undefined],
      ["early", counts, undefined],
      ["voter", counts, 1],
      ["voter2", counts, 1],
    ];
    for (const [name, open, answers] of table) {
      t.same(
        await seen(name),
        [
          [ids.open, open, answers],
          [ids.closed, counts, answers],
        ],
        name,
      );
    }
    const [poll] = await people.reader!.do("poll.list", { room });
    t.same(keys(poll), POLL, "no answers, no results");
    const [voted] = await people.voter!.do("poll.list", { room });
    t.same(keys(voted), [...COUNTED_POLL, "answers"].sort());
    t.same(voted.answers, [voted.options[2].id]);
  });
});
