import Database from "better-sqlite3";
import t from "tap";
import { migrate } from "../../db/sqlite/engine/upgrade.js";
import { compare, type Shape, sorted } from "./shapes.js";

/** What an erased value is in SQLite: see `TABLES`. */
const ERASABLE = ["content", "data", "audit", "changes", "request"];

function shapeOf(db: Database.Database, table: string): Shape {
  const rows = <T>(pragma: string) => db.pragma(pragma) as T[];
  const columns = rows<{
    name: string;
    type: string;
    notnull: number;
    pk: number;
  }>(`table_info(${table})`);
  const isAny = (name: string, type: string) =>
    type === "ANY" && ERASABLE.includes(name);
  const indexes = rows<{ name: string; unique: number }>(
    `index_list(${table})`,
  );
  const references = new Map<
    number,
    { from: string[]; table: string; to: string[] }
  >();
  for (const { id, from, to, ...key } of rows<{
    id: number;
    table: string;
    from: string;
    to: string;
    on_delete: string;
  }>(`foreign_key_list(${table})`)) {
    t.equal(key.on_delete, "CASCADE", table);
    const known = references.get(id) ?? { from: [], table: key.table, to: [] };
    known.from.push(from);
    known.to.push(to);
    references.set(id, known);
  }
  const [counter] = columns.filter(
    ({ pk, type }) => pk === 1 && type === "INTEGER",
  );
  const isRowid =
    counter !== undefined && columns.filter(({ pk }) => pk > 0).length === 1;
  return {
    columns: columns
      .filter(({ name }) => name !== "gone")
      .map(({ name, type, notnull, pk }) => {
        const kind = type === "INTEGER" ? "number" : "text";
        if (kind === "text")
          t.ok(type === "TEXT" || isAny(name, type), `${table}.${name}`);
        const isNull = isAny(name, type) || (notnull === 0 && pk === 0);
        return `${name} ${kind}${isNull ? "?" : ""}`;
      })
      .sort(),
    references: [...references.values()]
      .map(
        ({ from, table, to }) =>
          `${from.join(" ")} -> ${table} ${to.join(" ")}`,
      )
      .sort(),
    unique: [
      ...(isRowid ? [counter.name] : []),
      ...indexes
        .filter(({ unique }) => unique === 1)
        .map(({ name }) =>
          sorted(
            rows<{ name: string }>(`index_info(${name})`).map(
              ({ name }) => name,
            ),
          ),
        ),
    ].sort(),
  };
}

void t.test("the tables of SQLite are as described", (t) => {
  const db = new Database(":memory:");
  migrate(db);
  const tables = db
    .prepare<[], string>(
      "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%'",
    )
    .pluck()
    .all();
  compare(
    t,
    "SQLite",
    new Map(tables.map((name) => [name, shapeOf(db, name)])),
  );
  db.close();
  t.end();
});
