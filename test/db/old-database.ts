import { readdirSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import type { Test } from "tap";
import { migrations } from "../../db/sqlite/migrations/index.js";
import { addFunctions } from "../../db/sqlite/engine/upgrade.js";
import { keyOf, worldOf } from "../helper.js";
import { testdir } from "../testdir.js";

export const [first, ...later] = migrations as [string, ...string[]];
export const latest = 1 + later.length;

/** A database as the first version made it, with a world in it. */
export function versionOne(t: Test, more = ""): string {
  const dataDir = testdir(t);
  const db = open(dataDir);
  db.pragma("journal_mode = WAL");
  db.exec(first);
  db.pragma(`application_id = ${0x466f7972}`);
  db.pragma("user_version = 1");
  const { id, title, domain, config, permission_config } = worldOf("old");
  db.prepare(
    "INSERT INTO worlds (id, title, config, permission_config, domain) VALUES (?, ?, ?, ?, ?)",
  ).run(
    id,
    title,
    JSON.stringify(config),
    JSON.stringify(permission_config),
    domain,
  );
  const { issuer, audience } = keyOf("old");
  db.prepare("INSERT INTO world_issuers VALUES (?, ?, ?)").run(
    issuer,
    audience,
    id,
  );
  db.exec(more);
  db.close();
  return dataDir;
}

/** A database as a version made it, with the world of {@link versionOne} and more in it. */
export function versionOf(t: Test, version: number, more: string): string {
  const dataDir = versionOne(t);
  const db = open(dataDir);
  addFunctions(db);
  for (const migration of later.slice(0, version - 1)) db.exec(migration);
  db.pragma(`user_version = ${version}`);
  db.pragma("secure_delete = ON");
  db.exec(more);
  db.close();
  return dataDir;
}

export const open = (dataDir: string, name = "foyer.db"): Database.Database =>
  new Database(join(dataDir, name));

/** What a database says of its version and worlds. */
export function look(dataDir: string, name?: string) {
  const db = open(dataDir, name);
  try {
    return {
      version: db.pragma("user_version", { simple: true }),
      worlds: db.prepare("SELECT id FROM worlds").pluck().all(),
      sound: db.pragma("integrity_check", { simple: true }),
    };
  } finally {
    db.close();
  }
}

export const copiesIn = (dataDir: string) =>
  readdirSync(dataDir).filter((name) => name.includes(".v"));
