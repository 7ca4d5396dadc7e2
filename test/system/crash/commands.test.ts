import { randomUUID } from "node:crypto";
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import t, { type Test } from "tap";
import { LocalFiles } from "../../../db/blobs/folder/files.js";
import { openSqliteStore } from "../../../db/sqlite/index.js";
import { migrations } from "../../../db/sqlite/migrations/index.js";
import { finished, unfinished } from "../../files.js";
import { foyerProcess, spawnFoyer, startFoyer, worldOf } from "../../helper.js";
import { Random } from "../../simulation/random.js";
import { plan } from "./plan.js";
import { testdir } from "../../testdir.js";

// Kills commands in the middle of their work: what they were to do is done
// wholly or not at all, and the same command can simply be given again.

const { rounds, seed } = plan(7);
const ROOMS = 2000;
const FILES = 40;
const OLD_WORLDS = 2000;

/** What a round begins with; each has a copy of its own of what it changes. */
interface Place {
  /** The folder that the command works on. */
  dataDir: string;
  /** For what it writes elsewhere. */
  out: string;
}

interface Case {
  /** Which of the templates the folder is a copy of. */
  template: "full" | "old" | "none";
  args: (place: Place) => string[];
  /** Whether it was done in spite of all; and that it was not done by half. */
  judge: (t: Test, place: Place) => Promise<boolean>;
}

const side = testdir(t, { full: {}, old: {} });
const template = (name: string) => join(side, name);
const archive = template("full.tar");
const document = template("full.json");

const cases: Record<string, Case> = {
  migration: {
    template: "old",
    args: () => ["upgrade"],
    async judge(t, { dataDir }) {
      const again = await foyerProcess(t, dataDir, ["upgrade"]);
      t.equal(again.code, 0, again.stderr);
      const list = await foyerProcess(t, dataDir, ["world", "list"]);
      t.equal(list.stdout.trim().split("\n").length, OLD_WORLDS);
      const copies = readdirSync(dataDir).filter((n) => n.includes(".v1"));
      t.match(copies, [/^foyer\.db\.v1-\d{8}T\d{6}Z$/], "one copy");
      t.equal(copies.length, 1);
      const copy = new Database(join(dataDir, copies[0]!), { readonly: true });
      t.equal(copy.pragma("integrity_check", { simple: true }), "ok");
      t.equal(copy.pragma("user_version", { simple: true }), 1);
      copy.close();
      return again.stderr === "";
    },
  },
  backup: {
    template: "full",
    args: ({ out }) => ["backup", join(out, "a.tar")],
    async judge(t, { dataDir, out }) {
      const done = existsSync(join(out, "a.tar"));
      const next = await foyerProcess(t, dataDir, [
        "backup",
        join(out, "b.tar"),
      ]);
      t.equal(next.code, 0, next.stderr);
      const names = done ? ["a.tar", "b.tar"] : ["b.tar"];
      t.strictSame(
        readdirSync(out).filter((name) => /tar$|lock/.test(name)),
        names,
      );
      for (const name of done ? names : []) {
        const to = join(out, `from-${name}`);
        t.match(await foyerProcess(t, to, ["restore", join(out, name)]), {
          code: 0,
        });
      }
      return done;
    },
  },
  restore: {
    template: "none",
    args: () => ["restore", archive],
    async judge(t, { dataDir }) {
      const first = await foyerProcess(t, dataDir, ["world", "list"]);
      const done = existsSync(join(dataDir, "foyer.db")) && first.code === 0;
      if (done && first.stdout.startsWith("full")) {
        await whole(t, dataDir);
        return true;
      }
      // It was killed before it had begun, or while it was under way.
      t.match(
        first.stderr,
        /^foyer: .*(there is no database in|a restore into it) .*\n$/,
      );
      const again = await foyerProcess(t, dataDir, ["restore", archive]);
      t.equal(again.code, 0, again.stderr);
      await whole(t, dataDir);
      return false;
    },
  },
  import: {
    template: "none",
    args: () => ["world", "import", document],
    async judge(t, { dataDir }) {
      const list = await foyerProcess(t, dataDir, ["world", "list"]);
      const done = list.stdout.startsWith("full");
      const again = await foyerProcess(t, dataDir, [
        "world",
        "import",
        document,
      ]);
      t.equal(again.code, done ? 1 : 0, again.stderr);
      t.match(await check(t, dataDir), { worlds: 1, rooms: ROOMS });
      return done;
    },
  },
  clone: {
    template: "full",
    args: () => [
      ...["world", "clone", "full", "copy"],
      ...["--title", "Copy", "--domain", "copy.test"],
    ],
    async judge(t, { dataDir }) {
      const show = await foyerProcess(t, dataDir, ["world", "show", "copy"]);
      const done = show.code === 0;
      const worlds = done ? 2 : 1;
      t.match(await check(t, dataDir), { worlds, rooms: worlds * ROOMS });
      return done;
    },
  },
  "file delete": {
    template: "full",
    args: ({ dataDir }) => ["file", "delete", "full", oneOf(dataDir), "--yes"],
    async judge(t, { dataDir }) {
      const { files } = await check(t, dataDir);
      const server = await startFoyer(t, dataDir);
      t.strictSame(await unfinished(dataDir), [], "swept");
      const left = await finished(dataDir);
      t.equal(left.length, files, "the record and the bytes, or neither");
      server.signal("SIGTERM");
      await server.finished;
      t.match(await check(t, dataDir), { worlds: 1, files });
      return files === FILES - 1;
    },
  },
  "world delete": {
    template: "full",
    args: () => ["world", "delete", "full", "--yes"],
    async judge(t, { dataDir }) {
      const { worlds } = await check(t, dataDir);
      const server = await startFoyer(t, dataDir);
      t.strictSame(await unfinished(dataDir), [], "swept");
      const left = await finished(dataDir);
      t.equal(left.length, worlds * FILES, "with its files, or without both");
      server.signal("SIGTERM");
      await server.finished;
      t.match(await check(t, dataDir), { worlds });
      return worlds === 0;
    },
  },
};

