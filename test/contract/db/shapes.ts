import type { Test } from "tap";
import { anyWorld, looseNumberOf, number, table, text } from "../../../db/copies/columns.js";
import { type Column, type Table, TABLES } from "../../../db/copies/tables.js";

// Both engines have the tables that `db/schema/` describes. A new column is in a migration of
// each, and in the description, or this test fails.

/** A table in comparable form: each list is sorted. */
export interface Shape {
  /** For example, `name text` and `domain text?`. */
  columns: string[];
  /** For example, `world_id room_id -> rooms world_id id`. */
  references: string[];
  /** The columns of each unique constraint, sorted and joined. */
  unique: string[];
}

/** Tables that backups omit: pending erasures, and data whose bytes may still be on the disk. */
const UNCOPIED = [
  table("chat_remains", "world_id channel", "none", {
    world_id: anyWorld,
    channel: looseNumberOf("chat_channels"),
  }),
  table("erasures", "number", "none", { number, subject: text, at: number }),
];

const KEPT = [...TABLES.filter(({ name }) => name !== "sequences"), ...UNCOPIED];

/** Tables that only one engine has. */
const OWN = ["cluster"];

export const sorted = (names: readonly string[]) => names.toSorted().join(" ");

const columnOf = ({ name, kind, nullable }: Column) => `${name} ${kind}${nullable ? "?" : ""}`;

function described({ columns, others, key, unique }: Table): Shape {
  const all = [...columns, ...others];
  const references = all.flatMap(({ name, of, kind, loose }) => {
    if (of === undefined || loose) return [];
    if (of === "worlds" || of === "world_ids") return [`${name} -> world_ids id`];
    const target = kind === "text" || of === "view_groups" ? "id" : "number";
    return [`world_id ${name} -> ${of} world_id ${target}`];
  });
  return {
    columns: all.map(columnOf).sort(),
    references: references.sort(),
    unique: [key, ...unique].map(sorted).sort(),
  };
}

/** Compares an engine's tables with the description. */
export function compare(t: Test, engine: string, actual: Map<string, Shape>): void {
  const names = [...actual.keys()].filter((name) => !OWN.includes(name));
  t.strictSame(names.sort(), KEPT.map(({ name }) => name).sort(), engine);
  for (const table of KEPT) {
    const { name } = table;
    const [expected, found] = [described(table), actual.get(name)];
    if (!found) continue;
    t.strictSame(found.columns, expected.columns, `${engine}: ${name}`);
    t.strictSame(found.references, expected.references, `${engine}: ${name} refers`);
    const isPart = (some: string, all: string) =>
      some.split(" ").every((column) => all.split(" ").includes(column));
    // Uniqueness of some columns implies uniqueness of any superset.
    for (const key of expected.unique) {
      const holds = found.unique.some((columns) => isPart(columns, key));
      t.ok(holds, `${engine}: ${key} of ${name} is unique`);
    }
    for (const key of found.unique) {
      const isMeant = [...expected.unique, "number"].some((columns) => isPart(columns, key));
      t.ok(isMeant || key === "id", `${engine}: ${key} of ${name} need not be unique`);
    }
  }
}
