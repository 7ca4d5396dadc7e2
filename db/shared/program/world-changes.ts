import { isDeepStrictEqual } from "node:util";
import type { PermissionConfig } from "../../../schemas/plain/permissions.js";
import type { WorldRow } from "../../rules/rows.js";
import type { Sql } from "../sql.js";
import { datesChanged, editorsChanged, viewersChanged } from "./stamps.js";

/** Renews the versions of a program that depend on what changed of its world. */
export async function renewProgram(
  sql: Sql,
  before: WorldRow,
  after: WorldRow,
): Promise<void> {
  const isOther = <T>(column: T, after: T, valueOf: (column: T) => unknown) =>
    column !== after && !isDeepStrictEqual(valueOf(column), valueOf(after));
  const [rules, newRules] = [before.permission_config, after.permission_config];
  if (isOther(rules, newRules, viewersIn)) await viewersChanged(sql, after.id);
  if (isOther(rules, newRules, editorsIn)) await editorsChanged(sql, after.id);
  if (isOther(before.config, after.config, datesIn)) {
    await datesChanged(sql, after.id);
  }
}

const rulesIn = (column: string) => JSON.parse(column) as PermissionConfig;

/** The rule for rooms without one of their own. */
const viewersIn = (column: string) => rulesIn(column)["room.view"];

const editorsIn = (column: string) => {
  const rules = rulesIn(column);
  return rules["program.update"] ?? rules["room.update"];
};

/** What comes with every program. */
function datesIn(column: string): unknown[] {
  const { event, timezone } = JSON.parse(column) as Record<string, unknown>;
  return [event, timezone];
}
