import type { Author } from "../contract/author.js";
import { storedAuthor } from "../log/entries.js";
import { foldedFieldsIn } from "../rules/user-fields.js";
import { type Row, type Table, TABLES, type Value } from "./tables.js";

/** A table that a store loads the rows of a backup into, and how it makes a row of them. */
type Loaded = [table: Table, rowOf: (row: Row) => Row];

/**
 * The table that a store loads the rows of a table of a backup into.
 * @returns it with the columns that backups lack, and a function that makes its rows.
 */
export function loaded(table: Table): Loaded {
  if (table.name === "users") return withFolded(table);
  if (table.name === "audit") return keptEntries(table);
  return [table, (row) => row];
}

function withFolded(table: Table): Loaded {
  const { columns } = table;
  const folded = {
    name: "fields_folded",
    kind: "text",
    nullable: false,
  } as const;
  const profile = columns.findIndex(({ name }) => name === "profile");
  return [
    { ...table, columns: [...columns, folded] },
    (row) => [...row, foldedFieldsIn(row[profile] as string | null)],
  ];
}

/** The rows of the table that the audit was, as entries that the log has no more: see the migration. */
function keptEntries({ columns }: Table): Loaded {
  const kept = TABLES.find(({ name }) => name === "log_kept")!;
  return [
    kept,
    (row) => {
      const old = Object.fromEntries(
        columns.map(({ name }, i) => [name, row[i]!]),
      );
      const { kind, user_id, token, type, subject } = old;
      const entry: Record<string, Value | undefined> = {
        ...{ world_id: old.world_id, seq: old.number, at: old.at },
        type: "noted",
        author: storedAuthor({
          kind: kind as Author["kind"],
          user: (user_id as string | null) ?? undefined,
          token: (token as string | null) ?? undefined,
        }),
        detail: `{"act":"${type}","subject":${subject}}`,
        ...{ audit: type, changes: old.changes, request: old.request_id },
      };
      return kept.columns.map(({ name }) => entry[name] ?? null);
    },
  ];
}
