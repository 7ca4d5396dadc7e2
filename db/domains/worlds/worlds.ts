import { isDeepStrictEqual } from "node:util";
import type { WorldCopy } from "../../../schemas/documents/world-document.js";
import type { PermissionConfig } from "../../../schemas/plain/permissions.js";
import type { World, WorldChanges, WorldConfig } from "../../../schemas/worlds.js";
import {
  StoreError,
  type Versioned,
  type WorldSelection,
  type WorldSettingsUpdate,
  type WorldStore,
} from "../../contract/store.js";
import { INDEX } from "../../log/entries.js";
import { absent, expectNoted, expectVersion } from "../../rules/preconditions.js";
import { readWorld, sameValues, WORLD_COLUMNS, type WorldRow } from "../../rules/rows.js";
import {
  changedWorld,
  configuredWorld,
  expectFreeDomain,
  hostOf,
  affectsLookup,
  newWorldRow,
  signersOf,
  takenWorld,
  worldFieldChanges,
} from "../../rules/world-rows.js";
import { type Bound, domain, type DomainLog, type Reading, type Sql } from "../domain.js";
import { datesChanged, editorsChanged, viewersChanged } from "../program/stamps.js";
import { SlicedWork } from "../slices.js";
import { hideWorld, removeSlice } from "./removal.js";

/**
 * Maximum total size of cached issuers or hosts, in characters. Bounded because clients can request
 * arbitrary unknown names.
 */
const MAX_NAMES = 2 * 1024 * 1024;

const SELECT = `SELECT ${WORLD_COLUMNS} FROM worlds WHERE id = $1`;

const SELECT_AFTER = `SELECT ${WORLD_COLUMNS} FROM worlds WHERE id > $1 ORDER BY id LIMIT $2`;

/** Selects the world for a host name, or else the only world. */
const SELECT_BY_DOMAIN = `SELECT coalesce(
    (SELECT id FROM worlds WHERE domain IN ($1, $2) ORDER BY domain = $1 DESC LIMIT 1),
    (SELECT min(id) FROM (SELECT id FROM worlds LIMIT 2) AS two HAVING count(*) = 1))`;

const SELECT_ISSUING = `SELECT world_id FROM world_issuers
  WHERE foyer_digest(issuer) = foyer_digest($1) AND foyer_digest(audience) = foyer_digest($2)
    AND issuer = $1 AND audience = $2`;

function worldReads(sql: Reading): Pick<WorldStore, "get" | "at" | "list" | "issuing"> {
  const worlds = sql.cached<{ row: WorldRow; world: Versioned<World> } | undefined>("worlds");
  const hosts = sql.cached<string | null>("worlds", MAX_NAMES);
  const issuers = sql.cached<readonly string[]>("worlds", MAX_NAMES);

  const get = async (id: string): Promise<Versioned<World> | undefined> => {
    const known = worlds.find(id, id);
    if (known) return known.world;
    const found = await worlds.read(id, id, async () => {
      const row = await sql.one<WorldRow>(SELECT, [id]);
      if (!row) return { value: undefined, size: 0 };
      // The row and its JSON use about the same amount of memory.
      const size = 2 * (row.config.length + row.permission_config.length);
      const before = worlds.last(id);
      const isSame = before && sameValues(before.row, row);
      return { value: isSame ? before : { row, world: readWorld(row) }, size };
    });
    return found?.world;
  };

  return {
    get,

    async at(host) {
      const id = await hosts.read(INDEX, host, async () => {
        const hostname = host.replace(/:\d+$/, "");
        const found = await sql.value<string>(SELECT_BY_DOMAIN, [host, hostname]);
        return { value: found ?? null, size: 0 };
      });
      return id === null ? undefined : get(id);
    },

    list: async ({ after = "", limit }: WorldSelection) =>
      (await sql.all<WorldRow>(SELECT_AFTER, [after, limit])).map((row) => readWorld(row).value),

    async issuing(issuer, audience) {
      // Empty results are cached too, so that timing does not reveal whether an issuer exists.
      const key = JSON.stringify([issuer, audience]);
      const ids = await issuers.read(INDEX, key, async () => ({
        value: await sql.column<string>(SELECT_ISSUING, [issuer, audience]),
        size: 0,
      }));
      const found = await Promise.all(ids.map(get));
      return found.filter((world) => world !== undefined);
    },
  };
}

