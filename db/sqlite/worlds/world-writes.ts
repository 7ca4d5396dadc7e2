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
import { INDEX } from "../../log/entries.js";
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
import { channelRemoval } from "../chat/chat-remains.js";
import type { Sql } from "../../shared/sql.js";
import type { Connection } from "../engine/connection.js";
import { blankAudit, ERASED_TABLES } from "../erasure/scrub.js";
import type { WriteLog } from "../log/log-writes.js";

/** The writes of worlds. Each runs inside a transaction of its caller. */
export function worldWrites(db: Connection, sql: Sql, log: WriteLog) {
  const select = db.prepare<[string], WorldRow>(
    `SELECT ${WORLD_COLUMNS} FROM worlds WHERE id = ?`,
  );
  const insert = db.prepare<WorldRow>(
    `INSERT INTO worlds (${WORLD_COLUMNS})
     VALUES (@id, @title, @config, @permission_config, @domain, @revision)`,
  );
  const update = db.prepare<WorldRow>(
    `UPDATE worlds SET title = @title, config = @config, permission_config = @permission_config,
       domain = @domain, revision = @revision WHERE id = @id`,
  );
  const removeChannels = channelRemoval(db, log);
  const remove = db.prepare<[string]>("DELETE FROM worlds WHERE id = ?");
  const forget = db.prepare<[number, string]>(
    "UPDATE log_heads SET pruned = ? WHERE world_id = ?",
  );
  const clearAudit = db.prepare<[string]>(
    blankAudit("world_id = ? AND audit IS NOT NULL"),
  );
  const selectFiles = db
    .prepare<[string], string>("SELECT key FROM files WHERE world_id = ?")
    .pluck();
  const selectRivals = db
    .prepare<{ id: string; host: string; domain: string }, string>(
      // In ASCII, the semicolon follows the colon, so all ports are between them.
      `SELECT domain FROM worlds WHERE id != @id AND
         (domain = @host OR domain = @domain OR (domain > @host || ':' AND domain < @host || ';'))`,
    )
    .pluck();
  const clearIssuers = db.prepare<[string]>(
    "DELETE FROM world_issuers WHERE world_id = ?",
  );
  const insertIssuer = db.prepare<[string, string, string]>(
    "INSERT OR IGNORE INTO world_issuers (issuer, audience, world_id) VALUES (?, ?, ?)",
  );

  function indexIssuers(worldId: string, config: WorldConfig): void {
    clearIssuers.run(worldId);
    for (const { issuer, audience } of signersOf(config)) {
      insertIssuer.run(issuer, audience, worldId);
    }
  }

  /** Refuses a domain that conflicts with another world's. */
  function claimDomain({ id, domain }: WorldRow): void {
    const rivals = selectRivals.all({ id, host: hostOf(domain), domain });
    expectFreeDomain(domain, rivals);
  }

  /** @throws {StoreError} `absent` or `changed`. */
  function find(id: string, versions: readonly string[] | undefined): WorldRow {
    const row = select.get(id);
    if (!row) throw absent("world");
    expectVersion(() => readWorld(row).version, versions);
    return row;
  }

  /** Writes a row if it has changed. */
  async function save(old: WorldRow, row: WorldRow): Promise<WorldRow> {
    const changes = worldFieldChanges(old, row);
    log.append(row.id, { type: "world.updated", changes });
    if (sameValues(old, row)) return old;
    row.revision++;
    if (row.domain !== old.domain) claimDomain(row);
    update.run(row);
    await renewProgram(sql, old, row);
    if (isFoundOtherwise(old, row)) {
      log.append(INDEX, { type: "world.updated", changes });
    }
    return row;
  }

  /** Appends that a world is there or is no more. */
  function note(id: string, type: "world.created" | "world.deleted"): void {
    for (const world of [id, INDEX]) log.append(world, { type });
  }

  /** Creates a world. The caller notes it. */
  function addWorld(world: WorldCopy["world"]): WorldRow {
    if (select.get(world.id)) throw takenWorld(world.id);
    const row = newWorldRow(world);
    claimDomain(row);
    insert.run(row);
    indexIssuers(world.id, world.config);
    return row;
  }

  return {
    addWorld,

    /** Appends that a world was created, after all that came with it. */
    noteCreated: (id: string): void => note(id, "world.created"),

    createWorld(world: WorldCopy["world"]): WorldRow {
      const row = addWorld(world);
      note(row.id, "world.created");
      return row;
    },

    async updateWorld(
      id: string,
      changes: WorldChanges,
      versions?: readonly string[],
    ): Promise<WorldRow> {
      const old = find(id, versions);
      const row = changedWorld(old, changes);
      if (isFoundOtherwise(old, row)) {
        indexIssuers(id, JSON.parse(row.config) as WorldConfig);
      }
      return save(old, row);
    },

    async configureWorld(
      id: string,
      settings: WorldSettings,
      versions?: readonly string[],
    ): Promise<WorldRow> {
      const old = find(id, versions);
      return save(old, configuredWorld(old, settings));
    },

    deleteWorld(id: string, noted?: readonly string[]): string[] {
      const keys = selectFiles.all(id);
      expectNoted(keys, noted);
      removeChannels.ofWorld(id);
      if (remove.run(id).changes === 0) throw absent("world");
      log.erased(...ERASED_TABLES);
      log.erasedData(id);
      clearAudit.run(id);
      // A world that gets this id does not show what happened before.
      forget.run(log.next(id), id);
      note(id, "world.deleted");
      return keys;
    },
  };
}
