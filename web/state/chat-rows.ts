import type { SentEvent } from "../../client/index.js";
import { memberIn, pollStateIn, saidIn, type Said } from "./chat-content.js";

/** A row in the list of a chat. Keys are unique and stay. */
export type Row =
  | { readonly is: "day"; readonly key: string; readonly at: string }
  | { readonly is: "unread"; readonly key: string }
  | MessageRow
  | { readonly is: "deleted"; readonly key: string; readonly count: number }
  | {
      readonly is: "members";
      readonly key: string;
      /** The ids of users, in their order. */
      readonly joined: readonly string[];
      readonly left: readonly string[];
    }
  | { readonly is: "poll"; readonly key: string; readonly state: string };

export interface MessageRow {
  readonly is: "message";
  readonly key: string;
  readonly event: SentEvent;
  readonly said: Said;
  /** Whether it begins a group of messages of one author, and so names the author. */
  readonly isFirst: boolean;
}

/** Messages of one author that are further apart are no group, in milliseconds. */
const GROUP = 5 * 60_000;

/** The inputs of the rows of a chat. */
export interface RowSource {
  readonly events: readonly SentEvent[];
  /** Whether there are older events. */
  readonly hasOlder: boolean;
  /** All after the event with this id is new to the user; undefined if nothing is. */
  readonly readUpTo: number | undefined;
  readonly me: string | undefined;
}

/**
 * The rows of a chat.
 * @param before the rows so far: an unchanged row stays the same object.
 */
export function rowsOf(
  { events, hasOlder, readUpTo, me }: RowSource,
  before: readonly Row[] = [],
): Row[] {
  const rows: Row[] = [];
  let day: string | undefined;
  let unreadAfter = readUpTo;
  let isAfterRead = !hasOlder;
  for (const event of events) {
    const { event_id: id, timestamp, event_type: type, sender } = event;
    const date = new Date(timestamp).toDateString();
    if (date !== day) {
      rows.push({ is: "day", key: `day ${id}`, at: timestamp });
      day = date;
    }
    if (unreadAfter !== undefined) {
      if (id <= unreadAfter) isAfterRead = true;
      else if (type === "channel.message" && sender !== me) {
        if (isAfterRead) rows.push({ is: "unread", key: "unread" });
        unreadAfter = undefined;
      }
    }
    addEvent(rows, event);
  }
  return kept(rows, before);
}

function addEvent(rows: Row[], event: SentEvent): void {
  const last = rows.at(-1);
  const key = `event ${event.event_id}`;
  if (event.event_type === "channel.poll") {
    rows.push({ is: "poll", key, state: pollStateIn(event) });
  } else if (event.event_type === "channel.member") {
    const member = memberIn(event);
    if (!member) return;
    const isSame = last?.is === "members";
    const { joined, left } = isSame ? last : { joined: [], left: [] };
    const without = (ids: readonly string[]) => ids.filter((id) => id !== member.id);
    if (isSame) rows.pop();
    rows.push({
      is: "members",
      key: isSame ? last.key : key,
      joined: member.isHere ? [...without(joined), member.id] : without(joined),
      left: member.isHere ? without(left) : [...without(left), member.id],
    });
  } else {
    const said = saidIn(event.content);
    if (said.is !== "deleted") {
      rows.push({ is: "message", key, event, said, isFirst: begins(event, last) });
    } else if (last?.is === "deleted") {
      rows[rows.length - 1] = { ...last, count: last.count + 1 };
    } else rows.push({ is: "deleted", key, count: 1 });
  }
}

const begins = (event: SentEvent, last: Row | undefined): boolean =>
  last?.is !== "message" ||
  last.event.sender !== event.sender ||
  !(Date.parse(event.timestamp) - Date.parse(last.event.timestamp) < GROUP);

/** The rows, with equal ones taken from before. */
function kept(rows: Row[], before: readonly Row[]): Row[] {
  const known = new Map(before.map((row) => [row.key, row]));
  return rows.map((row) => {
    const old = known.get(row.key);
    return old && isSame(old, row) ? old : row;
  });
}

function isSame(a: Row, b: Row): boolean {
  if (a.is === "message" && b.is === "message") {
    return a.event === b.event && a.isFirst === b.isFirst;
  }
  return JSON.stringify(a) === JSON.stringify(b);
}
