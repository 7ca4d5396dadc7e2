import { INDEX } from "../../../db/log/entries.js";
import { expectOldAudit, INSERT_OLD_AUDIT } from "../../db/old-audit.js";
import { worldOf } from "../../helper.js";
import { olderDatabase, openNode, type Part } from "./setup.js";

/** Databases of older versions. */
export const upgrading: Part = async (t, server) => {
  /** A database of a version, with two worlds and some chat. @returns its address. */
  const older = async (version: number) => {
    const { url, run } = await olderDatabase(server, version);
    await run(
      `INSERT INTO worlds (id, title, config, permission_config, domain)
         VALUES ('demo', '', '{"JWT_secrets":[]}', '{}', 'a.example.org'),
           ('quiet', '', '{"JWT_secrets":[]}', '{}', 'b.example.org');
       INSERT INTO view_groups (world_id, id, rule, rooms) VALUES ('demo', 1, '', 1);
       INSERT INTO rooms (world_id, id, view_group, name, description, module_config,
         permission_config, sorting_priority, name_folded, description_folded)
         VALUES ('demo', 'hall', 1, 'Hall', '', '[]', '{}', 1, 'HALL', '');
       INSERT INTO users (world_id, id, token_id, traits, last_seen)
         VALUES ('demo', 'ada', 'ada', '[]', 1);
       INSERT INTO chat_channels (world_id, number, id, last_event, last_message)
         VALUES ('demo', 1, 'hall', 13, 13);
       INSERT INTO chat_events (world_id, id, channel, type, sender, timestamp, content, replaces)
         VALUES ('demo', 11, 1, 0, 'ada', 1, '{"body":"first"}', NULL),
           ('demo', 12, 1, 0, 'ada', 2, '{"body":"an edit between"}', 11),
           ('demo', 13, 1, 0, 'ada', 3, '{"body":"the edit"}', 11),
           ('gone', 7, 9, 0, 'bob', 3, '{"body":"of a deleted world"}', NULL);
       INSERT INTO chat_edits VALUES ('demo', 11, 13);
       INSERT INTO chat_remains VALUES ('gone', 9);
       UPDATE chat_last SET id = 42`,
    );
    return url;
  };

  await t.test("the log begins above all ids of events", async (t) => {
    const { log, chat, worlds, rooms } = await openNode(t, await older(3));
    const heads = await log.heads(["demo", "quiet", INDEX, "gone", "new"]);
    t.strictSame(
      heads.map(({ seq }) => seq),
      [43, 43, 1, 43, 0],
    );
    const began = { type: "log.began", by: { kind: "server" } };
    for (const [i, world] of ["demo", "quiet", INDEX].entries()) {
      const { seq, tag } = heads[i]!;
      t.ok(tag > 0);
      const entry = (await log.since(world, 0, 10)).entries.at(-1)!;
      t.match(entry, { ...began, world, seq, tag });
      t.ok(Date.now() - entry.at < 600_000);
    }
    t.equal(new Set(heads.map(({ tag }) => tag)).size, 5);
    const events = await chat.events("demo", "hall", { limit: 10 });
    t.match(events, [
      { id: 11, content: '{"body":"the edit"}' },
      { id: 12 },
      { id: 13 },
    ]);
    const { event } = await chat.send("demo", "hall", {
      sender: "ada",
      content: { type: "text", body: "new" },
      volatile: true,
    });
    t.equal(event.id, 44);
    await rooms.update("demo", "hall", { name: "Halle" });
    t.match((await log.since("demo", 43, 10)).entries, [
      { type: "chat.event", seq: 44, delivery: { previous: 13 } },
      { type: "room.updated", seq: 45 },
    ]);
    // Its old events may not be erased yet.
    await worlds.create(worldOf("gone", { domain: "c.example.org" }));
    t.equal((await log.heads(["gone"]))[0]!.seq, 44);
  });

  await t.test(
    "the audit of version 12 becomes a part of the log",
    async (t) => {
      const { url, run } = await olderDatabase(server, 12);
      await run(
        `INSERT INTO worlds (id, title, config, permission_config, domain)
         VALUES ('old', '', '{"JWT_secrets":[]}', '{}', 'a.example.org');
       ${INSERT_OLD_AUDIT}`,
      );
      await expectOldAudit(t, await openNode(t, url));
    },
  );

  await t.test("content that was replaced is erased", async (t) => {
    const url = await older(1);
    const name = new URL(url).pathname.slice(1);
    await server.run("CREATE EXTENSION pageinspect", name);
    const left = async () =>
      server.run(
        `SELECT FROM generate_series(0, pg_relation_size('chat_events') / 8192 - 1) AS page,
           heap_page_items(get_raw_page('chat_events', page::int)) AS item
         WHERE position('an edit between'::bytea IN item.t_data) > 0`,
        name,
      );
    t.equal((await left()).length, 1);
    const { chat } = await openNode(t, url);
    t.strictSame(await left(), []);
    t.match(await chat.event("demo", "hall", 12), { content: /the edit/ });
  });
};
