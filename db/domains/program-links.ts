import { randomBytes } from "node:crypto";
import { absent } from "../rules/preconditions.js";
import { domain, type DomainLog } from "./domain.js";
import type { Sql } from "./sql.js";

const USER_OF = "SELECT user_id FROM program_links WHERE world_id = $1 AND token = $2";
const TOKEN_OF = "SELECT token FROM program_links WHERE world_id = $1 AND user_id = $2";
const EXISTS = `SELECT 1 FROM users WHERE world_id = $1 AND id = $2
  AND (token_id IS NOT NULL OR client_id IS NOT NULL)`;
const STORE = `INSERT INTO program_links (world_id, user_id, token) VALUES ($1, $2, $3)
  ON CONFLICT (world_id, user_id) DO UPDATE SET token = excluded.token`;

const reads = (sql: Sql) => ({
  user: (world: string, token: string): Promise<string | undefined> =>
    sql.value<string>(USER_OF, [world, token]),
});

const writes = (sql: Sql, log: DomainLog) => ({
  async link(world: string, user: string, renew: boolean): Promise<string> {
    if ((await sql.value(EXISTS, [world, user])) === undefined) {
      throw absent("user");
    }
    const present = await sql.value<string>(TOKEN_OF, [world, user]);
    if (present !== undefined && !renew) return present;
    const token = randomBytes(18).toString("base64url");
    await sql.run(STORE, [world, user, token]);
    log.appendOf(world, user, { type: "program.linked", user });
    return token;
  },
});

/** The secrets in the addresses of calendars. */
export const programLinks = domain({ reads, writes, parameters: { link: 3 } });
