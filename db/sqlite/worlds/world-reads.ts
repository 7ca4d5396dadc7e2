import type { Versioned, WorldSelection } from "../../contract/store.js";
import { INDEX } from "../../log/entries.js";
import type { World } from "../../../schemas/worlds.js";
import type { Connection } from "../engine/connection.js";
import type { ReadCache } from "../engine/read-cache.js";
import { readWorld, WORLD_COLUMNS, type WorldRow } from "../../rules/rows.js";

/** The bound for cached issuers, in characters. Any client can send tokens of unknown issuers. */
const MAX_ISSUERS = 2 * 1024 * 1024;

/** The reads of worlds. */
export function worldReads(db: Connection, cache: ReadCache) {
  const select = db.prepare<string[], WorldRow>(
    `SELECT ${WORLD_COLUMNS} FROM worlds WHERE id = ?`,
  );
  const selectByDomain = db
    .prepare<[string, string, string], string>(
      "SELECT id FROM worlds WHERE domain IN (?, ?) ORDER BY domain = ? DESC LIMIT 1",
    )
    .pluck();
  const selectTwo = db
    .prepare<[], string>("SELECT id FROM worlds LIMIT 2")
    .pluck();
  const selectAfter = db.prepare<[string, number], WorldRow>(
    `SELECT ${WORLD_COLUMNS} FROM worlds WHERE id > ? ORDER BY id LIMIT ?`,
  );
  const selectIssuing = db
    .prepare<[string, string], string>(
      "SELECT world_id FROM world_issuers WHERE issuer = ? AND audience = ?",
    )
    .pluck();

  const worlds = cache.rows<WorldRow, Versioned<World>>(select, "places");
  // The log of all worlds has an entry when a world trusts other issuers.
  const issuers = cache.reads<readonly string[]>(MAX_ISSUERS, INDEX);

  const get = (id: string): Versioned<World> | undefined =>
    worlds.read(id, id, [id], readWorld);

  return {
    get,

    at(host: string): Versioned<World> | undefined {
      const id = selectByDomain.get(host, host.replace(/:\d+$/, ""), host);
      if (id !== undefined) return get(id);
      const [only, another] = selectTwo.all();
      return only !== undefined && another === undefined
        ? get(only)
        : undefined;
    },

    list: ({ after = "", limit }: WorldSelection): World[] =>
      selectAfter.all(after, limit).map((row) => readWorld(row).value),

    issuing: (issuer: string, audience: string): readonly Versioned<World>[] =>
      // An empty result is cached too, so that the time does not tell whether an issuer exists.
      issuers
        .read(JSON.stringify([issuer, audience]), () => ({
          value: selectIssuing.all(issuer, audience),
          size: 0,
        }))
        .flatMap((id) => get(id) ?? []),
  };
}
