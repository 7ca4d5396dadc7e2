import { exported } from "../../exported.js";
import { worldOf } from "../../helper.js";
import { ABSENT, type Contract, fails } from "./setup.js";

/** What every store keeps to when a world with questions and polls is exported and imported. */
export async function voteCopyContract(contract: Contract): Promise<void> {
  await contract("questions and polls move along", async (t, store) => {
    const { questions, polls, users } = store;
    const enter = async (tokenId: string) =>
      (await users.enter("demo", { tokenId, traits: new Set() })).id;
    const [ada, bob, eve] = [
      await enter("ada"),
      await enter("bob"),
      await enter("eve"),
    ];
    const gone = await enter("gone");
    const create = async (name: string) =>
      (await store.rooms.create("demo", { name })).value.id;
    const [room, other] = [await create("z"), await create("a")];
    const ask = async (sender: string, content: string, where = room) => {
      const named = sender === ada;
      const draft = { sender, content, state: "mod_queue" as const, named };
      return (await questions.create("demo", where, draft)).id;
    };
    const why = await ask(gone, "Why?");
    const how = await ask(ada, "How?\r\n👏");
    await ask(bob, "Where?", other);
    const changes = { state: "visible", answered: true } as const;
    await questions.update("demo", room, why, changes, gone);
    await questions.pin("demo", room, how, bob);
    for (const user of [gone, ada, eve, bob]) {
      await questions.vote("demo", room, why, user, true, false);
    }
    await questions.vote("demo", room, why, eve, false, false);
    const draft = {
      content: "Which?",
      state: "open",
      poll_type: "multi",
      options: ["b", "a", "c"].map((content) => ({ content, order: 0 })),
    } as const;
    const opened = await polls.create("demo", room, draft);
    const closed = await polls.create("demo", room, draft);
    await polls.create("demo", other, { content: "Empty?", options: [] });
    for (const poll of [opened, closed]) {
      const [first, second, third] = poll.options.map(({ id }) => id) as [
        string,
        string,
        string,
      ];
      const vote = (user: string, ...options: string[]) =>
        polls.vote("demo", room, poll.id, user, options);
      await vote(gone, first, second);
      await vote(bob, third);
      await vote(ada, second);
      await vote(eve, first);
      await vote(eve);
    }
    await polls.update("demo", room, closed.id, { state: "closed" }, ada);
    // The results stay what they were, without the option that is deleted.
    const edited = {
      options: [{ id: closed.options[1]!.id }, { content: "new", order: -1 }],
      poll_type: "choice",
      is_pinned: true,
    } as const;
    await polls.update("demo", room, closed.id, edited, ada);
    await users.erase("demo", { user_id: gone });

    const voters = async (poll: string) =>
      (await polls.voters("demo", room, poll, 0))!.users
        .filter(({ voted }) => voted)
        .map(({ id }) => id)
        .sort();
    const people = [ada, bob, eve];
    const ofAll = <T>(read: (user: string) => Promise<T>) =>
      Promise.all(people.map(read));
    const read = async () => ({
      questions: await Promise.all(
        [room, other].map((where) =>
          ofAll((user) => questions.seen("demo", where, user, true, 9, 9000)),
        ),
      ),
      polls: await Promise.all(
        [room, other].map((where) => polls.list("demo", where, { limit: 9 })),
      ),
      ballots: await ofAll((user) => polls.ballots("demo", room, user)),
      voters: [await voters(opened.id), await voters(closed.id)],
    });
    const before = await read();
    t.match(before.questions[0]![0], [
      { id: why, sender: null, moderator: null, score: 3, voted: true },
      { id: how, sender: ada, moderator: bob, score: 0, is_pinned: true },
    ]);
    t.same(Object.values(before.polls[0]![1]!.results), [1, 2, 1]);
    const copy = await exported(store, "demo");
    t.match(copy.rows.question_votes, [
      { question: 1, user_id: null },
      { question: 1, user_id: ada },
      { question: 1, user_id: bob },
    ]);
    t.match(copy.rows.poll_ballots, [
      { poll: 1, user_id: null },
      { poll: 1, user_id: bob },
      { poll: 1, user_id: ada },
    ]);

    await store.worlds.delete("demo");
    await store.worlds.import(copy, { dryRun: true });
    t.strictSame(await polls.list("demo", room, { limit: 9 }), [], "a dry run");
    await store.worlds.import(copy);
    t.strictSame(await read(), before);
    t.strictSame(await exported(store, "demo"), copy);

    // All goes on as it was, and the counts with it.
    const [yes] = opened.options;
    await polls.vote("demo", room, opened.id, ada, [yes!.id]);
    const { poll } = await polls.vote("demo", room, opened.id, eve, [yes!.id]);
    t.same(Object.values(poll.results), [3, 1, 1]);
    t.strictSame(await voters(opened.id), people.sort());
    const again = await questions.vote("demo", room, why, ada, true, false);
    t.equal(again.score, 3);
    const { id } = await questions.create("demo", room, {
      ...{ sender: ada, content: "Last?", state: "visible" },
    });
    const all = { page: 1, pageSize: 9 };
    t.equal((await questions.list("demo", room, all)).at(-1)!.id, id);

    const timestamp = "2026-01-01T00:00:00Z";
    const question = {
      ...{ id: why, room: ABSENT, content: "x", timestamp },
      state: "visible" as const,
    };
    const [first, second] = closed.options;
    const frozen = {
      ...{ id: closed.id, room: ABSENT, content: "x", timestamp },
      ...{ state: "closed" as const, poll_type: "multi" as const },
      options: [{ id: second!.id, content: "a", order: 0 }],
      ballots: [{ options: [second!.id] }, { options: [second!.id] }],
    };
    const cases: [field: string, changes: object][] = [
      ["questions", { questions: [question], polls: [frozen] }],
      ["polls", { polls: [{ ...frozen, ballots: undefined }] }],
      ["polls", { polls: [{ ...frozen, id: ABSENT, ballots: undefined }] }],
    ];
    const whole = {
      world: worldOf("new"),
      rooms: [{ id: ABSENT, name: "copy" }],
    };
    for (const [field, changes] of cases) {
      for (const dryRun of [true, false]) {
        const taken = { ...whole, ...changes };
        await fails(t, store.worlds.import(taken, { dryRun }), "taken", field);
      }
    }
    t.equal(await store.worlds.get("new"), undefined);
    await store.worlds.delete("demo");
    const options = [
      ...frozen.options,
      { id: first!.id, content: "b", order: -1 },
    ];
    await store.worlds.import({ ...whole, polls: [{ ...frozen, options }] });
    const [found] = await polls.list("new", ABSENT, { limit: 9 });
    t.same(
      Object.values(found!.results),
      [2, 0],
      "results that are missing are counted",
    );
  });
}
