import { renewProgram } from "../../shared/program/world-changes.js";
import type { WorldCopy } from "../../../schemas/documents/world-document.js";
import type { WorldChanges, WorldConfig } from "../../../schemas/worlds.js";
import {
  absent,
  expectNoted,
  expectVersion,
} from "../../rules/preconditions.js";
import {
  readWorld,
  sameValues,
  WORLD_COLUMNS,
  type WorldRow,
} from "../../rules/rows.js";
import type { WorldSettings } from "../../contract/store.js";
import {
  changedWorld,
  configuredWorld,
  expectFreeDomain,
  hostOf,
  isFoundOtherwise,
  newWorldRow,
  signersOf,
  takenWorld,
  worldFieldChanges,
} from "../../rules/world-rows.js";
import { removeChannelsOfWorld } from "../chat/channel-removal.js";
import type { Log } from "../log/log.js";
import { TABLES } from "../../copies/tables.js";
import type { Sql } from "../../shared/sql.js";

// The writes of worlds. Each runs in a transaction of its caller.

const SELECT = `SELECT ${WORLD_COLUMNS} FROM worlds WHERE id = $1`;

const INSERT = `INSERT INTO worlds (${WORLD_COLUMNS}) VALUES ($1, $2, $3, $4, $5, $6)`;

// Unchanged values are not written again, as they may be large.
const UPDATE = `UPDATE worlds SET title = $2, config = coalesce($3, config),
    permission_config = coalesce($4, permission_config), domain = $5, revision = $6
  WHERE id = $1`;

// In ASCII, the semicolon follows the colon, so all ports are between them.
const SELECT_RIVALS = `SELECT domain FROM worlds
  WHERE id <> $1 AND (domain IN ($2, $3) OR (domain > $2 || ':' AND domain < $2 || ';'))`;

const CLEAR_ISSUERS = "DELETE FROM world_issuers WHERE world_id = $1";

const INSERT_ISSUERS = `INSERT INTO world_issuers (world_id, issuer, audience)
  SELECT $1, issuer, audience FROM unnest($2::text[], $3::text[]) AS keys (issuer, audience)
  ON CONFLICT DO NOTHING`;

const CLEAR_AUDIT = `UPDATE log SET audit = NULL, changes = NULL
  WHERE world_id = $1 AND audit IS NOT NULL`;

/** The tables with what a world leaves. Events of chat are emptied later, and the log at once. */
const ERASED = TABLES.map(({ name }) => name).filter(
  (name) =>
    !/^(sequences|log|log_heads|chat_(events|edits|reactions))$/.test(name),
);

/**
 * Creates a world with a revision.
 * @throws {StoreError} `taken` on `id` or `domain`.
 */
export async function createWorld(
  sql: Sql,
  world: WorldCopy["world"],
): Promise<WorldRow> {
  if (await sql.one("SELECT 1 FROM worlds WHERE id = $1", [world.id])) {
    throw takenWorld(world.id);
  }
  const row = newWorldRow(world);
  await claimDomain(sql, row);
  const { id, title, config, permission_config, domain, revision } = row;
  await sql.run(INSERT, [
    id,
    title,
    config,
    permission_config,
    domain,
    revision,
  ]);
  await insertIssuers(sql, id, world.config);
  return row;
}

/** @see WorldStore.update */
export async function updateWorld(
  sql: Sql,
  log: Log,
  id: string,
  changes: WorldChanges,
  versions?: readonly string[],
): Promise<WorldRow> {
  const old = await find(sql, id, versions);
  const row = changedWorld(old, changes);
  if (isFoundOtherwise(old, row)) {
    await sql.run(CLEAR_ISSUERS, [id]);
    await insertIssuers(sql, id, JSON.parse(row.config) as WorldConfig);
  }
  return save(sql, log, old, row);
}

/** @see WorldStore.configure */
export async function configureWorld(
  sql: Sql,
  log: Log,
  id: string,
  settings: WorldSettings,
  versions?: readonly string[],
): Promise<WorldRow> {
  const old = await find(sql, id, versions);
  return save(sql, log, old, configuredWorld(old, settings));
}

/** @see WorldStore.delete */
export async function deleteWorld(
  sql: Sql,
  log: Log,
  id: string,
  noted?: readonly string[],
): Promise<string[]> {
  const keys = await sql.column<string>(
    "SELECT key FROM files WHERE world_id = $1",
    [id],
  );
  expectNoted(keys, noted);
  await removeChannelsOfWorld(sql, id);
  if ((await sql.run("DELETE FROM worlds WHERE id = $1", [id])) === 0) {
    throw absent("world");
  }
  log.appendToAll({ type: "world.deleted" });
  // A world that gets this id does not show what happened before.
  await sql.run("UPDATE log_heads SET pruned = $2 WHERE world_id = $1", [
    ...[id, log.last],
  ]);
  await sql.run(CLEAR_AUDIT, [id]);
  log.erased(...ERASED, "log");
  log.erasedData();
  return keys;
}

/** @throws {StoreError} `absent` or `changed`. */
async function find(
  sql: Sql,
  id: string,
  versions: readonly string[] | undefined,
): Promise<WorldRow> {
  const row = await sql.one<WorldRow>(SELECT, [id]);
  if (!row) throw absent("world");
  expectVersion(() => readWorld(row).version, versions);
  return row;
}

/** Writes a row if it has changed. */
async function save(
  sql: Sql,
  log: Log,
  old: WorldRow,
  row: WorldRow,
): Promise<WorldRow> {
  const changes = worldFieldChanges(old, row);
  const change = { type: "world.updated" as const, changes };
  if (sameValues(old, row)) {
    log.append(change);
    return old;
  }
  row.revision++;
  if (row.domain !== old.domain) await claimDomain(sql, row);
  const { config, permission_config } = row;
  await sql.run(UPDATE, [
    row.id,
    row.title,
    config === old.config ? null : config,
    permission_config === old.permission_config ? null : permission_config,
    row.domain,
    row.revision,
  ]);
  await renewProgram(sql, old, row);
  if (isFoundOtherwise(old, row)) log.appendToAll(change);
  else log.append(change);
  return row;
}

function insertIssuers(
  sql: Sql,
  id: string,
  config: WorldConfig,
): Promise<number> {
  const keys = signersOf(config);
  return sql.run(INSERT_ISSUERS, [
    id,
    keys.map(({ issuer }) => issuer),
    keys.map(({ audience }) => audience),
  ]);
}

/** Refuses a domain that conflicts with another world's. */
async function claimDomain(sql: Sql, { id, domain }: WorldRow): Promise<void> {
  const params = [id, hostOf(domain), domain];
  expectFreeDomain(domain, await sql.column<string>(SELECT_RIVALS, params));
}
