import { readFileSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import t, { type Test } from "tap";
import { check } from "../../db/maintenance/check.js";
import { copyAsKilled, heldIn, openStore } from "../database.js";
import { until, worldOf } from "../helper.js";
import { testdir } from "../testdir.js";
import { expectErased, marksIn } from "./expect-erased.js";

// No byte stays of a question that was deleted, or of what it said before.

/** A store with two rooms in a world, another world with a room, and a user in each. */
async function opened(t: Test) {
  const dataDir = testdir(t);
  const store = openStore(t, dataDir);
  const users: Record<string, string> = {};
  const rooms: string[] = [];
  for (const world of ["demo", "demo", "other"]) {
    if (!(await store.worlds.get(world))) {
      await store.worlds.create(worldOf(world));
      const visitor = { tokenId: "ada", traits: new Set<string>() };
      users[world] = (await store.users.enter(world, visitor)).id;
    }
    rooms.push((await store.rooms.create(world, { name: "R" })).value.id);
  }
  const [room, second, elsewhere] = rooms as [string, string, string];
  const ask = (content: string, where = room, world = "demo") =>
    store.questions.create(world, where, {
      sender: users[world]!,
      content,
      state: "visible",
    });
  return { dataDir, store, room, second, elsewhere, user: users.demo!, ask };
}

void t.test("a question that is gone is in no byte", async (t) => {
  const { dataDir, store, room, second, elsewhere, user, ask } =
    await opened(t);
  const { questions } = store;
  // So many, of such different lengths and in such an order, that SQLite moves rows
  // from page to page, and leaves the bytes of some in the old ones.
  const COUNT = 1500;
  const textOf = (i: number, kind = "first") =>
    `${kind}-${i}-${"x".repeat((i * 37) % 300)}-end`;
  const where = (i: number) => [room, room, room, second, elsewhere][i % 5]!;
  const worldIn = (i: number) => (i % 5 === 4 ? "other" : "demo");
  const asked = await Promise.all(
    Array.from({ length: COUNT }, (_, n) => {
      const i = (n * 7919) % COUNT;
      return ask(textOf(i), where(i), worldIn(i)).then(({ id }) => ({ i, id }));
    }),
  );
  asked.sort((a, b) => a.i - b.i);
  const inRoom = asked.filter(({ i }) => where(i) === room);
  const edited = inRoom.filter(({ i }) => i % 2 === 0);
  const deleted = inRoom.filter(({ i }) => i % 3 === 0);
  const voted = inRoom.filter(({ i }) => i % 3 === 1);
  await Promise.all(
    voted.map(({ id }) => questions.vote("demo", room, id, user, true, false)),
  );
  await Promise.all(
    edited.map(({ i, id }) =>
      questions.update(
        "demo",
        room,
        id,
        { content: textOf(i * 7, "later") },
        user,
      ),
    ),
  );
  await Promise.all(
    deleted.map(({ id }) => questions.delete("demo", room, id)),
  );
  await store.rooms.delete("demo", second);
  const rest = inRoom.filter((question) => !deleted.includes(question));
  const expected = rest.map((question) =>
    edited.includes(question)
      ? textOf(question.i * 7, "later")
      : textOf(question.i),
  );
  const left = await questions.list("demo", room, { page: 1, pageSize: COUNT });
  t.strictSame(left.map(({ content }) => content).sort(), expected.sort());
  const isVoted = new Set(voted.map(({ id }) => id));
  t.ok(left.every(({ id, score }) => score === (isVoted.has(id) ? 1 : 0)));
  // To close it scrubs what is due.
  await store.close();
  const there = () => {
    const bytes = readFileSync(join(dataDir, "foyer.db"), "latin1");
    return [...new Set(bytes.match(/(first|later)-\d+-/g))].sort();
  };
  const startsOf = (texts: string[]) =>
    texts.map((text) => /^[a-z]+-\d+-/.exec(text)![0]).sort();
  const inOther = asked
    .filter(({ i }) => worldIn(i) === "other")
    .map(({ i }) => textOf(i));
  t.strictSame(there(), startsOf([...expected, ...inOther]));
  const again = openStore(t, dataDir);
  await again.worlds.delete("other");
  await again.close();
  t.strictSame(there(), startsOf(expected), "without the world");
  t.strictSame((await check({ dataDir }, () => {})).findings, []);
});

void t.test("it is gone soon, or after a crash", async (t) => {
  const { dataDir, store, room, second, user, ask } = await opened(t);
  const { questions } = store;
  const { id } = await ask("first-1-end");
  const kept = await ask("first-2-end");
  await ask("first-3-end", second);
  await questions.vote("demo", room, id, user, true, false);
  await questions.update("demo", room, id, { content: "later-1-end" }, user);
  await expectErased(dataDir, ["first-1-end"]);
  await until(() => marksIn(dataDir).length === 0);
  await questions.delete("demo", room, id);
  await expectErased(dataDir, ["later-1-end"]);
  await store.rooms.delete("demo", second);
  await expectErased(dataDir, ["first-3-end"]);
  t.strictSame(heldIn(dataDir, ["first-2-end"]), ["first-2-end"]);

  // A reader keeps the log from being emptied.
  const reader = new Database(join(dataDir, "foyer.db"), { readonly: true });
  t.teardown(() => reader.close());
  reader.exec("BEGIN");
  reader.prepare("SELECT * FROM questions").all();
  await until(() => marksIn(dataDir).length === 0);
  const { content } = kept;
  const before = { content, state: "archived", answered: true } as const;
  await questions.update("demo", room, kept.id, before, user);
  t.strictSame(marksIn(dataDir), [], "the same content erases nothing");
  const changes = { content: "later-2-end" };
  await questions.update("demo", room, kept.id, changes, user);
  t.not(marksIn(dataDir).length, 0);
  const crashed = copyAsKilled(dataDir);
  t.strictSame(heldIn(crashed, [content]), [content], "in its log");
  reader.close();
  await until(() => marksIn(dataDir).length === 0);
  t.strictSame(heldIn(dataDir, [content]), []);
  const next = openStore(t, crashed);
  await until(() => heldIn(crashed, [content]).length === 0);
  t.match(await next.questions.get("demo", room, kept.id), {
    ...changes,
    state: "archived",
    answered: true,
  });
});

void t.test("a world takes its polls with it, and no others", async (t) => {
  const { dataDir, store, room, elsewhere, user } = await opened(t);
  const { polls } = store;
  const options = [{ content: "option-end" }];
  const draft = { content: "poll-end", options, state: "closed" } as const;
  await polls.create("other", elsewhere, draft);
  const kept = await polls.create("demo", room, {
    content: "stays-end",
    options: [{ content: "also-end" }],
    state: "open",
  });
  const [option] = kept.options.map(({ id }) => id) as [string];
  await polls.vote("demo", room, kept.id, user, [option]);
  await store.worlds.delete("other");
  await expectErased(dataDir, ["poll-end", "option-end"]);
  const texts = ["stays-end", "also-end"];
  t.strictSame(heldIn(dataDir, texts), texts);
  t.strictSame(await polls.list("demo", room, { limit: 9 }), [
    { ...kept, results: { [option]: 1 } },
  ]);
  t.match(await polls.vote("demo", room, kept.id, user, [option]), {
    poll: { results: { [option]: 1 } },
  });
  await polls.vote("demo", room, kept.id, user, []);
  t.match(await polls.get("demo", room, kept.id), { results: { [option]: 0 } });
  await store.close();
  t.strictSame((await check({ dataDir }, () => {})).findings, []);
});