async function check(t: Test, dataDir: string) {
  const { code, stdout } = await foyerProcess(t, dataDir, ["check", "--json"]);
  t.equal(code, 0, stdout);
  return JSON.parse(stdout) as { worlds: number; files: number };
}

/** The id of one of the files of a folder, by its name. */
const oneOf = (dataDir: string) =>
  readdirSync(join(dataDir, "media/pub/full"))[0]!.split(".")[0]!;

const whole = async (t: Test, dataDir: string) =>
  t.match(await check(t, dataDir), { worlds: 1, rooms: ROOMS, files: FILES });

/** A world with many rooms and files. */
async function furnish(dataDir: string): Promise<void> {
  const store = openSqliteStore(dataDir);
  const files = new LocalFiles(dataDir);
  const rooms = Array.from({ length: ROOMS }, (_, i) => ({
    id: randomUUID(),
    name: `Room ${i}`,
    description: "words ".repeat(100),
    module_config: [{ type: "chat.native" }],
    permission_config: {},
    sorting_priority: i % 7,
    revision: 1,
  }));
  await store.worlds.import({
    world: { ...worldOf("full"), revision: 1 },
    rooms,
  });
  const uploader = { tokenId: "u", traits: new Set<string>() };
  for (let i = 0; i < FILES; i++) {
    const key = `pub/full/${randomUUID()}.secretsecret.pdf`;
    const bytes = (async function* () {
      yield Buffer.alloc(200_000, `file ${i} `);
    })();
    await files.put(key, bytes, (stored) =>
      store.files.add("full", uploader, { key, ...stored }, 1e12),
    );
  }
  await files.close();
  await store.close();
}

/** A database as the first version made it. */
function furnishOld(dataDir: string): void {
  const db = new Database(join(dataDir, "foyer.db"));
  db.pragma("journal_mode = WAL");
  db.exec(migrations[0]!);
  db.pragma(`application_id = ${0x466f7972}`);
  db.pragma("user_version = 1");
  const insert = db.prepare(
    "INSERT INTO worlds (id, title, config, permission_config, domain) VALUES (?, ?, ?, '{}', ?)",
  );
  db.transaction(() => {
    for (let i = 0; i < OLD_WORLDS; i++) {
      const { config } = worldOf(`w${i}`);
      const theme = "colors ".repeat(500);
      const text = JSON.stringify({ ...config, theme });
      insert.run(`w${i}`, `World ${i}`, text, `w${i}.test`);
    }
  })();
  db.close();
}

void t.test(`${rounds} rounds, SEED=${seed}`, async (t) => {
  t.setTimeout(Number(process.env.TAP_TIMEOUT ?? 180) * 1000);
  await furnish(template("full"));
  furnishOld(template("old"));
  for (const [args, file] of [
    [["backup", archive]],
    [["world", "export", "full"], document],
  ] as const) {
    const { code, stdout, stderr } = await foyerProcess(
      t,
      template("full"),
      args,
    );
    t.equal(code, 0, stderr);
    if (file !== undefined) writeFileSync(file, stdout);
  }

  const random = new Random(seed);
  const names = Object.keys(cases);
  /** How long each takes when it is let alone, in milliseconds. */
  const takes = new Map<string, number>();
  const done: Record<string, string> = {};
  const place = (name: string): Place => {
    const root = join(side, "round");
    rmSync(root, { recursive: true, force: true });
    const dataDir = join(root, "data");
    const out = join(root, "out");
    mkdirSync(out, { recursive: true });
    const from = cases[name]!.template;
    if (from !== "none") cpSync(template(from), dataDir, { recursive: true });
    return { dataDir, out };
  };
  for (let round = 0; round < rounds; round++) {
    const name = names[round % names.length]!;
    const { args, judge } = cases[name]!;
    if (!takes.has(name)) {
      const { dataDir, out } = place(name);
      const started = performance.now();
      const { code, stderr } = await foyerProcess(
        t,
        dataDir,
        args({ dataDir, out }),
      );
      takes.set(name, performance.now() - started);
      t.equal(code, 0, stderr);
    }
    const here = place(name);
    // The first third is the start of the process.
    const moment = takes.get(name)! * (0.3 + 0.8 * random.next());
    const running = spawnFoyer(t, args(here), { DATA_DIR: here.dataDir });
    await new Promise((resolve) => setTimeout(resolve, moment));
    running.signal("SIGKILL");
    await running.finished;
    await t.test(`${round + 1}: ${name} after ${Math.round(moment)} ms`, (t) =>
      judge(t, here).then((was) => {
        done[name] = `${done[name] ?? ""}${was ? "1" : "0"}`;
      }),
    );
  }
  t.comment(`what was done when it was killed: ${JSON.stringify(done)}`);
});
