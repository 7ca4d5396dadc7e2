import { rmSync, statSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import t from "tap";
import { check } from "../../db/maintenance/check.js";
import {
  foyer,
  foyerProcess,
  spawnFoyer,
  startFoyer,
  until,
  worldOf,
} from "../helper.js";
import { addFunctions } from "../../db/sqlite/engine/upgrade.js";
import {
  copiesIn,
  first,
  later,
  latest,
  look,
  open,
  versionOf,
  versionOne,
} from "./old-database.js";
import { expectOldAudit, INSERT_OLD_AUDIT } from "./old-audit.js";
import { message } from "./store-contract/chat-setup.js";
import { heldIn, openStore } from "../database.js";
import { testdir } from "../testdir.js";

void t.test("an old database is upgraded after a copy", async (t) => {
  const dataDir = versionOne(t);
  const dry = await foyer(dataDir, ["upgrade", "--dry-run"]);
  t.strictSame(dry, {
    code: 0,
    stdout: `The tables would change from version 1 to ${latest}.\n`,
    stderr: "",
  });
  t.same(look(dataDir), { version: 1, worlds: ["old"], sound: "ok" });
  t.same(copiesIn(dataDir), []);

  const { code, stdout, stderr } = await foyer(dataDir, ["upgrade"]);
  t.equal(code, 0);
  t.equal(stdout, `The tables have changed from version 1 to ${latest}.\n`);
  const [copy, ...others] = copiesIn(dataDir);
  t.same(others, []);
  t.match(copy, /^foyer\.db\.v1-\d{8}T\d{6}Z$/);
  t.equal(
    stderr,
    `foyer: The database was upgraded from version 1 to ${latest}. A copy of the old version is kept in ${join(dataDir, copy!)}.\n`,
  );
  t.same(look(dataDir), { version: latest, worlds: ["old"], sound: "ok" });
  t.same(look(dataDir, copy), { version: 1, worlds: ["old"], sound: "ok" });

  t.equal(
    statSync(join(dataDir, copy!)).mode & 0o777,
    0o600,
    "the copy is for its owner only",
  );

  for (const [args, says] of [
    [["upgrade"], "nothing has changed"],
    [["upgrade", "--dry-run"], "nothing would change"],
  ] as const) {
    const stdout = `The tables have version ${latest} already; ${says}.\n`;
    t.strictSame(await foyer(dataDir, args), { code: 0, stdout, stderr: "" });
  }
  t.strictSame(
    JSON.parse((await foyer(dataDir, ["upgrade", "--json"])).stdout),
    { version: latest, latest, changes: false },
  );
  const check = await foyer(dataDir, ["check"]);
  t.equal(check.code, 0, check.stdout);
  t.same(copiesIn(dataDir), [copy]);
});

void t.test("a new database is as all migrations leave one", async (t) => {
  const migrated = testdir(t);
  const db = open(migrated);
  addFunctions(db);
  for (const migration of [first, ...later]) db.exec(migration);
  db.close();
  const fresh = testdir(t);
  await openStore(t, fresh).close();

  const contentOf = (dataDir: string) => {
    const db = open(dataDir);
    const tables = db
      .prepare(
        "SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY type, name",
      )
      .all() as { type: string; name: string }[];
    const rows = tables
      .filter(({ type }) => type === "table")
      .map(({ name }) => [name, db.prepare(`SELECT * FROM "${name}"`).all()]);
    db.close();
    return { tables, rows };
  };
  const random = { at: undefined, tag: undefined };
  const withoutRandom = ({ tables, rows }: ReturnType<typeof contentOf>) => ({
    tables,
    rows: rows.map(([name, found]) => [
      name,
      (found as object[]).map((row) => ({ ...row, ...random })),
    ]),
  });
  const made = contentOf(fresh);
  t.ok(made.tables.length > 80);
  t.strictSame(
    withoutRandom(made),
    withoutRandom(contentOf(migrated)),
    "npm run tables mends it",
  );
});

void t.test("only serve and upgrade upgrade", async (t) => {
  const dataDir = versionOne(t);
  const commands = [
    "world list",
    "world show old",
    "world create b --title B --domain b.org",
    "token old",
    "user list old",
    "check",
    `backup ${join(testdir(t), "b.tar")}`,
  ];
  for (const command of commands) {
    t.strictSame(
      await foyer(dataDir, command.split(" ")),
      {
        code: 1,
        stdout: "",
        stderr: `foyer: cannot open the database in ${dataDir}: it has version 1 instead of ${latest}; stop the server, and run foyer upgrade\n`,
      },
      command,
    );
  }
  t.same(look(dataDir), { version: 1, worlds: ["old"], sound: "ok" });
  t.same(copiesIn(dataDir), []);

  const server = await startFoyer(t, dataDir);
  t.match(look(dataDir), { version: latest });
  server.signal("SIGTERM");
  await server.finished;
  t.equal((await foyer(dataDir, ["world", "list"])).code, 0);
  const nothing = join(dataDir, "nothing");
  t.match(await foyer(nothing, ["upgrade"]), {
    code: 1,
    stderr: `foyer: there is no database in ${nothing}\n`,
  });
});

void t.test("no upgrade while an older server serves", async (t) => {
  const dataDir = versionOne(t);
  // Every version reads by a connection that stays open, and knows no other lock.
  const old = new Database(join(dataDir, "foyer.db"), { readonly: true });
  old.prepare("SELECT count(*) FROM worlds").get();
  for (const command of ["upgrade", "serve", "serve --demo"]) {
    const quiet = { LOG_LEVEL: "silent" };
    t.strictSame(await foyer(dataDir, command.split(" "), quiet), {
      code: 1,
      stdout: "",
      stderr: `foyer: cannot open the database in ${dataDir}: another process has its version 1 open; stop all servers first, so that this Foyer can upgrade it\n`,
    });
    t.equal(old.pragma("user_version", { simple: true }), 1);
    t.same(copiesIn(dataDir), []);
  }
  const dry = await foyer(dataDir, ["upgrade", "--dry-run", "--json"]);
  t.same(JSON.parse(dry.stdout), { version: 1, latest, changes: true });
  // A command of before takes a moment.
  setTimeout(() => old.close(), 500);
  t.equal((await foyerProcess(t, dataDir, ["upgrade"])).code, 0);
  t.match(look(dataDir), { version: latest, worlds: ["old"], sound: "ok" });
});

const ROOM = "5f8b1c9e-3a52-4d0e-9f57-1f0a6a3f9f11";

/** A room with a channel of the number 1, and two users, in the world `old`. */
const FURNISHED = `
  INSERT INTO view_groups VALUES (1, 'old', '', 1);
  INSERT INTO rooms (id, world_id, view_group, name, description, module_config, permission_config,
      sorting_priority, name_folded, description_folded)
    VALUES ('${ROOM}', 'old', 1, 'R', '', '[]', '{}', 0, 'R', '');
  INSERT INTO users (id, world_id, token_id, traits, last_seen) VALUES
    ('ada', 'old', 'ada', '[]', 0), ('bob', 'old', 'bob', '[]', 0);
  INSERT INTO chat_channels (number, id, world_id) VALUES (1, '${ROOM}', 'old');
  INSERT INTO chat_members (channel, user_id) VALUES (1, 'ada');
`;

const body = (text: string) => JSON.stringify({ type: "text", body: text });

void t.test("remains of earlier edits in version 7 are erased", async (t) => {
  const secret = body("a secret in between");
  const dataDir = versionOf(
    t,
    7,
    `${FURNISHED}
    INSERT INTO chat_events (id, channel, type, sender, timestamp, replaces, content) VALUES
      (1, 1, 0, 'ada', 0, NULL, zeroblob(9)), (2, 1, 0, 'ada', 0, 1, '${secret}'),
      (3, 1, 0, 'ada', 0, 1, '${body("the last wording")}');
    INSERT INTO chat_edits VALUES (1, 3);
    UPDATE chat_channels SET last_event = 3, last_message = 3;`,
  );
  t.strictSame(heldIn(dataDir, [secret]), [secret]);
  const store = openStore(t, dataDir);
  t.match(copiesIn(dataDir), [/^foyer\.db\.v7-/]);
  rmSync(join(dataDir, copiesIn(dataDir)[0]!));
  t.strictSame(heldIn(dataDir, [secret]), [], "with its bytes");
  for (const event of [1, 2, 3]) {
    const { content } = (await store.chat.event("old", ROOM, event))!;
    t.match(content, "the last wording");
  }
});

void t.test("logs begin behind the chat of version 9", async (t) => {
  const { domain } = worldOf("new");
  const dataDir = versionOf(
    t,
    9,
    `${FURNISHED}
    INSERT INTO worlds (id, title, config, permission_config, domain)
      VALUES ('new', 'N', '{"JWT_secrets":[]}', '{}', '${domain}');
    INSERT INTO world_changes VALUES ('old', 1, 'x');
    INSERT INTO users (id, world_id, token_id, traits, last_seen) VALUES ('cy', 'new', 'cy', '[]', 0);
    INSERT INTO chat_channels (number, id, world_id, direct) VALUES (2, 'direct', 'new', 'cy,dan');
    INSERT INTO chat_members (channel, user_id) VALUES (2, 'cy');
    INSERT INTO chat_events (id, channel, type, sender, timestamp, replaces, deleted, gone, content) VALUES
      (1, 1, 0, 'ada', 0, NULL, 0, 1, zeroblob(9)),
      (2, 1, 1, 'ada', 1, NULL, 0, 0, '{"membership":"join"}'),
      (3, 1, 0, 'ada', 2, NULL, 0, 0, zeroblob(9)),
      (4, 2, 0, 'cy', 3, NULL, 0, 0, '${body("elsewhere")}'),
      (5, 9, 0, 'ada', 4, NULL, 0, 0, '${body("left behind")}'),
      (6, 1, 0, 'ada', 5, 3, 0, 0, '${body("edited")}'),
      (7, 1, 0, 'bob', 6, NULL, 1, 0, zeroblob(7)),
      (8, 1, 0, 'bob', 6, 7, 1, 0, zeroblob(0)),
      (9, 9, 0, 'ada', 4, 5, 0, 0, '${body("changed there")}');
    INSERT INTO chat_edits VALUES (3, 6), (7, 8), (5, 9);
    INSERT INTO chat_reactions VALUES (1, 3, 'x', 'bob'), (2, 5, 'x', 'bob');
    INSERT INTO chat_remains VALUES (9);
    INSERT INTO chat_readers VALUES ('ada', 1, 2, NULL);
    INSERT INTO chat_notifications VALUES ('ada', 1, 3);
    UPDATE chat_channels SET last_event = 8, last_message = 8 WHERE number = 1;
    UPDATE chat_channels SET last_event = 4, last_message = 4 WHERE number = 2;
    UPDATE sqlite_sequence SET seq = 20 WHERE name = 'chat_events';`,
  );
  const remains = ["left behind", "changed there"];
  t.strictSame(heldIn(dataDir, remains), remains);
  const store = openStore(t, dataDir);
  rmSync(join(dataDir, copiesIn(dataDir)[0]!));
  t.strictSame(heldIn(dataDir, remains), [], "no byte of deleted channels");
  const edited = { sender: "ada", content: body("edited") };
  const deleted = { sender: "bob", content: '{"type":"deleted"}' };
  const events = [
    { id: 2, sender: "ada", type: "channel.member" },
    { id: 3, ...edited, edited: 5, reactions: { x: ["bob"] } },
    { id: 6, ...edited, replaces: 3, edited: null },
    { id: 7, ...deleted, edited: 6 },
    { id: 8, ...deleted, replaces: 7 },
  ];
  t.match(await store.chat.events("old", ROOM, { limit: 9 }), events);
  t.match(await store.chat.unread("old", "ada"), {
    marks: [{ pointer: 2 }],
    notifications: [{ event: 3 }],
  });
  t.match(await store.log.since("old", 0, 99), {
    tag: 0,
    entries: [
      ...events.map((event, i) => ({
        seq: event.id,
        tag: 0,
        delivery: { event, previous: events[i - 1]?.id ?? 0 },
      })),
      { type: "log.began", seq: 21, by: { kind: "server" } },
    ],
  });
  const heads = await store.log.heads(["old", "new", ""]);
  t.strictSame(
    heads.map(({ seq }) => seq),
    [21, 21, 1],
  );
  t.ok(heads.every(({ tag }) => tag > 0));
  t.equal(new Set(heads.map(({ tag }) => tag)).size, 3, "random");
  t.match(await store.log.since("new", 20, 9), { tag: undefined });
  for (const { seq, tag } of heads.slice(0, 1)) {
    t.strictSame(await store.log.since("old", seq, 9), { tag, entries: [] });
  }
  const { event } = await store.chat.send("old", ROOM, message("ada"));
  t.equal(event.id, 22, "each world counts for itself");
  t.match(await store.chat.send("new", "direct", message("cy")), {
    event: { id: 22 },
    previous: 4,
  });
  await store.close();
  const { findings } = await check({ dataDir }, () => {});
  t.strictSame(findings, []);
});

void t.test("every row of version 10 has its world in 11", async (t) => {
  const rows = `
    INSERT INTO worlds (id, title, config, permission_config, domain)
      VALUES ('new', 'N', '{"JWT_secrets":[]}', '{}', 'new.example.org');
    INSERT OR REPLACE INTO log_heads VALUES ('old', 9, 4), ('new', 5, 6), ('', 1, 1);
    INSERT INTO users (id, world_id, token_id, traits, last_seen) VALUES ('cy', 'new', 'cy', '[]', 0);
    INSERT INTO room_modules VALUES ('${ROOM}', 'chat.native');
    INSERT INTO files VALUES ('pub/old/b.s.pdf', 'old', 'bob', 1, '00', 1000);
    INSERT INTO files VALUES ('pub/old/a.s.pdf', 'old', 'ada', 2, '00', 1000);
    INSERT INTO announcements VALUES (4, 'a4', 'old', 'x', NULL, 'active');
    INSERT INTO chat_events (number, world_id, id, tag, channel, type, sender, timestamp, gone, content) VALUES
      (1, 'old', 3, 7, 1, 0, 'ada', 0, 1, zeroblob(9)), (2, 'old', 4, 7, 1, 0, 'ada', 0, 0, '${body("one")}'),
      (5, 'old', 5, 7, 8, 0, 'ada', 0, 0, '${body("left")}');
    INSERT INTO chat_reactions VALUES (3, 'old', 4, '+1', 'bob'), (2, 'old', 4, '+1', 'ada');
    INSERT INTO chat_remains VALUES (8), (9);
    INSERT INTO chat_readers VALUES ('ada', 1, 4, NULL);
    INSERT INTO chat_notifications VALUES ('bob', 1, 4);
    UPDATE chat_channels SET last_event = 4, last_message = 4;
    INSERT INTO questions (number, id, room_id, sender, content, state, timestamp, score)
      VALUES (5, 'q', '${ROOM}', 'ada', 'why?', 'visible', 0, 2);
    INSERT INTO question_votes VALUES (1, 5, 'bob'), (2, 5, NULL);
    INSERT INTO polls (number, id, room_id, content, state, poll_type, timestamp, changed)
      VALUES (3, 'p', '${ROOM}', 'which?', 'open', 'choice', 0, 1);
    INSERT INTO poll_options VALUES (7, 'o', 3, 'a', 1, 1);
    INSERT INTO poll_ballots VALUES (2, 3, 'ada', 1);
    INSERT INTO poll_votes VALUES (2, 7);
    INSERT INTO log (world_id, seq, tag, at, type, author, detail, data)
      VALUES ('old', 9, 4, 0, 'x', '{"kind":"server"}', '{}', '{"text":"kept"}');
    INSERT INTO blocks VALUES ('ada', 'bob'), ('ada', 'cy');
    UPDATE sqlite_sequence SET seq = 40 WHERE name = 'questions';
    UPDATE worlds SET file_bytes = 3 WHERE id = 'old';`;
  const dataDir = versionOf(t, 10, `${FURNISHED}${rows}`);
  const store = openStore(t, dataDir);
  await until(() => !heldIn(dataDir, ["left"]).includes("left"));
  t.match(await store.files.list("old", { page: 1, pageSize: 9 }), {
    files: [{ id: "a" }, { id: "b" }],
  });
  t.match(await store.chat.events("old", ROOM, { limit: 9 }), [
    { id: 4, reactions: { "+1": ["ada", "bob"] } },
  ]);
  t.match(await store.log.since("old", 5, 9), {
    entries: [{ seq: 9, tag: 4 }],
  });
  t.match(await store.users.blocked("old", "ada"), [{ id: "bob" }]);
  t.match(await store.questions.seen("old", ROOM, "bob", false, 9, 999), [
    { id: "q", voted: true, score: 2 },
  ]);
  t.strictSame(await store.polls.ballots("old", ROOM, "ada"), [
    { poll: "p", options: ["o"] },
  ]);
  await store.close();
  const db = open(dataDir);
  t.same(
    db.prepare("SELECT name, seq FROM sqlite_sequence ORDER BY name").all(),
    [
      { name: "chat_channels", seq: 1 },
      { name: "questions", seq: 40 },
    ],
  );
  t.same(db.prepare("SELECT * FROM chat_remains").all(), []);
  const names = db
    .prepare("SELECT name FROM sqlite_schema WHERE name LIKE 'old%'")
    .all();
  t.same(names, []);
  db.close();
  const { findings } = await check({ dataDir }, () => {});
  const others = findings.filter(({ problem }) => problem !== "is missing");
  t.strictSame(others, [], "but the files");
});

void t.test("the audit of version 19 becomes a part of the log", async (t) => {
  const dataDir = versionOf(t, 19, INSERT_OLD_AUDIT);
  const store = openStore(t, dataDir);
  const { tag, entries } = await store.log.since("old", 1, 9);
  t.equal(typeof tag, "number");
  t.notOk("hidden" in entries[0]!);
  await expectOldAudit(t, store);
  await store.close();
  const { findings } = await check({ dataDir }, () => {});
  t.strictSame(findings, []);
});

void t.test(
  "an upgrade that is killed leaves the one or the other",
  async (t) => {
    const COUNT = 20_000;
    const dataDir = versionOf(
      t,
      9,
      `${FURNISHED}
    WITH RECURSIVE n (id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM n WHERE id < ${COUNT})
      INSERT INTO chat_events (id, channel, type, sender, timestamp, content)
      SELECT id, 1, 0, 'ada', id, '${body("message")}' FROM n;
    UPDATE chat_channels SET last_event = ${COUNT}, last_message = ${COUNT};
    WITH RECURSIVE n (id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM n WHERE id < ${COUNT / 10})
      INSERT INTO questions (id, room_id, sender, content, state, timestamp, score)
      SELECT id, '${ROOM}', 'ada', 'why?', 'visible', id, 1 FROM n;
    INSERT INTO question_votes (question, user_id) SELECT number, 'bob' FROM questions;`,
    );
    const versions: unknown[] = [];
    let code: number | null = null;
    // So that it is killed in each phase, on any machine.
    for (let patience = 50; code !== 0; patience *= 1.25) {
      const upgrade = spawnFoyer(t, ["upgrade"], { DATA_DIR: dataDir });
      const timer = setTimeout(() => upgrade.signal("SIGKILL"), patience);
      ({ code } = await upgrade.finished);
      clearTimeout(timer);
      const { version, sound } = look(dataDir);
      t.equal(sound, "ok");
      versions.push(version);
    }
    t.ok(versions.length > 3, "it was killed");
    t.strictSame(new Set(versions), new Set([9, latest]));
    t.equal(copiesIn(dataDir).length, 1);
    const store = openStore(t, dataDir);
    const { event } = await store.chat.send("old", ROOM, message("ada"));
    t.equal(event.id, COUNT + 2);
    const { entries } = await store.log.since("old", 0, COUNT + 9);
    t.equal(entries.length, COUNT + 2);
    await store.close();
    const { findings } = await check({ dataDir }, () => {});
    t.strictSame(findings, []);
  },
);

void t.test("a new database has nothing to copy", async (t) => {
  const dataDir = testdir(t);
  const { code, stderr } = await foyer(dataDir, [
    "world",
    "create",
    "a",
    "--title",
    "A",
    "--domain",
    "a.org",
  ]);
  t.same([code, stderr], [0, ""]);
  t.same(copiesIn(dataDir), []);
});

void t.test("an upgrade that fails leaves all as it was", async (t) => {
  const dataDir = versionOne(t, "CREATE TABLE files (odd)");
  for (const command of ["upgrade", "serve"]) {
    const args = command.split(" ");
    const quiet = { LOG_LEVEL: "silent" };
    const { code, stdout, stderr } = await foyer(dataDir, args, quiet);
    t.same([code, stdout], [1, ""]);
    t.equal(
      stderr,
      `foyer: cannot open the database in ${dataDir}: the upgrade to version ${latest} failed, and changed nothing: table files already exists\n`,
    );
    t.same(copiesIn(dataDir), [], "copies do not pile up");
    t.same(look(dataDir), { version: 1, worlds: ["old"], sound: "ok" });
    const tables = open(dataDir);
    t.notOk(
      tables.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'users'").get(),
    );
    tables.close();
  }
});
