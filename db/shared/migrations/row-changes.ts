// Older versions of Foyer counted in SQLite how often worlds, rooms, issuers and users changed, so that a
// process need not look at the rows that it keeps. The log tells it without another write.

const CHANGES = [
  ["worlds", "UPDATE"],
  ["worlds", "DELETE"],
  ["rooms", "UPDATE"],
  ["rooms", "DELETE"],
  ["world_issuers", "INSERT"],
  ["world_issuers", "UPDATE"],
  ["world_issuers", "DELETE"],
] as const;

const MADE = /* sql */ `
CREATE TABLE row_changes (
  places INTEGER NOT NULL,
  users INTEGER NOT NULL
) STRICT;
INSERT INTO row_changes (places, users) VALUES (0, 0);
${CHANGES.map(
  ([table, act]) => `CREATE TRIGGER ${table}_${act} AFTER ${act} ON ${table}
  BEGIN UPDATE row_changes SET places = places + 1; END;`,
).join("\n")}
-- Users are deleted only with their world. A trigger for that would slow down every erasure.
CREATE TRIGGER users_UPDATE AFTER UPDATE ON users
  BEGIN UPDATE row_changes SET users = users + 1; END;
`;

const DROPPED = /* sql */ `
${CHANGES.map(([table, act]) => `DROP TRIGGER ${table}_${act};`).join("\n")}
DROP TRIGGER users_UPDATE;
DROP TABLE row_changes;
`;

export default [{ sqlite: MADE }, { sqlite: DROPPED }];
