import type { Rule } from "../../schemas/plain/permissions.js";

// A rule in one line: `admin, host|speaker` asks for admin, and for host or speaker. No
// trait holds a comma, a `|` or a space.

/** A rule as text; empty for a rule that admits everybody. */
export const ruleText = (rule: Rule): string =>
  rule.map((entry) => [entry].flat().join("|")).join(", ");

/** The rule that a text stands for. */
export const ruleOf = (text: string): Rule =>
  text
    .split(",")
    .map((entry) => wordsOf(entry.split("|").join(" ")))
    .filter((words) => words.length > 0)
    .map((words) => (words.length === 1 ? words[0]! : words));

const wordsOf = (text: string): string[] =>
  text.split(/\s/).filter((word) => word !== "");