/** Changes the program versions that depend on the world's changed fields. */
async function renewProgram(sql: Sql, before: WorldRow, after: WorldRow): Promise<void> {
  const isOther = <T>(column: T, after: T, valueOf: (column: T) => unknown) =>
    column !== after && !isDeepStrictEqual(valueOf(column), valueOf(after));
  const [rules, newRules] = [before.permission_config, after.permission_config];
  if (isOther(rules, newRules, viewersIn)) await viewersChanged(sql, after.id);
  if (isOther(rules, newRules, editorsIn)) await editorsChanged(sql, after.id);
  if (isOther(before.config, after.config, datesIn)) {
    await datesChanged(sql, after.id);
  }
}

const rulesIn = (column: string) => JSON.parse(column) as PermissionConfig;

/** Returns the rule for rooms that have no rule of their own. */
const viewersIn = (column: string) => rulesIn(column)["room.view"];

const editorsIn = (column: string) => {
  const rules = rulesIn(column);
  return rules["program.update"] ?? rules["room.update"];
};

/** Returns the world settings that are part of every program. */
function datesIn(column: string): unknown[] {
  const { event, timezone, overrun_minutes } = JSON.parse(column) as Record<string, unknown>;
  return [event, timezone, overrun_minutes];
}

// Do not rewrite unchanged values, because they may be large.
const UPDATE = `UPDATE worlds SET title = $2, config = coalesce($3, config),
    permission_config = coalesce($4, permission_config), domain = $5, revision = $6
  WHERE id = $1`;

// In ASCII, the semicolon directly follows the colon, so this range covers the domain with any
// port.
const SELECT_RIVALS = `SELECT domain FROM worlds
  WHERE id <> $1 AND (domain IN ($2, $3) OR (domain > $2 || ':' AND domain < $2 || ';'))`;

const CLEAR_ISSUERS = "DELETE FROM world_issuers WHERE world_id = $1";

const SELECT_FILES = "SELECT key FROM files WHERE world_id = $1";

/** Creates the world writes. They return rows, because records cannot be sent between threads. */
const worldWrites = (sql: Sql, log: DomainLog) => ({
  async create(id: string, world: WorldCopy["world"]): Promise<WorldRow> {
    const row = await addWorld(sql, world);
    log.appendToAll(id, { type: "world.created" });
    return row;
  },

  async update(id: string, changes: WorldChanges, versions?: readonly string[]): Promise<WorldRow> {
    const old = await find(sql, id, versions);
    const row = changedWorld(old, changes);
    if (affectsLookup(old, row)) {
      await sql.run(CLEAR_ISSUERS, [id]);
      await insertIssuers(sql, id, JSON.parse(row.config) as WorldConfig);
    }
    return save(sql, log, old, row);
  },

  configure: (
    id: string,
    settings: WorldSettingsUpdate,
    versions?: readonly string[],
  ): Promise<WorldRow> => configureWorld(sql, log, id, settings, versions),

  async delete(id: string, noted?: readonly string[]): Promise<string[]> {
    const keys = await sql.column<string>(SELECT_FILES, [id]);
    expectNoted(keys, noted);
    if (!(await hideWorld(sql, id))) throw absent("world");
    await sql.run(CLEAR_ISSUERS, [id]);
    // A new world with the same id must not expose this world's history.
    await sql.run("UPDATE log_heads SET pruned = $2 WHERE world_id = $1", [id, log.next(id)]);
    await log.eraseAudit(id);
    log.appendToAll(id, { type: "world.deleted" });
    log.erasedData(id);
    return keys;
  },

  /** Removes some of a deleted world's rows. @returns whether nothing is left. */
  remove: (id: string, rows: number): Promise<boolean> => removeSlice(sql, log, id, rows),
});

/** Creates a world. Must be called within an exclusive write. @throws {StoreError} `taken` on `id` or `domain`. */
async function addWorld(sql: Sql, world: WorldCopy["world"]): Promise<WorldRow> {
  await claimWorld(sql, newWorldRow(world), null);
  return showWorld(sql, world);
}

