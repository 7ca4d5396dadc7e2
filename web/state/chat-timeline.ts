import type { SentEvent } from "../../client/index.js";
import { memberIn, pollStateIn, type MessageBody, parseContent } from "./chat-content.js";

/** Maximum number of events kept while the newest events are shown. Dropped events can be reloaded. */
export const MAX_LIVE = 300;
/** Maximum number of events kept in any case. */
export const MAX_KEPT = 1000;

/**
 * A contiguous range of a channel's events, ordered by id. Edits and deletions are applied to the
 * messages that they replace.
 */
export class Timeline {
  readonly #byId = new Map<number, SentEvent>();
  #sorted: readonly SentEvent[] | undefined;
  /** The id of the last applied edit, by message id. */
  readonly #edits = new Map<number, number>();
  #oldest = 0;
  #newest = 0;
  /** Whether there may be events before the first event. */
  hasOlder = true;
  /** Whether there are events after the last kept event. */
  hasNewer = false;

  /** The events, without events that replace another event. */
  get events(): readonly SentEvent[] {
    this.#sorted ??= [...this.#byId.values()].sort((a, b) => a.event_id - b.event_id);
    return this.#sorted;
  }

  /** The id of the first event, visible or not, or 0 if there are no events. */
  get oldest(): number {
    return this.#oldest;
  }

  /** The id of the last event, visible or not, or 0 if there are no events. */
  get newest(): number {
    return this.#newest;
  }

  get size(): number {
    return this.#byId.size;
  }

  get(id: number): SentEvent | undefined {
    return this.#byId.get(id);
  }

  clear(): void {
    this.#byId.clear();
    this.#edits.clear();
    this.#sorted = undefined;
    this.#oldest = this.#newest = 0;
    this.hasOlder = true;
    this.hasNewer = false;
  }

  /** Adds a page of the history. The page's events supersede known events. */
  addPage(page: readonly SentEvent[]): void {
    for (const event of page) {
      if (event.replaces === null) this.#put(event);
      this.#note(event.event_id);
    }
  }

  /**
   * Adds new events.
   * @returns the events that were not known before.
   */
  add(events: readonly SentEvent[]): SentEvent[] {
    const fresh: SentEvent[] = [];
    for (const event of events) {
      if (event.replaces !== null) this.#replace(event.replaces, event);
      else if (!this.#byId.has(event.event_id)) {
        if (!this.hasNewer) this.#put(event);
        fresh.push(event);
      }
      if (!this.hasNewer) this.#note(event.event_id);
    }
    return fresh;
  }

  /** Replaces the reactions to an event. */
  react({ event_id, reactions }: Pick<SentEvent, "event_id" | "reactions">): void {
    const event = this.#byId.get(event_id);
    if (event) this.#put({ ...event, reactions });
  }

  /** Drops all but the newest events. */
  dropOldest(keep: number): void {
    const dropped = this.events.slice(0, Math.max(0, this.size - keep));
    if (dropped.length === 0) return;
    this.#drop(dropped);
    this.#oldest = this.events[0]?.event_id ?? this.#newest;
    this.hasOlder = true;
  }

  /** Drops all but the oldest events. */
  dropNewest(keep: number): void {
    const dropped = this.events.slice(keep);
    if (dropped.length === 0) return;
    this.#drop(dropped);
    this.#newest = this.events.at(-1)?.event_id ?? this.#oldest;
    this.hasNewer = true;
  }

  #replace(id: number, edit: SentEvent): void {
    const event = this.#byId.get(id);
    if (!event || edit.event_id < (this.#edits.get(id) ?? 0)) return;
    this.#edits.set(id, edit.event_id);
    this.#put({ ...event, content: edit.content, edited: edit.timestamp });
  }

  #put(event: SentEvent): void {
    this.#byId.set(event.event_id, event);
    this.#sorted = undefined;
  }

  #note(id: number): void {
    this.#oldest = this.#oldest === 0 ? id : Math.min(this.#oldest, id);
    this.#newest = Math.max(this.#newest, id);
  }

  #drop(events: readonly SentEvent[]): void {
    for (const { event_id } of events) {
      this.#byId.delete(event_id);
      this.#edits.delete(event_id);
    }
    this.#sorted = undefined;
  }
}

/** A row in a chat's list. Keys are unique and stable. */
export type Row =
  | { readonly is: "day"; readonly key: string; readonly at: string }
  | { readonly is: "unread"; readonly key: string }
  | MessageRow
  | { readonly is: "deleted"; readonly key: string; readonly count: number }
  | {
      readonly is: "members";
      readonly key: string;
      /** User ids, in the order of the events. */
      readonly joined: readonly string[];
      readonly left: readonly string[];
    }
  | { readonly is: "poll"; readonly key: string; readonly state: string };

export interface MessageRow {
  readonly is: "message";
  readonly key: string;
  readonly event: SentEvent;
  readonly said: MessageBody;
  /** Whether the message starts a group by one author, and so shows the author. */
  readonly isFirst: boolean;
}

/** Time between two messages by one author from which they are no longer grouped, in milliseconds. */
const GROUP_GAP_MS = 5 * 60_000;

/** Input of {@link rowsOf}. */
interface RowSource {
  readonly events: readonly SentEvent[];
  /** Whether there are events before the first of `events`. */
  readonly hasOlder: boolean;
  /** The id of the last event that the user has read, or undefined if nothing is new. */
  readonly readUpTo: number | undefined;
  readonly me: string | undefined;
}

/**
 * Builds a chat's rows.
 * @param before the previous rows, whose objects are reused if unchanged.
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
    const said = parseContent(event.content);
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
  !(Date.parse(event.timestamp) - Date.parse(last.event.timestamp) < GROUP_GAP_MS);

/** Replaces unchanged rows with the previous objects. */
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
