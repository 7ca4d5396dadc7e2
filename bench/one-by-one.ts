import { randomUUID } from "node:crypto";
import Database from "better-sqlite3";
import { join } from "node:path";
import { newFolder } from "./servers.js";

// Measures how many durable writes a second plain SQLite does when each write has a
// transaction of its own. The argument is the duration in seconds.

const seconds = Number(process.argv[2]);
const db = new Database(join(newFolder(), "one.db"));
db.pragma("journal_mode = WAL");
db.pragma("synchronous = FULL");
db.exec("CREATE TABLE rooms (id TEXT PRIMARY KEY, json TEXT) STRICT");
const insert = db.prepare("INSERT INTO rooms VALUES (?, ?)");
const json = JSON.stringify({ name: "A room", description: "x".repeat(200) });
const end = performance.now() + seconds * 1000;
let writes = 0;
while (performance.now() < end) {
  insert.run(randomUUID(), json);
  writes++;
}
console.log(writes / seconds);
