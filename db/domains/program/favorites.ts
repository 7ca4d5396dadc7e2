import { MAX_FAVORITES } from "../../../schemas/plain/program.js";
import { StoreError } from "../../contract/store.js";
import { absent } from "../../rules/preconditions.js";
import type { DomainLog } from "../domain.js";
import type { Sql } from "../sql.js";

const USER = `SELECT 1 FROM users WHERE world_id = $1 AND id = $2
  AND (token_id IS NOT NULL OR client_id IS NOT NULL)`;
const SESSION = "SELECT 1 FROM program_sessions WHERE world_id = $1 AND id = $2";
const COUNT = "SELECT COUNT(*) FROM program_favorites WHERE world_id = $1 AND user_id = $2";
const ADD = `INSERT INTO program_favorites (world_id, user_id, session_id) VALUES ($1, $2, $3)
  ON CONFLICT DO NOTHING`;
const REMOVE =
  "DELETE FROM program_favorites WHERE world_id = $1 AND user_id = $2 AND session_id = $3";

/** The writes of favorites. */
export const favoriteWrites = (sql: Sql, log: DomainLog) => ({
  async favor(world: string, user: string, session: string, on: boolean): Promise<void> {
    if ((await sql.value(USER, [world, user])) === undefined) {
      throw absent("user");
    }
    if ((await sql.value(SESSION, [world, session])) === undefined) {
      throw absent("session");
    }
    const changed = await sql.run(on ? ADD : REMOVE, [world, user, session]);
    if (changed === 0) return;
    const count = (await sql.value<number>(COUNT, [world, user]))!;
    if (on && count > MAX_FAVORITES) {
      throw new StoreError("quota", "The user has too many favorites.", "favorites");
    }
    log.appendOf(world, user, { type: "program.favored", user });
  },
});
