import type { Versioned } from "../store.js";
import type { World } from "../../schemas/worlds.js";
import type { Connection } from "./database.js";
import { toWorld, versioned, WORLD_COLUMNS, type WorldRow } from "./rows.js";
import type { Snapshot } from "./snapshot.js";

/** How much is remembered of who issues tokens, in characters: anybody may ask for issuers that are not there. */
const MAX_ISSUERS = 2 * 1024 * 1024;

/** The reads of worlds. */
export function worldReads(db: Connection, snapshot: Snapshot) {
  const select = db.prepare<[string], WorldRow>(
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
  const selectAll = db.prepare<[], WorldRow>(
    `SELECT ${WORLD_COLUMNS} FROM worlds ORDER BY id`,
  );
  const selectIssuing = db
    .prepare<[string, string], string>(
      "SELECT world_id FROM world_issuers WHERE issuer = ? AND audience = ?",
    )
    .pluck();

  const kept = snapshot.keepRows<WorldRow, Versioned<World>>();
  const issuers = snapshot.keep<Versioned<World>[]>(MAX_ISSUERS);

  function get(id: string): Versioned<World> | undefined {
    return kept.read(
      id,
      () => select.get(id),
      (row) => versioned(row, toWorld),
    );
  }

  function at(host: string): Versioned<World> | undefined {
    const id = selectByDomain.get(host, host.replace(/:\d+$/, ""), host);
    if (id !== undefined) return get(id);
    const [only, another] = selectTwo.all();
    return only !== undefined && another === undefined ? get(only) : undefined;
  }

  return {
    get,
    at,
    list: (): World[] => selectAll.all().map(toWorld),
    issuing: (issuer: string, audience: string): Versioned<World>[] =>
      // That there is none is remembered, too: it must not take longer.
      issuers.read(JSON.stringify([issuer, audience]), () => ({
        value: selectIssuing
          .all(issuer, audience)
          .flatMap((id) => get(id) ?? []),
        size: 0,
      }))!,
  };
}
