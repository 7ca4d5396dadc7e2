import type { Channel, SentEvent } from "../../client/index.js";
import { saidIn } from "./chat-content.js";

/** How many events are looked through for those of a user, and how many at a time. */
const MANY = 5000;
const PAGE = 500;

/** Whether an event is a message that was not deleted, and no edit. */
export const isShown = ({ event_type, replaces, content }: SentEvent): boolean =>
  event_type === "channel.message" && replaces === null && saidIn(content).is !== "deleted";

/** What {@link ChatPast} uses of a chat. */
export interface PastParts {
  /** An event that is shown. */
  readonly known: (id: number) => SentEvent | undefined;
  /** Fetches the names of the users in events. */
  readonly meet: (events: readonly SentEvent[]) => void;
}

/** Reads in the history of a channel, without showing it. */
export class ChatPast {
  readonly #channel: Channel;
  readonly #parts: PastParts;
  /** The messages that were fetched one by one, until they change. */
  readonly #fetched = new Map<number, Promise<SentEvent | undefined>>();

  constructor(channel: Channel, parts: PastParts) {
    this.#channel = channel;
    this.#parts = parts;
  }

  /** Searches messages by their words, the newest first. */
  async search(query: string, before?: number): Promise<{ results: SentEvent[]; more: boolean }> {
    const found = await this.#channel.search(query, before === undefined ? {} : { before });
    this.#parts.meet(found.results);
    return found;
  }

  /** The messages of a user among the latest events. */
  async sentBy(user: string): Promise<SentEvent[]> {
    const found: SentEvent[] = [];
    let read = 0;
    for await (const page of this.#channel.pages({ count: PAGE })) {
      found.push(...page.filter((it) => isShown(it) && it.sender === user));
      if ((read += page.length) >= MANY) break;
    }
    return found;
  }

  /**
   * A message, from what is shown or from the server.
   * @returns undefined if it is not there, or was deleted.
   */
  async find(id: number): Promise<SentEvent | undefined> {
    const event = this.#parts.known(id) ?? (await this.#fetch(id));
    if (event?.event_id !== id || !isShown(event)) return undefined;
    this.#parts.meet([event]);
    return event;
  }

  /** Forgets what events change. */
  changed(events: readonly SentEvent[]): void {
    for (const { replaces } of events) {
      if (replaces !== null) this.#fetched.delete(replaces);
    }
  }

  #fetch(id: number): Promise<SentEvent | undefined> {
    const known = this.#fetched.get(id);
    if (known) return known;
    const fetched = this.#channel.history({ before: id + 1, count: 1 }).then(([event]) => event);
    this.#fetched.set(id, fetched);
    fetched.catch(() => this.#fetched.delete(id));
    return fetched;
  }
}
