import {
  mkdirSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { open } from "node:fs/promises";
import { join } from "node:path";
import Database from "better-sqlite3";
import t, { type Test } from "tap";
import { headOf } from "../db/store-contract/setup.js";
import { foyer } from "../helper.js";
import { furnished } from "./furnished.js";

interface Report {
  findings: { subject: string; problem: string }[];
}

/** What a check finds, in both of its languages. */
async function findings(t: Test, dataDir: string) {
  const json = await foyer(dataDir, ["check", "--json"]);
  const { findings } = JSON.parse(json.stdout) as Report;
  t.equal(json.code, findings.length > 0 ? 1 : 0);
  return findings.map(({ subject, problem }) => `${subject} ${problem}`);
}

void t.test("what is well", async (t) => {
  const { dataDir } = await furnished(t, 2);
  t.same(await foyer(dataDir, ["check"]), {
    code: 0,
    stdout: "All is well: 1 world, 2 rooms, 2 files.\n",
    stderr: "",
  });
  t.same(await findings(t, dataDir), []);
  t.equal((await foyer(dataDir, ["check", "more"])).code, 2);
  const none = join(dataDir, "none");
  t.match(await foyer(none, ["check"]), {
    code: 1,
    stderr: `foyer: there is no database in ${none}\n`,
  });
});

void t.test("what is not", async (t) => {
  const { dataDir, store, files } = await furnished(t, 4);
  const media = (name: string) => join(files.root, "pub/demo", name);
  writeFileSync(media("0.pdf"), "bytes of pub/demo/X.pdf");
  truncateSync(media("1.pdf"), 3);
  rmSync(media("2.pdf"));
  writeFileSync(media("orphan"), "x");
  const head = await headOf(store);
  await store.close();
  const db = new Database(join(dataDir, "foyer.db"));
  db.pragma("foreign_keys = OFF");
  db.exec(`DELETE FROM log WHERE seq = 3;
    UPDATE view_groups SET rooms = 7;
    UPDATE worlds SET file_bytes = 1;
    INSERT INTO room_modules VALUES ('demo', 'none', 'm');
    INSERT INTO worlds (id, title, config, permission_config, domain) VALUES ('w', 'W', '{}', '{}', 'w');
    INSERT INTO users (id, world_id, client_id, profile, traits, last_seen, client_state) VALUES
      ('u1', 'demo', 'a', NULL, '[]', 0, NULL), ('u2', 'w', 'a', NULL, '[]', 0, NULL),
      ('u3', 'demo', 'b', '{', '[]', 0, NULL), ('u4', 'demo', 'c', NULL, '[', 0, NULL),
      ('u5', 'demo', 'd', NULL, '[]', 0, '{');
    INSERT INTO blocks VALUES ('demo', 'u1', 'u2');
    INSERT INTO log (world_id, seq, tag, at, type, author, detail) VALUES
      ('demo', 3, 1, 0, 'x', '{}', '{}'), ('demo', 900, 1, 0, 'x', '{}', '{'), ('', 7, 1, 0, 'x', '', '{}');
    INSERT INTO chat_events (world_id, id, tag, channel, type, timestamp, content) VALUES ('demo', 3, 1, 1, 0, 0, '{}');
    INSERT INTO announcements (id, world_id, text, state) VALUES ('a', 'none', 'x', 'draft');`);
  db.close();
  const expected = [
    "database a row of announcements refers to a row of worlds that does not exist",
    "database a row of blocks refers to a row of users that does not exist",
    "database a row of room_modules refers to a row of rooms that does not exist",
    "database the user u3 cannot be read",
    "database the user u4 cannot be read",
    "database the user u5 cannot be read",
    "database a view group of the world demo counts 7 rooms but has 2",
    "database the world demo counts 1 bytes of files but has 92",
    "database 1 event of chat without a channel",
    "database the world w has no last entry in its log",
    "database the log of all worlds names 2 as its last entry and has a later one",
    `database the log of the world demo names ${head} as its last entry and has a later one`,
    "database the log of the world demo has 1 number twice",
    "database the log of all worlds has 1 entry that cannot be read",
    "database the log of the world demo has 1 entry that cannot be read",
    "pub/demo/0.pdf has the wrong checksum",
    "pub/demo/1.pdf has 3 bytes, but its record says 23",
    "pub/demo/2.pdf is missing",
    "pub/demo/orphan has no record",
  ];
  t.same(await findings(t, dataDir), expected);
  t.same(await foyer(dataDir, ["check"]), {
    code: 1,
    stdout: expected.map((line) => `${line}\n`).join(""),
    stderr: "foyer: There are 19 findings.\n",
  });
});

void t.test("a damaged database", async (t) => {
  const { dataDir, store } = await furnished(t, 1);
  await store.close();
  // All but the schema, without which nothing can be checked.
  const db = new Database(join(dataDir, "foyer.db"), { readonly: true });
  const pages = db
    .prepare<[], number>(
      "SELECT pageno FROM dbstat WHERE name != 'sqlite_schema'",
    )
    .pluck()
    .all();
  db.close();
  const file = await open(join(dataDir, "foyer.db"), "r+");
  for (const page of pages.filter((page) => page > 4)) {
    await file.write(Buffer.alloc(512, 0xff), 0, 512, 4096 * (page - 1));
  }
  await file.close();
  const found = await findings(t, dataDir);
  t.match(found[0], /^database (Tree \d+|Freelist).* page \d+/, "where");
  t.ok(found.length > 1 && found.length < 20, "of much, the beginning");
  t.ok(found.every((line) => line.startsWith("database ")));
  t.match(await foyer(dataDir, ["backup", join(dataDir, "x.tar")]), {
    code: 1,
    stderr: /^foyer: .*(damaged|malformed).*restore .*backup\n$/,
  });
  writeFileSync(join(dataDir, "foyer.db"), "");
  t.match(await foyer(dataDir, ["check"]), {
    code: 1,
    stderr: /^foyer: .*uploaded files exist; restore a backup.*\n$/,
  });
  const empty = join(dataDir, "empty");
  mkdirSync(empty);
  writeFileSync(join(empty, "foyer.db"), "");
  for (const args of [["check"], ["world", "list"]]) {
    t.match(await foyer(empty, args), {
      code: 1,
      stderr: /^foyer: .*it is empty\n$/,
    });
    t.equal(statSync(join(empty, "foyer.db")).size, 0, "and stays so");
  }
  writeFileSync(join(dataDir, "foyer.db"), "no database at all".repeat(100));
  t.match(await foyer(dataDir, ["check"]), {
    code: 1,
    stderr: /^foyer: .*file is not a database; .*restore a backup\n$/,
  });
});

void t.test("what is under way is no finding", async (t) => {
  const { dataDir, store, files, keys } = await furnished(t, 2);
  const bytes = (async function* () {
    yield Buffer.from("new");
  })();
  await files.put("pub/demo/new.pdf", bytes, async () => {
    t.same(await findings(t, dataDir), [], "a file that is not yet recorded");
  });
  await files.remove("pub/demo/new.pdf");
  await files.discard(keys, async () => {
    const forgotten = await store.worlds.delete("demo");
    t.same(await findings(t, dataDir), [], "files that are not yet gone");
    return forgotten;
  });
  t.same(await findings(t, dataDir), []);
});
