import { lockOfWorld } from "../../../db/postgres/engine/locks.js";
import { INDEX } from "../../../db/log/entries.js";
import { until, worldOf } from "../../helper.js";
import { chatting, message } from "../../db/store-contract/chat-setup.js";
import { emptyDatabase, openNode, type Part, problemOf } from "./setup.js";

/** How far the numbers of entries jump when some are lost. */
const JUMP = 1_000_000;

/** The database loses entries that a node has seen, as with a failover or a restore. */
export const lost: Part = async (t, server) => {
  const url = await emptyDatabase(server);
  const name = new URL(url).pathname.slice(1);
  const node = await openNode(t, url);
  const { worlds, rooms, chat, log, events, db } = node;
  await worlds.create(worldOf("demo"));
  const { room, ada } = await chatting(node);
  const say = () => chat.send("demo", room, message(ada, "x"));
  for (const id of ["demo", "other", INDEX]) await events.follow(id);
  const resets: string[] = [];
  events.subscribe(({ type, ...event }) => {
    if (type === "world.reset") resets.push((event as { world: string }).world);
  });
  const headOf = async (world: string) => (await log.heads([world]))[0]!;

  /** Runs statements in the database, and ends all connections in the same moment. */
  const change = async (statements: string) => {
    await server.run(
      `BEGIN; ${statements};
       SELECT pg_terminate_backend(pid) FROM pg_stat_activity
         WHERE datname = '${name}' AND pid <> pg_backend_pid(); COMMIT`,
      name,
    );
    await until(() => !db.isUp);
    await until(() => db.isUp);
  };
  /** Takes the log of `demo` back to a number, while no write of it is under way. */
  const goBack = (seq: number) =>
    change(`${lockOfWorld("demo")};
      DELETE FROM log WHERE world_id = 'demo' AND seq > ${seq};
      DELETE FROM chat_events WHERE world_id = 'demo' AND id > ${seq};
      UPDATE log_heads SET seq = ${seq}, tag = (
        SELECT tag FROM log WHERE world_id = 'demo' AND seq = ${seq}
        UNION ALL SELECT tag FROM chat_events WHERE world_id = 'demo' AND id = ${seq})
      WHERE world_id = 'demo'`);

  await t.test("nothing happens if nothing is lost", async (t) => {
    await say();
    const before = await log.heads(["demo", "other", INDEX]);
    await change("SELECT 1");
    t.strictSame(await log.heads(["demo", "other", INDEX]), before);
    const after = await say();
    t.equal(after.event.id, before[0]!.seq + 1);
    t.strictSame(resets, []);
  });

  await t.test("numbers that people know are given to nothing", async (t) => {
    const { seq: kept } = await headOf("demo");
    await rooms.update("demo", room, { name: "lost" });
    const { event: seen } = await say();
    const other = await headOf("other");
    await goBack(kept);
    // Whatever is written first: the node has compared before.
    const { event } = await say();
    t.equal(event.id, seen.id + JUMP + 1);
    const { entries } = await log.since("demo", kept, 10);
    t.match(entries, [
      { type: "world.raised", seq: seen.id + JUMP, by: { kind: "server" } },
      { type: "chat.event" },
    ]);
    t.strictSame(await headOf("other"), other, "another world is as it was");
    await until(() => resets.length > 0);
    t.strictSame(resets, ["demo"]);
    await until(() => events.reached("demo") === event.id);
  });

  await t.test("another history has grown longer", async (t) => {
    const { seq: kept } = await headOf("demo");
    await say();
    const seen = await headOf("demo");
    // A write of another node, before this one has compared.
    await change(
      `UPDATE chat_events SET tag = tag + 1 WHERE world_id = 'demo' AND id = ${seen.seq};
       INSERT INTO log (world_id, seq, tag, at, type, author, detail)
         VALUES ('demo', ${seen.seq + 1}, 7, 0, 'world.updated', '{"kind":"api"}', '{}');
       UPDATE log_heads SET seq = ${seen.seq + 1}, tag = 7 WHERE world_id = 'demo'`,
    );
    const { event } = await say();
    t.equal(event.id, seen.seq + 1 + JUMP + 1);
    const { tag } = await log.since("demo", kept, 1);
    t.not(tag, undefined, "what is common is not touched");
    await until(() => resets.length > 1);
    t.strictSame(resets, ["demo", "demo"]);
  });

  await t.test("writes that wait all the time come after it", async (t) => {
    const { seq: kept } = await headOf("demo");
    const { event: seen } = await say();
    let isOver = false;
    const ids: number[] = [];
    const writing = (async () => {
      while (!isOver) {
        const problem = await problemOf(
          say().then(({ event }) => ids.push(event.id)),
        );
        if (problem) await new Promise(setImmediate);
      }
    })();
    await goBack(kept);
    await until(() => ids.some((id) => id > seen.id + JUMP));
    isOver = true;
    await writing;
    const between = ids.filter((id) => id > kept + 1_000 && id <= kept + JUMP);
    t.strictSame(between, []);
    t.strictSame([...new Set(ids)].length, ids.length, "no id comes twice");
  });
};
