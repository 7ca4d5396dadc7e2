import { foldedFieldsIn } from "../../rules/user-fields.js";
import type { Sql } from "../../shared/sql.js";
import type { Migration } from "./migration.js";

/** How many users are read at a time. */
const PAGE = 100;

const READ = `SELECT id, profile FROM users
  WHERE id > $1 AND strpos(profile, '"fields"') > 0 ORDER BY id LIMIT ${PAGE}`;

const WRITE = `UPDATE users SET fields_folded = folded
  FROM unnest($1::text[], $2::text[]) AS made (id, folded) WHERE users.id = made.id`;

async function fill(sql: Sql): Promise<void> {
  for (let last: string | undefined = ""; last !== undefined;) {
    const rows: { id: string; profile: string }[] = await sql.all(READ, [last]);
    await sql.run(WRITE, [
      rows.map(({ id }) => id),
      rows.map(({ profile }) => foldedFieldsIn(profile)),
    ]);
    last = rows.at(-1)?.id;
  }
}

const migration: Migration = {
  tables: /* sql */ `
-- The text fields of the profile without differences of case, for search.
ALTER TABLE users ADD COLUMN fields_folded TEXT COLLATE "C" NOT NULL DEFAULT '';
`,
  fill,
};
export default migration;
