import pg from "pg";
import type { Test } from "tap";
import { Database } from "../../../db/postgres/engine/database.js";
import { postgresStore } from "../../../db/postgres/index.js";
import { PATIENCE } from "../../patience.js";
import type { PostgresServer } from "../../servers/postgres.js";
import { until, worldOf } from "../../helper.js";
import { newFile } from "../../db/store-contract/setup.js";
import { emptyDatabase, type Part } from "./setup.js";

/** How long dead row versions may stay, in milliseconds. */
const SOON = 10_000 * PATIENCE;

/** The tables in which the erasure of a user leaves dead rows. */
const TABLES = [
  "users",
  "blocks",
  "files",
  "questions",
  "question_votes",
  "poll_ballots",
  "chat_channels",
  "chat_members",
  "chat_readers",
  "chat_notifications",
  "log",
];

/** A store, and a user of whom there is something in every table. */
async function opened(t: Test, server: PostgresServer) {
  const url = await emptyDatabase(server);
  const database = new URL(url).pathname.slice(1);
  await server.run("CREATE EXTENSION pgstattuple", database);
  const store = postgresStore(
    await Database.open({ url, pool: 4 }, { create: true }),
  );
  t.teardown(() => store.close());
  const { users, questions, polls, chat } = store;
  await store.worlds.create(worldOf("demo"));
  const enter = async (tokenId: string) => {
    const profile = { display_name: tokenId };
    const visitor = { tokenId, traits: new Set(["x"]), profile };
    return (await users.enter("demo", visitor)).id;
  };
  const ada = await enter("ada");
  const bob = await enter("bob");
  const module_config = [{ type: "chat.native", config: {} }];
  const draft = { name: "R", module_config };
  const room = (await store.rooms.create("demo", draft)).value.id;
  await users.block("demo", ada, bob);
  const uploader = { tokenId: "ada", traits: new Set<string>() };
  await store.files.add("demo", uploader, newFile().record, 1e6);
  const asked = { sender: ada, content: "x", state: "visible" } as const;
  const question = await questions.create("demo", room, asked);
  await questions.vote("demo", room, question.id, ada, true, false);
  // Its entry has the question, until something is erased.
  const hidden = await questions.create("demo", room, asked);
  const changes = { state: "archived" } as const;
  await questions.update("demo", room, hidden.id, changes, bob);
  const poll = await polls.create("demo", room, {
    content: "x",
    options: [{ content: "a" }],
    state: "open",
  });
  await polls.vote("demo", room, poll.id, ada, [poll.options[0]!.id]);
  await chat.join("demo", room, ada);
  await chat.join("demo", room, bob);
  const text = { type: "text", body: "x" };
  await chat.send("demo", room, {
    sender: bob,
    content: text,
    mentioned: [ada],
  });
  /** Which of the tables have dead row versions. */
  const dead = async () => {
    const counts = TABLES.map(
      (table) =>
        `SELECT '${table}' AS name FROM pgstattuple('${table}') WHERE dead_tuple_count > 0`,
    );
    const rows = await server.run(counts.join(" UNION ALL "), database);
    return (rows as { name: string }[]).map(({ name }) => name);
  };
  // A snapshot that is still open elsewhere keeps some of them.
  await until(async () => {
    await server.run(`VACUUM ${TABLES.join(", ")}`, database);
    return (await dead()).length === 0;
  });
  return { url, store, room, ada, bob, question, dead };
}

/** No dead row version stays of what is erased. */
export const erasing: Part = async (t, server) => {
  await t.test("an erased user leaves no dead rows", async (t) => {
    const { url, store, ada, bob, question, room, dead } = await opened(
      t,
      server,
    );
    const tables = ["users", "blocks", "files", "questions", "log"];
    // Nothing vacuums them before they are looked at, however long that takes.
    const holder = new pg.Client({ connectionString: url });
    await holder.connect();
    t.teardown(() => holder.end());
    await holder.query("BEGIN");
    await holder.query(
      `LOCK TABLE ${tables.join(", ")} IN SHARE UPDATE EXCLUSIVE MODE`,
    );
    const erased = performance.now();
    await store.users.erase("demo", { user_id: ada });
    const left = await dead();
    for (const table of tables) {
      t.ok(left.includes(table), `${table} has them at first`);
    }
    await holder.query("COMMIT");
    await until(async () => (await dead()).length === 0);
    t.ok(performance.now() - erased < SOON);
    const changes = { content: "y" };
    await store.questions.update("demo", room, question.id, changes, bob);
    t.strictSame(await dead(), ["questions"]);
    await until(async () => (await dead()).length === 0);
    await store.questions.delete("demo", room, question.id);
    await until(async () => !(await dead()).includes("questions"));
  });

  await t.test("also if the process ends right after", async (t) => {
    const { store, ada, dead } = await opened(t, server);
    const erasing = store.users.erase("demo", { user_id: ada });
    await Promise.all([erasing, store.close()]);
    t.strictSame(await dead(), []);
  });

  await t.test("when the last reader is gone", async (t) => {
    const { url, store, ada, dead } = await opened(t, server);
    const reader = new pg.Client({ connectionString: url });
    await reader.connect();
    t.teardown(() => reader.end());
    await reader.query("BEGIN ISOLATION LEVEL REPEATABLE READ");
    await reader.query("SELECT count(*) FROM users");
    await store.users.erase("demo", { user_id: ada });
    const vacuumed = async () => {
      const [row] = await server.run(
        "SELECT pg_stat_get_vacuum_count('users'::regclass)::int AS count",
        new URL(url).pathname.slice(1),
      );
      return (row as { count: number }).count > 1;
    };
    await until(vacuumed);
    t.ok((await dead()).includes("users"), "the reader still sees them");
    await reader.query("COMMIT");
    await until(async () => (await dead()).length === 0);
  });
};
