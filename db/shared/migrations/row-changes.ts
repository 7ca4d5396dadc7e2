/**
 * How often rows changed of which processes keep values, in SQLite: of worlds, rooms and issuers
 * (`places`), and of users. A new world, room or user is no change, as no process keeps what is not
 * there; a list of issuers may be empty. An unchanged count spares a look at each row after a commit.
 */
export default {
  sqlite: /* sql */ `
CREATE TABLE row_changes (
  places INTEGER NOT NULL,
  users INTEGER NOT NULL
) STRICT;
INSERT INTO row_changes (places, users) VALUES (0, 0);
${[
  ["worlds", "UPDATE"],
  ["worlds", "DELETE"],
  ["rooms", "UPDATE"],
  ["rooms", "DELETE"],
  ["world_issuers", "INSERT"],
  ["world_issuers", "UPDATE"],
  ["world_issuers", "DELETE"],
]
  .map(
    ([table, act]) => `CREATE TRIGGER ${table}_${act} AFTER ${act} ON ${table}
  BEGIN UPDATE row_changes SET places = places + 1; END;`,
  )
  .join("\n")}
-- Users are deleted only with their world. A trigger for that would slow down every erasure.
CREATE TRIGGER users_UPDATE AFTER UPDATE ON users
  BEGIN UPDATE row_changes SET users = users + 1; END;
`,
} as const;
