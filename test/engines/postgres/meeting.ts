import { Database } from "../../../db/postgres/engine/database.js";
import { postgresStore } from "../../../db/postgres/index.js";
import { worldOf } from "../../helper.js";
import { type Part, problemOf } from "./setup.js";

/** People who do the same at the same time, on two nodes. */
export const meeting: Part = async (t, server) => {
  const url = await server.createDatabase();
  const open = async () => {
    const options = { url, pool: 4 };
    const store = postgresStore(await Database.open(options, { create: true }));
    t.teardown(() => store.close());
    return store;
  };
  const stores = [await open(), await open()] as const;
  const [store] = stores;
  await store.worlds.create(worldOf("demo"));
  const enter = async (tokenId: string, one = store) =>
    (await one.users.enter("demo", { tokenId, traits: new Set() })).id;
  /** Does something of each number, by turns on both. */
  const rush = <T>(count: number, run: (one: typeof store, i: number) => T) =>
    Promise.all(
      Array.from({ length: count }, (_, i) => run(stores[i % 2]!, i)),
    );
  const room = (await store.rooms.create("demo", { name: "R" })).value.id;

  await t.test("a name belongs to one user", async (t) => {
    const ids = await rush(40, (one) => enter("same", one));
    t.equal(new Set(ids).size, 1);
    t.equal((await store.counts()).users, 1);
  });

  await t.test("each vote counts once", async (t) => {
    const users = await rush(20, (one, i) => enter(`voter-${i}`, one));
    const asked = {
      sender: users[0]!,
      content: "x",
      state: "visible",
    } as const;
    const question = await store.questions.create("demo", room, asked);
    const poll = await store.polls.create("demo", room, {
      content: "x",
      options: [{ content: "a" }, { content: "b" }],
      state: "open",
    });
    const [a, b] = poll.options.map(({ id }) => id) as [string, string];
    await rush(80, (one, i) =>
      one.questions.vote(
        "demo",
        room,
        question.id,
        users[i % 20]!,
        true,
        false,
      ),
    );
    await rush(80, (one, i) =>
      one.polls.vote("demo", room, poll.id, users[(i >> 1) % 20]!, [
        i % 2 ? a : b,
      ]),
    );
    for (const { questions, polls } of stores) {
      t.equal((await questions.get("demo", room, question.id))?.score, 20);
      const { results } = (await polls.get("demo", room, poll.id))!;
      t.equal(results[a]! + results[b]!, 20);
      const { users, changed } = (await polls.voters(
        "demo",
        room,
        poll.id,
        0,
      ))!;
      t.equal(users.length, 20);
      t.ok(users.every(({ voted }) => voted));
      t.ok(changed >= 20 && changed <= 80);
    }
  });

  await t.test("a user blocks at most a thousand others", async (t) => {
    const ada = await enter("ada");
    await server.run(
      `INSERT INTO users (world_id, id, client_id, traits, last_seen)
         SELECT 'demo', 'other-' || i, i, '[]', 0 FROM generate_series(1, 1010) AS i;
       INSERT INTO blocks SELECT 'demo', '${ada}', 'other-' || i FROM generate_series(1, 995) AS i`,
      new URL(url).pathname.slice(1),
    );
    const problems = await rush(30, (one, i) =>
      problemOf(one.users.block("demo", ada, `other-${996 + (i >> 1)}`)),
    );
    t.equal(problems.filter((one) => one === undefined).length, 10);
    t.ok(problems.every((one) => one === undefined || one === "quota"));
    t.equal((await store.users.blocked("demo", ada)).length, 1000);
  });
};
