import type { TokenIssuer } from "../../schemas/issuers.js";
import { uuid } from "../../schemas/plain/texts.js";
import type { ResultsKind } from "../../schemas/results/results.js";
import type { WorldKey } from "../../schemas/worlds.js";
import { activity, attendance } from "./attendance-results.js";
import { chat } from "./chat-results.js";
import { people, polls, questions } from "./items.js";

// What is left of an event. HTTP and commands print the same records.

export const kinds = {
  people,
  chat,
  questions,
  polls,
  attendance,
  activity,
} as const satisfies Record<ResultsKind, unknown>;

// Reports are what Venueless calls results. A report is made when its address is opened, so the
// id of a report says what it is. The names are the protocol's: Venueless makes three tables of
// views, and here one table of the attendance has the columns of all of them.

const kindOf = {
  attendee_list: "people",
  chat_history: "chat",
  question_history: "questions",
  poll_history: "polls",
  roomviews: "attendance",
  sessionviews: "attendance",
  views: "attendance",
} as const satisfies Record<string, ResultsKind>;

export type ReportName = keyof typeof kindOf;

export const reportNames = Object.keys(kindOf) as ReportName[];

/** The results that a report lists. */
export const resultOf = (name: ReportName): ResultsKind => kindOf[name];

export interface Report {
  readonly name: ReportName;
  readonly format: "csv" | "xlsx";
  readonly room?: string | undefined;
}

/** The address of a report, with the rights of the person who asked for it. */
export interface SealedReport extends Report {
  readonly user: string;
  readonly traits: readonly string[];
  /** In milliseconds since 1970. */
  readonly ends: number;
}

/** What proved who a person is. */
export type ProvenBy = WorldKey | TokenIssuer;

const UUID = new RegExp(uuid.pattern);

/** The report that an id names; undefined if it names none. */
export function parseReport(id: unknown): Report | undefined {
  if (typeof id !== "string" || id.length > 200) return undefined;
  const [name = "", format, room, ...more] = id.split(":");
  if (!Object.hasOwn(kindOf, name) || more.length > 0) return undefined;
  if (format !== "csv" && format !== "xlsx") return undefined;
  if (room !== undefined && !UUID.test(room)) return undefined;
  return { name: name as ReportName, format, room };
}
