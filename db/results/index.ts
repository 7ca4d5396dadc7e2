import type { ResultsKind } from "../../schemas/results/results.js";
import { activity, attendance } from "./attendance.js";
import { chat } from "./chat.js";
import { people } from "./people.js";
import { polls } from "./polls.js";
import { questions } from "./questions.js";

// What is left of an event. HTTP and commands print the same records.

/** Every kind of results, by its name in addresses. */
export const kinds = {
  people,
  chat,
  questions,
  polls,
  attendance,
  activity,
} as const satisfies Record<ResultsKind, unknown>;
