import { randomUUID } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import Database from "better-sqlite3";
import t, { type Test } from "tap";
import type { Store } from "../../../db/contract/store.js";
import { importDocument } from "../../../db/program-imports.js";
import { exported, openStore } from "../../support/database.js";
import { foyerProcess, worldOf } from "../../support/helper.js";
import { NIGHT } from "../../support/night.js";
import { testdir } from "../../support/testdir.js";
import { documentOf } from "./store-contract/program.js";

// A write in one world never waits for long work on another. By default, this checks that writes
// commit in the meantime. The nightly run uses the largest workloads and measures the wait.

const USERS = NIGHT ? 100_000 : 1000;
const MESSAGES = NIGHT ? 100_000 : 1000;
// A smaller program would be imported in a single write.
const SESSIONS = NIGHT ? 5000 : 2100;

/** Maximum wait of a write in the nightly run, in milliseconds. */
const LONGEST_MS = 50;

/** Returns the lines of a document for a world with many users and messages. */
async function crowded(store: Store, id: string): Promise<string[]> {
  await store.worlds.create(worldOf(id));
  const { id: room } = (await store.rooms.create(id, { name: "Hall" })).value;
  const user = await store.users.enter(id, { clientId: "first", traits: new Set() });
  await store.chat.join(id, room, user.id);
  const content = { type: "text", body: "x".repeat(100) };
  const { event } = await store.chat.send(id, room, { sender: user.id, content });
  const { lines } = await exported(store, id, { history: true });
  await store.worlds.delete(id);
  const after = (table: string) => lines.indexOf(`"${table}":[`) + 1;
  const events = lines.findIndex((line) => line.includes(content.body));
  const message = lines[events]!.replace(/,$/, "");
  const { id: last } = JSON.parse(message) as { id: number };
  const number = `"id":${last}`;
  lines.splice(
    events,
    1,
    ...Array.from({ length: MESSAGES }, (_, i) =>
      message.replace(number, `"id":${last + i}`).concat(i + 1 < MESSAGES ? "," : ""),
    ),
  );
  const channel = after("chat_channels");
  lines[channel] = lines[channel]!.replace(
    new RegExp(`("last_(?:event|message)"):${event.id}\\b`, "g"),
    `$1:${last + MESSAGES - 1}`,
  );
  const first = lines[after("users")]!.replace(/,$/, "");
  const others = Array.from(
    { length: USERS },
    (_, i) => `${first.replace(user.id, randomUUID()).replace('"first"', `"other ${i}"`)},`,
  );
  lines.splice(after("users"), 0, ...others);
  return lines;
}

void t.test("writes of a world beside long work on another", async (t) => {
  const dataDir = testdir(t);
  const store = openStore(t, dataDir);
  await store.worlds.create(worldOf("other"));
  const user = await store.users.enter("other", { clientId: "a", traits: new Set() });
  const lines = await crowded(store, "demo");
  // A reader of an old snapshot that stays open throughout.
  const reader = new Database(join(dataDir, "foyer.db"), { readonly: true });
  t.teardown(() => reader.close());
  reader.exec("BEGIN");
  reader.prepare("SELECT count(*) FROM worlds").get();

  /** Writes continuously to another world while `work` runs. */
  const beside = async <T>(t: Test, work: () => Promise<T>): Promise<T> => {
    let isOver = false;
    const waits: number[] = [];
    const writing = (async () => {
      for (let i = 0; !isOver; i++) {
        const started = performance.now();
        await store.users.update("other", user.id, { profile: { display_name: `${i}` } });
        waits.push(performance.now() - started);
        await sleep(1);
      }
    })();
    const result = await work();
    isOver = true;
    await writing;
    waits.sort((a, b) => a - b);
    const longest = waits.at(-1)!;
    t.comment(`${waits.length} writes, of which the slowest took ${Math.round(longest)} ms`);
    t.ok(waits.length > 1, "others write in between");
    if (NIGHT) t.ok(longest <= LONGEST_MS, `${longest} ms`);
    return result;
  };

  const command =
    (...args: string[]) =>
    async (t: Test) => {
      const { code, stderr } = await beside(t, () => foyerProcess(t, dataDir, args));
      t.equal(code, 0, stderr);
    };
  const titles = Array.from({ length: SESSIONS }, (_, i) => `Talk ${i}`);
  const folder = testdir(t);
  const file = join(folder, "demo.json");
  writeFileSync(file, lines.join("\n"));
  const works: [string, (t: Test) => Promise<unknown>][] = [
    ["an import", (t) => beside(t, () => store.worlds.import({ file }))],
    ["an export by a command", command("world", "export", "demo", "--with-history")],
    ["a backup by a command", command("backup", join(folder, "backup.tar"))],
    [
      "an import of a program",
      (t) => {
        // The import is planned in a thread on a server, so only its write is measured here.
        const { program } = store;
        const writing: Store["program"]["import"] = (...args) =>
          beside(t, () => program.import(...args));
        return importDocument(
          { ...store, program: { ...program, import: writing } },
          "demo",
          documentOf(titles),
          { createRooms: true },
          { sees: () => true, hosts: [] },
        );
      },
    ],
    ["a deletion", (t) => beside(t, () => store.worlds.delete("demo"))],
    ["an import by a command", command("world", "import", file)],
    ["a deletion by a command", command("world", "delete", "demo", "--yes")],
  ];
  for (const [name, work] of works) await t.test(name, work);
});
