import t from "tap";
import type { Client, Json } from "../live/client.js";
import {
  byTrait,
  type Kind,
  pollStates,
  questionStates,
  startVotes,
} from "./kit.js";

// Sections 9 and 10: pinning.

void t.test("pins", async (t) => {
  const votes = await startVotes(t);
  const host = await votes.host();

  const rows: [
    kind: Kind,
    moderate: string,
    states: readonly string[],
    seen: string[],
  ][] = [
    ["question", "question.moderate", questionStates, ["visible"]],
    ["poll", "poll.manage", pollStates, ["open", "closed"]],
  ];
  for (const [kind, moderate, states, seen] of rows) {
    const read = `${kind}.read`;
    const make = async (room: string, state = seen[0]!): Promise<string> => {
      const made =
        kind === "poll"
          ? await votes.poll(room, { state })
          : await votes.question(room, state);
      return made.id;
    };
    const pinned = async (room: string): Promise<string[]> => {
      const list: Json[] = await host.do(`${kind}.list`, { room });
      return list.filter((one) => one.is_pinned).map(({ id }) => id);
    };
    const crowd = async (room: string): Promise<Record<string, Client>> => {
      const entered = (uid: string, ...traits: string[]) =>
        votes.entered(room, uid, traits);
      const left = await entered("left", read, moderate);
      await left.do("room.leave", { room });
      return {
        reader: await entered("reader", read),
        moderator: await entered("moderator", read, moderate),
        blind: await entered("blind", moderate),
        nobody: await entered("nobody", "poll.results", `${kind}.vote`),
        outside: await votes.person("outside", [read, moderate]),
        left,
      };
    };
    const readers = ["reader", "moderator"];

    await t.test(`${kind}.update pins, too`, async (t) => {
      const room = await votes.room({ rules: byTrait });
      const people = await crowd(room);
      const [one, two] = [await make(room), await make(room)];
      const set = (id: string, is_pinned: boolean) => async () => {
        const payload = { room, id, is_pinned };
        const answer = await host.do(`${kind}.update`, payload);
        t.equal(answer[kind].is_pinned, is_pinned);
      };
      const push = `${kind}.created_or_updated`;
      await votes.audience(t, people, readers, push, set(one, true));
      t.same(await pinned(room), [one]);
      const twice = { reader: 2, moderator: 2 };
      const heard = await votes.heard(people, twice, set(two, true));
      t.same(Object.keys(heard).sort(), readers.toSorted());
      for (const frames of Object.values(heard)) {
        const told = frames.map(([name, data]) => {
          const { id, is_pinned } = (data as Json)[kind];
          return [name, id, is_pinned];
        });
        const ended = told.find(([, id]) => id === one);
        t.same(ended, [push, one, false], "the end of the other pin");
        if (kind === "poll" && frames === heard.reader) {
          t.notOk(JSON.stringify(frames).includes("results"), "F14");
        }
        const begun = told.find(([, id]) => id === two);
        t.same(begun, [push, two, true]);
      }
      t.same(await pinned(room), [two]);
      await votes.audience(t, people, readers, push, set(one, false));
      t.same(await pinned(room), [two], "not pinned is not the pin of another");
      await set(two, false)();
      t.same(await pinned(room), []);
    });

    await t.test(`${kind}.update pins what is hidden`, async (t) => {
      const room = await votes.room({ rules: byTrait });
      const people = await crowd(room);
      const [shown, hidden] = [await make(room), await make(room, states[0])];
      await host.do(`${kind}.pin`, { room, id: shown });
      const counts = { reader: 1, moderator: 2, blind: 1 };
      const heard = await votes.heard(people, counts, () =>
        host.do(`${kind}.update`, { room, id: hidden, is_pinned: true }),
      );
      const told = Object.entries(heard).map(([name, frames]) => [
        name,
        frames
          .map(([, data]) => (data as Json)[kind])
          .map(({ id, is_pinned }) => [id === shown ? "shown" : id, is_pinned])
          .sort(([a], [b]) => (a === "shown" ? -1 : b === "shown" ? 1 : 0)),
      ]);
      t.same(Object.fromEntries(told), {
        reader: [["shown", false]],
        moderator: [
          ["shown", false],
          [hidden, true],
        ],
        blind: [[hidden, true]],
      });
    });

    await t.test(
      `${kind}.pin ends another pin for moderators only`,
      async (t) => {
        const room = await votes.room({ rules: byTrait });
        const people = await crowd(room);
        const [shown, hidden] = [await make(room), await make(room, states[0])];
        await host.do(`${kind}.pin`, { room, id: hidden });
        await votes.audience(t, people, readers, `${kind}.pinned`, () =>
          host.do(`${kind}.pin`, { room, id: shown }),
        );
        t.same(await pinned(room), [shown]);
      },
    );
  }
});
