import type { World } from "../../../schemas/worlds.js";
import type { Versioned, WorldSelection, WorldStore } from "../../contract/store.js";
import { INDEX } from "../../log/entries.js";
import { readWorld, sameValues, WORLD_COLUMNS, type WorldRow } from "../../rules/rows.js";
import type { Reading } from "../sql.js";

/** The bound for cached issuers and hosts, in characters. Any client can ask for unknown ones. */
const MAX_NAMES = 2 * 1024 * 1024;

const SELECT = `SELECT ${WORLD_COLUMNS} FROM worlds WHERE id = $1`;

const SELECT_AFTER = `SELECT ${WORLD_COLUMNS} FROM worlds WHERE id > $1 ORDER BY id LIMIT $2`;

/** The world of a host name, or else the only world. */
const SELECT_BY_DOMAIN = `SELECT coalesce(
    (SELECT id FROM worlds WHERE domain IN ($1, $2) ORDER BY domain = $1 DESC LIMIT 1),
    (SELECT min(id) FROM (SELECT id FROM worlds LIMIT 2) AS two HAVING count(*) = 1))`;

const SELECT_ISSUING = `SELECT world_id FROM world_issuers
  WHERE foyer_digest(issuer) = foyer_digest($1) AND foyer_digest(audience) = foyer_digest($2)
    AND issuer = $1 AND audience = $2`;

/** The reads of worlds. */
export function worldReads(sql: Reading): Pick<WorldStore, "get" | "at" | "list" | "issuing"> {
  const worlds = sql.cached<{ row: WorldRow; world: Versioned<World> } | undefined>("worlds");
  const hosts = sql.cached<string | null>("worlds", MAX_NAMES);
  const issuers = sql.cached<readonly string[]>("worlds", MAX_NAMES);

  const get = async (id: string): Promise<Versioned<World> | undefined> => {
    const known = worlds.find(id, id);
    if (known) return known.world;
    const found = await worlds.read(id, id, async () => {
      const row = await sql.one<WorldRow>(SELECT, [id]);
      if (!row) return { value: undefined, size: 0 };
      // The row and its JSON take about the same memory.
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
      // An empty result is cached too, so that the time does not tell whether an issuer exists.
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
