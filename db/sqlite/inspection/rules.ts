import { type Found, type Rules, rulesIn } from "../../rules/contradictions.js";
import type { Connection } from "../engine/connection.js";

/** The contradictions that rules find, one line each. */
export const findContradictions = (db: Connection, rules: Rules): string[] =>
  rulesIn(rules).flatMap(([sql, words]) =>
    db.prepare<[], Found>(sql).all().map(words),
  );
