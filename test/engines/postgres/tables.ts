import { connect } from "../../../db/postgres/engine/connect.js";
import { sqlOn } from "../../../db/postgres/engine/sql.js";
import { upgrade } from "../../../db/postgres/engine/upgrade.js";
import { compare, type Shape, sorted } from "../../db/shapes.js";
import type { Part } from "./setup.js";

const COLUMNS = `SELECT c.relname::text AS table, a.attname::text AS name, NOT a.attnotnull AS nullable,
    format_type(a.atttypid, NULL) AS type
  FROM pg_class AS c JOIN pg_attribute AS a ON a.attrelid = c.oid
  WHERE c.relkind = 'r' AND pg_table_is_visible(c.oid) AND a.attnum > 0 AND NOT a.attisdropped
    AND c.relnamespace = current_schema()::regnamespace`;

const namesOf = (table: string, columns: string) =>
  `(SELECT array_agg(attname::text ORDER BY at) FROM unnest(${columns}) WITH ORDINALITY AS one (num, at)
    JOIN pg_attribute ON attrelid = ${table} AND attnum = num)`;

const REFERENCES = `SELECT c.conrelid::regclass::text AS table, c.confrelid::regclass::text AS other,
    c.confdeltype::text AS deletes, ${namesOf("c.conrelid", "c.conkey")} AS from, ${namesOf("c.confrelid", "c.confkey")} AS to
  FROM pg_constraint AS c WHERE c.contype = 'f'`;

// A long text is unique by its digest, and the id of an event by an expression.
const UNIQUE = `SELECT i.indrelid::regclass::text AS table, array(
    SELECT regexp_replace(pg_get_indexdef(i.indexrelid, at, FALSE), '^foyer_digest\\((.*)\\)$|^\\(+(.*) \\+ 0\\)+$', '\\1\\2')
    FROM generate_series(1, i.indnkeyatts) AS at) AS columns
  FROM pg_index AS i JOIN pg_class AS c ON c.oid = i.indrelid
  WHERE i.indisunique AND pg_table_is_visible(c.oid) AND c.relnamespace = current_schema()::regnamespace`;

/** The tables are as the description says. */
export const tables: Part = async (t, server) => {
  const client = await connect(await server.createDatabase());
  t.teardown(() => client.end());
  await upgrade(client, { create: true, upgrade: false });
  const sql = sqlOn((query) => client.query(query));
  const shapes = new Map<string, Shape>();
  const at = (table: string): Shape => {
    let shape = shapes.get(table);
    if (!shape)
      shapes.set(table, (shape = { columns: [], references: [], unique: [] }));
    return shape;
  };
  for (const { table, name, nullable, type } of await sql.all<{
    table: string;
    name: string;
    nullable: boolean;
    type: string;
  }>(COLUMNS)) {
    const kind = type === "bigint" ? "number" : "text";
    if (kind === "text") t.equal(type, "text", `${table}.${name}`);
    at(table).columns.push(`${name} ${kind}${nullable ? "?" : ""}`);
  }
  for (const { table, other, deletes, from, to } of await sql.all<{
    table: string;
    other: string;
    deletes: string;
    from: string[];
    to: string[];
  }>(REFERENCES)) {
    t.equal(deletes, "c", table);
    at(table).references.push(`${from.join(" ")} -> ${other} ${to.join(" ")}`);
  }
  for (const { table, columns } of await sql.all<{
    table: string;
    columns: string[];
  }>(UNIQUE)) {
    at(table).unique.push(sorted(columns));
  }
  for (const { columns, references, unique } of shapes.values()) {
    for (const list of [columns, references, unique]) list.sort();
  }
  compare(t, "PostgreSQL", shapes);
};
