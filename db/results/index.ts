import type { TokenIssuer } from "../../schemas/issuers.js";
import { uuid } from "../../schemas/plain/texts.js";
import type { ResultsKind } from "../../schemas/results/results.js";
import type { WorldKey } from "../../schemas/worlds.js";
import { activity, attendance } from "./attendance-results.js";
import { calls } from "./call-results.js";
import { chat } from "./chat-results.js";
import { feedback } from "./feedback-results.js";
import { people, polls, questions } from "./items.js";

// Results: the records that remain after an event. HTTP and commands output the same records.

export const kinds = {
  people,
  chat,
  questions,
  polls,
  attendance,
  activity,
  calls,
  feedback,
} as const satisfies Record<ResultsKind, unknown>;

// "Report" is Venueless's term for results. A report is generated when its address is opened, so
// its id encodes its parameters. The report names come from Venueless's protocol, in which three
// reports list views. Foyer returns the same attendance table for all three.

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

/** Returns the kind of results that a report lists. */
export const resultOf = (name: ReportName): ResultsKind => kindOf[name];

export interface ReportRequest {
  readonly name: ReportName;
  readonly format: "csv" | "xlsx";
  readonly room?: string | undefined;
}

/** The content of a report's address, including the traits of the person who requested the report. */
export interface SealedReport extends ReportRequest {
  readonly user: string;
  readonly traits: readonly string[];
  /** When the address expires, in milliseconds since 1970. */
  readonly ends: number;
}

/** The key or issuer that authenticated a person. */
export type ProvenBy = WorldKey | TokenIssuer;

const UUID = new RegExp(uuid.pattern);

/** Parses a report's id. Returns undefined if the id is invalid. */
export function parseReport(id: unknown): ReportRequest | undefined {
  if (typeof id !== "string" || id.length > 200) return undefined;
  const [name = "", format, room, ...more] = id.split(":");
  if (!Object.hasOwn(kindOf, name) || more.length > 0) return undefined;
  if (format !== "csv" && format !== "xlsx") return undefined;
  if (room !== undefined && !UUID.test(room)) return undefined;
  return { name: name as ReportName, format, room };
}
