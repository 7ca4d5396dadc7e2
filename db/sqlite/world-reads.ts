import type { Versioned } from "../store.js";
import type { World } from "../../schemas/worlds.js";
import type { Connection } from "./database.js";
import { toWorld, versioned, WORLD_COLUMNS, type WorldRow } from "./rows.js";
import type { Snapshot } from "./snapshot.js";

/** The reads of worlds. */
export function worldReads(db: Connection, snapshot: Snapshot) {
  const select = db.prepare<[string], WorldRow>(
    `SELECT ${WORLD_COLUMNS} FROM worlds WHERE id = ?`,
  );
  const selectAll = db.prepare<[], WorldRow>(
    `SELECT ${WORLD_COLUMNS} FROM worlds ORDER BY id`,
  );
  const selectIssuing = db
    .prepare<[string, string], string>(
      "SELECT world_id FROM world_issuers WHERE issuer = ? AND audience = ?",
    )
    .pluck();

  function get(id: string): Versioned<World> | undefined {
    return snapshot.read(`world ${id}`, () => {
      const row = select.get(id);
      return row && { value: versioned(row, toWorld), size: sizeOf(row) };
    });
  }

  return {
    get,
    list: (): World[] => selectAll.all().map(toWorld),
    issuing: (issuer: string, audience: string): Versioned<World>[] =>
      selectIssuing.all(issuer, audience).flatMap((id) => get(id) ?? []),
  };
}

const sizeOf = (row: WorldRow) =>
  row.config.length + row.permission_config.length;
