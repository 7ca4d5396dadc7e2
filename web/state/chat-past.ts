import type { Channel, SentEvent } from "../../client/index.js";
import { saidIn } from "./chat-content.js";

/** How many events a search reads at a time, and at most before it asks whether to go on. */
const PAGE = 500;
const MAX_SEARCHED = 5000;

/** Whether an event is a message that was not deleted, and no edit. */
export const isShown = ({
  event_type,
  replaces,
  content,
}: SentEvent): boolean =>
  event_type === "channel.message" &&
  replaces === null &&
  saidIn(content).is !== "deleted";

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

  /**
   * Looks for messages.
   * @param options.before an id; by default, it begins at the newest.
   * @param options.most it stops behind the page with so many of them.
   * @returns what was found, the newest first, and before which id to go on: undefined at
   *   the beginning of the history.
   */
  async search({
    isFound,
    before,
    most = Infinity,
  }: {
    isFound: (event: SentEvent) => boolean;
    before?: number | undefined;
    most?: number;
  }): Promise<{ found: SentEvent[]; next: number | undefined }> {
    const found: SentEvent[] = [];
    let next = before;
    for (let searched = 0; searched < MAX_SEARCHED; searched += PAGE) {
      const page = await this.#channel.history({
        ...(next !== undefined && { before: next }),
        count: PAGE,
      });
      found.push(...page.filter((it) => isShown(it) && isFound(it)).reverse());
      next = page.length === PAGE ? page[0]?.event_id : undefined;
      if (next === undefined || found.length >= most) break;
    }
    this.#parts.meet(found);
    return { found, next };
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
    const fetched = this.#channel
      .history({ before: id + 1, count: 1 })
      .then(([event]) => event);
    this.#fetched.set(id, fetched);
    fetched.catch(() => this.#fetched.delete(id));
    return fetched;
  }
}
