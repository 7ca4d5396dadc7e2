import t from "tap";
import type { Client, Json } from "../live/client.js";
import {
  byTrait,
  COUNTED_POLL,
  countsOf,
  invalid,
  keys,
  namesOf,
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

  await t.test("10 poll.create answers", async (t) => {
    const room = await votes.room();
    const content = " Which? 😀 ";
    const options = [
      { content: "B", order: 2 },
      { content: "A", order: 1 },
    ];
    const table: [payload: object, state: string, options: string[]][] = [
      [{}, "draft", []],
      [{ options: [] }, "draft", []],
      [{ options }, "draft", ["A", "B"]],
      [{ options, poll_type: "multi" }, "draft", ["A", "B"]],
      [{ options, poll_type: "choice", state: "draft" }, "draft", ["A", "B"]],
      ...pollStates.map((state): [object, string, string[]] => [
        { options, state },
        state,
        ["A", "B"],
      ]),
    ];
    for (const [payload, state, wanted] of table) {
      const name = JSON.stringify(payload);
      const answer = await host.do("poll.create", {
        room,
        content,
        ...payload,
      });
      t.same(keys(answer), ["poll"], name);
      const { id, timestamp, options, results, ...rest } = answer.poll;
      t.match(id, /^[0-9a-f-]{36}$/);
      t.ok(Math.abs(Date.parse(timestamp) - Date.now()) < 60_000, timestamp);
      t.same(rest, { content, state, room_id: room, is_pinned: false }, name);
      t.same(
        options.map(({ content }: Json) => content),
        wanted,
        name,
      );
      for (const option of options) {
        t.same(keys(option), ["content", "id", "order"]);
      }
      const none = Object.fromEntries(options.map(({ id }: Json) => [id, 0]));
      t.same(results, wanted.length > 0 ? none : [], name);
      const listed = await votes.pollNow(room, id);
      t.same(listed, answer.poll, "in the list, too");
    }
  });

  await t.test("1 the answer comes before the own push", async (t) => {
    const room = await votes.room();
    const mod = await votes.entered(room, "first", ["admin"]);
    const { id, options } = await votes.poll(room);
    await votes.calm(mod);
    const steps: [action: string, payload: object, push: string][] = [
      ["poll.create", { content: "x" }, saved],
      ["poll.vote", { id, options: [options[0].id] }, saved],
      ["poll.update", { id, content: "y" }, saved],
      ["poll.pin", { id }, "poll.pinned"],
      ["poll.unpin", {}, "poll.unpinned"],
      ["poll.delete", { id }, "poll.deleted"],
    ];
    for (const [action, payload, push] of steps) {
      mod.sendFrame(action, action, { room, ...payload });
      t.same(namesOf(await votes.frames(mod, 2)), ["success", push], action);
    }
  });

  await t.test("10 poll.create to each audience", async (t) => {
    const { room, people } = await crowd();
    for (const state of pollStates) {
      const heard = await votes.audience(
        t,
        people,
        isOf(state, "open", "closed") ? readers : managers,
        saved,
        () => votes.poll(room, { state }),
        state,
      );
      const counted = isOf(state, "open")
        ? ["manager", "early"]
        : isOf(state, "closed")
          ? readers
          : managers;
      for (const [name, { poll }] of Object.entries(heard)) {
        const wanted = counted.includes(name) ? COUNTED_POLL : POLL;
        t.same(keys(poll), wanted, `${state} to ${name}`);
        if (poll.results) t.same(countsOf(poll), [0, 0, 0]);
        t.match(poll, { state, room_id: room });
      }
    }
  });

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

  await t.test("4.7 who has just voted, or withdrawn", async (t) => {
    const room = await votes.room();
    const voter = await votes.entered(room, "hasty");
    const voter2 = await votes.entered(room, "hasty");
    const manager = await votes.entered(room, "watcher", ["admin"]);
    /** Edits a poll. @returns what those who are told of it are told of its results. */
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
      // The push of the first vote is at once, so that of the second is still due.
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

  await t.test("10 poll.update changes what it names", async (t) => {
    const room = await votes.room();
    const poll = await votes.poll(room, { state: "draft" });
    let now = poll;
    const changes = [
      { content: "Else?" },
      { state: "open" },
      { is_pinned: true },
      {},
      { state: "archived", is_pinned: false, content: "x" },
    ];
    for (const change of changes) {
      const payload = { room, id: poll.id, ...change };
      const answer = await host.do("poll.update", payload);
      now = { ...now, ...change };
      t.same(answer, { poll: now }, JSON.stringify(change));
      t.same(await votes.pollNow(room, poll.id), now);
    }
  });

  await t.test("10 poll.update by managers who do not read", async (t) => {
    const { room, people } = await crowd();
    const { id } = await votes.poll(room);
    for (const who of ["blind", "outside"]) {
      await votes.audience(
        t,
        people,
        readers,
        saved,
        () => people[who]!.do("poll.update", { room, id, content: who }),
        who,
      );
    }
  });

  await t.test("10 poll.delete to each audience", async (t) => {
    const { room, people } = await crowd();
    const polls = await voted(room, people, pollStates.length);
    for (const state of pollStates) {
      const { id } = polls.pop();
      await host.do("poll.update", { room, id, state });
      const heard = await votes.audience(
        t,
        people,
        isOf(state, "open", "closed") ? readers : managers,
        "poll.deleted",
        async () => {
          const answer = await host.do("poll.delete", { room, id });
          t.same(answer, { poll: id });
        },
        state,
      );
      for (const data of Object.values(heard)) t.same(data, { room, id });
      t.notOk(await votes.pollNow(room, id), "it is gone");
      const code = await host.code("poll.delete", { room, id });
      t.equal(code, "poll.unknown", "once");
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

  await t.test("4.7 poll.list of polls without options", async (t) => {
    const room = await votes.room();
    const guest = await votes.live.guest();
    t.same(await guest.do("poll.list", { room }), []);
    await votes.poll(room, { state: "closed", options: [] });
    const [poll] = await guest.do("poll.list", { room });
    t.same(poll.results, []);
    t.same(poll.options, []);
    const [early] = await host.do("poll.list", { room });
    t.same(early.results, []);
  });

  await t.test("A3 payloads that do not match", async (t) => {
    const room = await votes.room();
    const poll = await votes.poll(room);
    const { id, options } = poll;
    const [{ id: option }] = options;
    const many = Array.from({ length: 101 }, () => ({ content: "x" }));
    const bad: [payload: object, field: RegExp][] = [
      [{ content: "" }, /^content$/],
      [{ content: null }, /^content$/],
      [{ content: 5 }, /^content$/],
      [{ content: {} }, /^content$/],
      [{ state: "visible" }, /^state$/],
      [{ state: null }, /^state$/],
      [{ state: 1 }, /^state$/],
      [{ poll_type: "single" }, /^poll_type$/],
      [{ poll_type: null }, /^poll_type$/],
      [{ options: {} }, /^options/],
      [{ options: "x" }, /^options/],
      [{ options: null }, /^options/],
      [{ options: ["x"] }, /^options/],
      [{ options: [null] }, /^options/],
      [{ options: [{ content: 5 }] }, /^options/],
      [{ options: [{ content: "" }] }, /^options/],
      [{ options: [{ order: 1 }] }, /^options/],
      [{ options: [{ content: "x", order: "one" }] }, /^options/],
      [{ options: [{ content: "x", order: 1.5 }] }, /^options/],
      [{ options: [{ content: "x", order: [] }] }, /^options/],
      [{ options: [{ content: "x", order: 1e12 }] }, /^options/],
      [{ options: [{ content: "x", order: "1e3" }] }, /^options/],
      [{ options: many }, /^options/],
    ];
    const update = { id };
    const create = { content: "Which?" };
    const vote: [payload: object, field: RegExp][] = [
      [{}, /^options$/],
      [{ options: null }, /^options/],
      [{ options: option }, /^options/],
      [{ options: { [option]: true } }, /^options/],
    ];
    const rows = [
      ...bad.map((row) => ["poll.create", create, ...row] as const),
      ...bad.map((row) => ["poll.update", update, ...row] as const),
      ...vote.map((row) => ["poll.vote", update, ...row] as const),
      ["poll.update", update, { is_pinned: "yes" }, /^is_pinned$/] as const,
    ];
    const before = await host.do("poll.list", { room });
    for (const [action, base, payload, field] of rows) {
      const name = `${action} ${JSON.stringify(payload).slice(0, 80)}`;
      const whole = { room, ...base, ...payload };
      const [, , answer] = await host.call(action, whole);
      t.match(answer, { code: invalid }, name);
      const { details = {} } = answer as { details: object };
      t.match(keys(details)[0], field, name);
    }
    t.same(await host.do("poll.list", { room }), before, "nothing changed");
  });
});
