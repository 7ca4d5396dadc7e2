import type { WorldCopy } from "../../schemas/world-document.js";
import type { WorldChanges, WorldConfig } from "../../schemas/worlds.js";
import { StoreError, type WorldSettings } from "../store.js";
import { channelRemoval } from "./chat-remains.js";
import type { Connection } from "./database.js";
import { absent, expectVersion } from "./preconditions.js";
import { readWorld, sameValues, WORLD_COLUMNS, type WorldRow } from "./rows.js";

/** The writes of worlds. Each runs inside a transaction of its caller. */
export function worldWrites(db: Connection) {
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
  const removeChannels = channelRemoval(db);
  const remove = db.prepare<[string]>("DELETE FROM worlds WHERE id = ?");
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
    for (const { issuer, audience } of config.JWT_secrets) {
      insertIssuer.run(issuer, audience, worldId);
    }
  }

  /**
   * Refuses a domain that conflicts with another world's. Uploads find their world
   * by the host of the request, first with its port and then without it. So two
   * worlds may share a host name only if both name a port; otherwise one would get
   * the uploads of the other on that port.
   */
  function claimDomain({ id, domain }: WorldRow): void {
    const [host = ""] = domain.split(":", 1);
    const rivals = selectRivals.all({ id, host, domain });
    const taken = rivals.some(
      (other) => other === domain || other === host || domain === host,
    );
    if (taken) {
      throw new StoreError("taken", `The domain ${domain} is taken.`, "domain");
    }
  }

  /** @throws {StoreError} `absent`. */
  function find(id: string): WorldRow {
    const row = select.get(id);
    if (!row) throw absent("world");
    return row;
  }

  function updateWorld(
    id: string,
    { config, permission_config, ...rest }: WorldChanges,
    versions?: readonly string[],
  ): WorldRow {
    const old = find(id);
    expectVersion(() => readWorld(old).version, versions);
    const row: WorldRow = { ...old, ...rest };
    if (permission_config) {
      row.permission_config = JSON.stringify(permission_config);
    }
    if (config) {
      const { JWT_secrets } = JSON.parse(old.config) as WorldConfig;
      const whole = { JWT_secrets, ...config };
      row.config = JSON.stringify(whole);
      indexIssuers(id, whole);
    }
    return save(old, row);
  }

  /** Writes a row if it has changed. */
  function save(old: WorldRow, row: WorldRow): WorldRow {
    if (sameValues(old, row)) return old;
    row.revision++;
    if (row.domain !== old.domain) claimDomain(row);
    update.run(row);
    return row;
  }

  return {
    createWorld({ revision = 1, ...world }: WorldCopy["world"]): WorldRow {
      if (select.get(world.id)) {
        throw new StoreError("taken", `The id ${world.id} is taken.`, "id");
      }
      const row: WorldRow = {
        ...world,
        config: JSON.stringify(world.config),
        permission_config: JSON.stringify(world.permission_config),
        revision,
      };
      claimDomain(row);
      insert.run(row);
      indexIssuers(world.id, world.config);
      return row;
    },

    updateWorld,

    configureWorld(
      id: string,
      { title, permission_config, config: settings = {} }: WorldSettings,
      versions?: readonly string[],
    ): WorldRow {
      const old = find(id);
      expectVersion(() => readWorld(old).version, versions);
      const config = JSON.parse(old.config) as WorldConfig;
      // An undefined value is no value, and must not remove the key.
      const named = Object.entries(settings).filter(
        ([name, value]) => name !== "JWT_secrets" && value !== undefined,
      );
      const whole = { ...config, ...Object.fromEntries(named) };
      return save(old, {
        ...old,
        title: title ?? old.title,
        config: JSON.stringify(whole),
        permission_config: permission_config
          ? JSON.stringify(permission_config)
          : old.permission_config,
      });
    },

    deleteWorld(id: string): string[] {
      const keys = selectFiles.all(id);
      removeChannels.ofWorld(id);
      if (remove.run(id).changes === 0) throw absent("world");
      return keys;
    },
  };
}
