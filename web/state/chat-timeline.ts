import type { SentEvent } from "../../client/index.js";

/** How many events are kept while the newest are shown; older ones can be loaded again. */
export const MAX_LIVE = 300;
/** How many events are kept at all. */
export const MAX_KEPT = 1000;

/**
 * A part of the events of a channel without a gap, in the order of their ids. Edits and
 * deletions are applied to the messages that they replace.
 */
export class Timeline {
  readonly #byId = new Map<number, SentEvent>();
  #sorted: readonly SentEvent[] | undefined;
  /** By message, the id of the edit that was applied last. */
  readonly #edits = new Map<number, number>();
  #oldest = 0;
  #newest = 0;
  /** Whether there may be events before the first one. */
  hasOlder = true;
  /** Whether there are events behind the last one that are not kept. */
  hasNewer = false;

  /** Without the events that replace others. */
  get events(): readonly SentEvent[] {
    this.#sorted ??= [...this.#byId.values()].sort((a, b) => a.event_id - b.event_id);
    return this.#sorted;
  }

  /** The id of the first event, seen or not; 0 if there is none. */
  get oldest(): number {
    return this.#oldest;
  }

  /** The id of the last event, seen or not; 0 if there is none. */
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

  /** Takes a page of the history. Its state of an event is newer than the known one. */
  addPage(page: readonly SentEvent[]): void {
    for (const event of page) {
      if (event.replaces === null) this.#put(event);
      this.#note(event.event_id);
    }
  }

  /**
   * Takes events as they come.
   * @returns the new ones.
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

  /** Takes the reactions to an event. */
  react({ event_id, reactions }: Pick<SentEvent, "event_id" | "reactions">): void {
    const event = this.#byId.get(event_id);
    if (event) this.#put({ ...event, reactions });
  }

  /** Drops the oldest events, but for this many. */
  dropOldest(keep: number): void {
    const dropped = this.events.slice(0, Math.max(0, this.size - keep));
    if (dropped.length === 0) return;
    this.#drop(dropped);
    this.#oldest = this.events[0]?.event_id ?? this.#newest;
    this.hasOlder = true;
  }

  /** Drops the newest events, but for this many. */
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