/**
 * Claims a new world's id and checks that the domain is free. Must be called within an exclusive
 * write.
 * @param touched the current time if rows are loaded before the world becomes visible; otherwise,
 * null.
 * @throws {StoreError} `taken` on `id` or `domain`.
 */
export async function claimWorld(
  sql: Sql,
  row: WorldRow,
  touched: number | null = Date.now(),
): Promise<void> {
  await expectFreeWorld(sql, row.id, row.domain);
  await sql.insert("world_ids", [{ id: row.id, touched }]);
}

/**
 * Adds a new world's row. Must be called within an exclusive write, which must also append an entry
 * for the world's creation.
 * @throws {StoreError} `taken` on `domain`.
 */
export async function showWorld(sql: Sql, world: WorldCopy["world"]): Promise<WorldRow> {
  const row = newWorldRow(world);
  await claimDomain(sql, row);
  const { id, title, config, permission_config, domain, revision } = row;
  await sql.insert("worlds", [{ id, title, config, permission_config, domain, revision }]);
  await insertIssuers(sql, id, world.config);
  return row;
}

/** @see WorldStore.configure */
export async function configureWorld(
  sql: Sql,
  log: DomainLog,
  id: string,
  settings: WorldSettingsUpdate,
  versions?: readonly string[],
): Promise<WorldRow> {
  const old = await find(sql, id, versions);
  return save(sql, log, old, configuredWorld(old, settings));
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

async function save(sql: Sql, log: DomainLog, old: WorldRow, row: WorldRow): Promise<WorldRow> {
  const change = { type: "world.updated" as const, changes: worldFieldChanges(old, row) };
  if (sameValues(old, row)) {
    log.append(row.id, change);
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
  if (affectsLookup(old, row)) log.appendToAll(row.id, change);
  else log.append(row.id, change);
  return row;
}

async function insertIssuers(sql: Sql, world_id: string, config: WorldConfig): Promise<void> {
  // A world may have two keys with the same issuer and audience.
  const rows = new Map(
    signersOf(config).map(({ issuer, audience }) => [
      JSON.stringify([issuer, audience]),
      { world_id, issuer, audience },
    ]),
  );
  if (rows.size > 0) await sql.insert("world_issuers", [...rows.values()]);
}

/** @throws {StoreError} `taken` on `id` or `domain`. */
export async function expectFreeWorld(sql: Sql, id: string, domain: string): Promise<void> {
  if (await sql.one("SELECT 1 FROM world_ids WHERE id = $1", [id])) throw takenWorld(id);
  await claimDomain(sql, { id, domain });
}

/** Rejects a domain that conflicts with another world's domain. */
async function claimDomain(
  sql: Sql,
  { id, domain }: Pick<WorldRow, "id" | "domain">,
): Promise<void> {
  const params = [id, hostOf(domain), domain];
  expectFreeDomain(domain, await sql.column<string>(SELECT_RIVALS, params));
}

export const worlds = domain({
  reads: worldReads,
  writes: worldWrites,
  parameters: { create: 2, update: 3, configure: 3, delete: 2, remove: 2 },
  // Only one write at a time may claim a world's id or domain.
  exclusive: {
    create: () => true,
    update: (_id, changes) => changes.domain !== undefined,
    delete: () => true,
  },
});

/**
 * Adapts the world domain to `WorldStore`. Rows become frozen records here, because records cannot
 * be sent between threads.
 */
export const worldStore = ({
  remove,
  ...bound
}: Bound<typeof worlds>): Omit<WorldStore, "export" | "clone" | "import"> => ({
  ...bound,
  create: async (world, by) => readWorld(await bound.create(world.id, world, by)),
  update: async (...args) => readWorld(await bound.update(...args)),
  configure: async (...args) => readWorld(await bound.configure(...args)),
  async delete(id, noted, by) {
    const keys = await bound.delete(id, noted, by);
    try {
      await new SlicedWork().run((rows) => remove(id, rows));
    } catch (error) {
      // The world itself is gone. The maintenance job removes the remaining rows, and logs any
      // failure.
      if (!(error instanceof StoreError)) throw error;
    }
    return keys;
  },
});
