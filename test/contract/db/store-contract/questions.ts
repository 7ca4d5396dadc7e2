import type {
  Question,
  QuestionChanges,
  QuestionStore,
} from "../../../../db/contract/question-store.js";
import { crowd, onlyActive, persistent, SOME, voting } from "./chat-setup.js";
import { ABSENT, allFail, type Contract, fails, idsOf } from "./setup.js";

/** The maximum number of questions in a list and their total length, which most tests do not reach. */
const MANY = [1000, 1e6] as const;

const all = (questions: QuestionStore, room: string) =>
  questions.list("demo", room, { page: 1, pageSize: 100 });

export async function questionContract(contract: Contract): Promise<void> {
  await contract("questions are kept", async (t, store, open) => {
    const { questions } = store;
    const { room, quiet, ada, bob, elsewhere } = await voting(store);
    t.strictSame(await all(questions, room), []);
    const before = Date.now();
    const ask = (content: string, sender = ada, more = {}) =>
      questions.create("demo", room, { sender, content, state: "visible", ...more });
    const asked = [
      await ask("one"),
      await ask("🎪 \u0000?", bob),
      await ask("by Ada", ada, { named: true }),
    ];
    t.equal(asked[2]!.named, true);
    const { id, timestamp } = asked[0]!;
    t.match(id, /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
    t.ok(timestamp >= before && timestamp <= Date.now());
    const first: Question = {
      ...{ id, room, sender: ada, named: false, moderator: null, content: "one" },
      ...{ state: "visible", answered: false, is_pinned: false, timestamp, score: 0 },
    };
    t.strictSame(asked[0], first);
    for (const reader of [questions, (await open()).questions]) {
      t.strictSame(await all(reader, room), asked, "the oldest first");
      t.strictSame(await reader.get("demo", room, id), first);
      t.strictSame(await reader.list("demo", room, { page: 2, pageSize: 1 }), asked.slice(1, 2));
      t.strictSame(await reader.list("demo", room, { page: 2 ** 40, pageSize: 100 }), []);
      t.equal(await reader.get("demo", quiet, id), undefined, "in that room");
      t.equal(await reader.get("other", room, id), undefined);
      t.strictSame(await reader.seen("other", room, ada, true, ...MANY), []);
      t.strictSame(await all(reader, elsewhere.room), []);
    }
    for (const [world, where, user] of [
      ["demo", quiet, ada],
      ["other", elsewhere.room, elsewhere.user],
    ] as const) {
      await allFail(
        t,
        [
          questions.update(world, where, id, {}, user),
          questions.pin(world, where, id, user),
          questions.vote(world, where, id, user, true, false),
          questions.delete(world, where, id),
        ],
        "absent",
        "question",
      );
    }
    t.strictSame(await questions.delete("demo", room, id), first);
    t.equal(await questions.get("demo", room, id), undefined);
    t.strictSame(await all(questions, room), asked.slice(1));
    await fails(t, questions.delete("demo", room, id), "absent", "question");
    await store.rooms.delete("demo", room);
    t.strictSame(await all(questions, room), []);
  });

  await contract("a user sees some questions", async (t, store) => {
    const { questions } = store;
    const { room, quiet, ada, bob } = await voting(store);
    const ids: string[] = [];
    for (const [sender, content, state, where] of [
      [bob, "1", "visible"],
      [ada, "2", "mod_queue"],
      [bob, "3", "mod_queue"],
      [ada, "4", "archived"],
      [ada, "5", "visible"],
      [bob, "6", "archived"],
      [ada, "7777", "visible"],
      [ada, "elsewhere", "visible", quiet],
    ] as const) {
      const queued = { sender, content, state: "mod_queue" } as const;
      const { id } = await questions.create("demo", where ?? room, queued);
      await questions.update("demo", where ?? room, id, { state }, ada);
      ids.push(id);
    }
    await questions.vote("demo", room, ids[0]!, ada, true, false);
    await questions.vote("demo", room, ids[4]!, bob, true, false);
    const cases: [user: string, sees: boolean, limit: number, size: number, expected: string][] = [
      [ada, false, ...MANY, "1* 2 4 5 7777"],
      [bob, false, ...MANY, "1 3 5* 6 7777"],
      [ada, true, ...MANY, "1* 2 3 4 5 6 7777"],
      [ABSENT, false, ...MANY, "1 5 7777"],
      [ABSENT, true, 2, 100, "6 7777"],
      [bob, false, 3, 100, "5* 6 7777"],
      [bob, false, 1, 100, "7777"],
      [bob, false, 100, 6, "5* 6 7777"],
      [bob, false, 100, 5, "6 7777"],
    ];
    const pinnedFirst: typeof cases = [
      [ada, false, ...MANY, "1* 2 4 5 7777"],
      [bob, false, 2, 100, "1 7777"],
      [bob, true, 3, 6, "1 6 7777"],
      [bob, true, 1, 0, "1"],
    ];
    const pinnedSecond: typeof cases = [
      [bob, false, ...MANY, "1 3 5* 6 7777"],
      [ada, false, 2, 100, "2 7777"],
      [bob, true, 2, 100, "2 7777"],
    ];
    for (const [name, pinned, rows] of [
      ["nothing pinned", null, cases],
      ["the oldest pinned", ids[0]!, pinnedFirst],
      ["a queued one pinned", ids[1]!, pinnedSecond],
    ] as const) {
      await questions.pin("demo", room, pinned, ada);
      for (const [user, sees, limit, size, expected] of rows) {
        const seen = await questions.seen("demo", room, user, sees, limit, size);
        const shown = seen.map((q) => q.content + (q.voted ? "*" : ""));
        t.equal(shown.join(" "), expected, `${name}: ${expected}`);
      }
    }
    for (const [where, user, votes, hasHidden] of [
      [room, ada, [ids[0]!], true],
      [room, bob, [ids[4]!], true],
      [room, ABSENT, [], false],
      // Limited to the room.
      [quiet, ada, [], false],
    ] as const) {
      t.strictSame(await questions.ofUser("demo", where, user), { voted: votes, hasHidden });
    }
    const [, second] = await all(questions, room);
    const [, seen] = await questions.seen("demo", room, ada, false, ...MANY);
    t.strictSame(seen, { ...second, voted: false }, "with all that it has");
  });

  await contract("questions are changed", async (t, store) => {
    const { questions } = store;
    const { room, quiet, ada, bob, elsewhere } = await voting(store);
    const ask = (where = room) =>
      questions.create("demo", where, { sender: ada, content: "x", state: "mod_queue" });
    let before = await ask();
    const { id } = before;
    const steps: QuestionChanges[] = [
      { content: "y" },
      { state: "visible" },
      { answered: true },
      { is_pinned: true },
      { content: "z", state: "archived", answered: false, is_pinned: false },
      { state: "mod_queue", content: undefined },
      {},
    ];
    for (const changes of steps) {
      const given = JSON.parse(JSON.stringify(changes)) as Partial<Question>;
      const after = { ...before, ...given, moderator: bob };
      const result = await questions.update("demo", room, id, changes, bob);
      t.strictSame(result, { before, after }, JSON.stringify(changes));
      t.strictSame(await questions.get("demo", room, id), after);
      before = after;
    }

    const second = await ask();
    const other = await ask(quiet);
    await questions.pin("demo", quiet, other.id, ada);
    const expectPinned = async (expected: string[]) => {
      const pinned = (await all(questions, room)).filter(({ is_pinned }) => is_pinned);
      t.strictSame(idsOf(pinned), expected);
    };
    const pin = (id: string | null) => questions.pin("demo", room, id, ada);
    t.strictSame(await pin(id), { ...before, is_pinned: true, moderator: ada });
    for (const unpinned of [id, undefined]) {
      const update = questions.update("demo", room, second.id, { is_pinned: true }, bob);
      t.match(await update, { after: { is_pinned: true }, unpinned });
    }
    await expectPinned([second.id]);
    t.match(await pin(id), { id, is_pinned: true });
    await expectPinned([id]);
    for (let i = 0; i < 2; i++) t.equal(await pin(null), undefined);
    await expectPinned([]);
    t.match(await all(questions, quiet), [{ is_pinned: true }], "in its own room");
    await allFail(
      t,
      [
        questions.update("demo", room, id, {}, elsewhere.user),
        questions.pin("demo", room, null, elsewhere.user),
        questions.pin("demo", room, id, elsewhere.user),
      ],
      "absent",
      "user",
    );
  });

  await contract("each user votes for a question once", async (t, store, open) => {
    const { questions, users: all } = store;
    const { room, ada, bob } = await voting(store);
    const other = (await open()).questions;
    const users = await crowd(store, 10 * SOME);
    const draft = { sender: ada, content: "x", state: "visible" } as const;
    const { id } = await questions.create("demo", room, draft);
    const second = await questions.create("demo", room, draft);
    const voteAll = (vote: boolean, voters = users) =>
      Promise.all(
        voters.flatMap((user) =>
          [questions, other].map((one) =>
            persistent(() => one.vote("demo", room, id, user, vote, false)),
          ),
        ),
      );
    const expectScore = async (expected: number, name = "") =>
      t.equal((await questions.get("demo", room, id))?.score, expected, name);
    const answers = await voteAll(true);
    await expectScore(10 * SOME, "each twice, at the same time");
    t.equal(Math.max(...answers.map(({ score }) => score)), 10 * SOME);
    await voteAll(false, users.slice(0, 4 * SOME));
    await expectScore(6 * SOME);
    await voteAll(true, users.slice(3 * SOME, 5 * SOME));
    await expectScore(7 * SOME);
    t.equal((await questions.get("demo", room, second.id))?.score, 0);

    await all.erase("demo", { user_id: users.at(-1)! });
    await expectScore(7 * SOME, "the vote of an erased user counts");
    await all.erase("demo", { user_id: users[0]! });
    await questions.update("demo", room, id, { answered: true }, bob);
    for (const user_id of [bob, ada]) await all.erase("demo", { user_id });
    const erased = { sender: null, moderator: null, answered: true, score: 7 * SOME };
    t.match(await questions.get("demo", room, id), erased);
    // Rewrites the rows of questions.
    await questions.delete("demo", room, second.id);
    await voteAll(true, users.slice(-20, -10));
    await expectScore(7 * SOME);
    await voteAll(false, users.slice(3 * SOME, -1));
    await expectScore(1, "the vote of the erased user");
  });

  await contract("a user votes for what the user sees", async (t, store) => {
    const { questions } = store;
    const { room, ada, bob, cy } = await voting(store);
    const draft = { sender: ada, content: "x", state: "visible" } as const;
    const { id } = await questions.create("demo", room, draft);
    const vote = (user: string, counts: boolean, all = false) =>
      questions.vote("demo", room, id, user, counts, all);
    await vote(bob, true);
    for (const state of ["mod_queue", "archived"] as const) {
      await questions.update("demo", room, id, { state }, ada);
      await fails(t, vote(cy, true), "absent", "question");
      await fails(t, vote(bob, false), "absent", "question");
      t.match(await questions.get("demo", room, id), { score: 1 }, state);
      t.match(await vote(ada, true), { state, score: 2 }, "one's own");
      t.match(await vote(cy, true, true), { state, score: 3 }, "a moderator");
      for (const user of [ada, cy]) await vote(user, false, true);
    }
    await questions.update("demo", room, id, { state: "visible" }, ada);
    t.match(await vote(cy, true), { score: 2 });
  });

  await contract("who may ask and vote", async (t, store) => {
    const { questions } = store;
    const people = await voting(store);
    const { room, ada, elsewhere } = people;
    const ask = (sender: string, where = room) =>
      questions.create("demo", where, { sender, content: "x", state: "visible" });
    const { id } = await ask(ada);
    await onlyActive(t, store, people, {
      ask: (user) => ask(user),
      vote: (user) => questions.vote("demo", room, id, user, true, false),
    });
    await fails(t, ask(ada, elsewhere.room), "absent", "room");
    await fails(t, ask(ABSENT, ABSENT), "absent", "room");
    const odd = questions.vote("demo", room, "x", ada, true, false);
    await fails(t, odd, "absent", "question");
    t.match(await all(questions, room), [{ content: "x", score: 1 }, { content: "x" }]);
  });
}
