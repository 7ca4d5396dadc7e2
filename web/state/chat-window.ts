import {
  type Channel,
  type Live,
  persist,
  type PublicUser,
  type SentEvent,
} from "../../client/index.js";
import { memberIn, mentionsIn, reactionsIn, parseContent } from "./chat-content.js";
import { MAX_KEPT, MAX_LIVE, Timeline } from "./chat-timeline.js";
import { codeOf, type People } from "./session.js";

/** Number of events per page of history. */
const PAGE_EVENTS = 50;

interface WindowParts {
  readonly live: Live;
  readonly people: People;
  readonly channel: Channel;
  /** Whether the end of the list is shown. */
  readonly isAtEnd: () => boolean;
  /**
   * Called for each incoming event.
   * @param before the id of the newest event that was loaded before this event.
   */
  readonly onArrival: (event: SentEvent, isNew: boolean, before: number) => void;
  /** @param isOwn whether the user is waiting for the change. */
  readonly onChange: (isOwn: boolean) => void;
}

/** A channel's loaded events: the newest events, or the events around a message in the history. */
export class ChatWindow {
  readonly timeline = new Timeline();
  /** Access to the history that is not loaded. */
  readonly past: ChatPast;
  readonly #parts: WindowParts;
  readonly #people: ChatPeople;
  #is: "loading" | "ready" | "lost" = "loading";
  #problem: string | undefined;
  #isLoading: "older" | "newer" | undefined;
  /** Incremented to invalidate reads in flight. */
  #run = 0;
  /** Incremented per load, to invalidate a load in flight. */
  #turn = 0;
  /** Events that arrive while newer events are being loaded. */
  #held: SentEvent[] | undefined;
  #stop: () => void = () => {};

  constructor(parts: WindowParts) {
    this.#parts = parts;
    const { people, channel } = parts;
    this.#people = new ChatPeople(people, channel);
    this.past = new ChatPast(channel, {
      known: (event) => this.timeline.get(event),
      meet: (events) => this.#meet(events),
    });
  }

  /** `lost`: the channel cannot be read; `problem` has the error code. */
  get is(): "loading" | "ready" | "lost" {
    return this.#is;
  }

  get problem(): string | undefined {
    return this.#problem;
  }

  /** The direction in which events are being loaded, if any. */
  get isLoading(): "older" | "newer" | undefined {
    return this.#isLoading;
  }

  /** Starts reading the channel. */
  open(): void {
    const run = ++this.#run;
    const stop = this.#parts.live.on("authenticated", () => {
      void this.#refresh();
    });
    this.#stop = stop;
    void this.#read(() => run !== this.#run);
  }

  close(): void {
    this.#run++;
    this.#turn++;
    this.#stop();
    this.#stop = () => {};
    this.timeline.clear();
    this.#held = undefined;
    this.#is = "loading";
    this.#isLoading = undefined;
    this.#problem = undefined;
  }

  /** Shows an event that the server returned for the user's own action. */
  take(event: SentEvent): void {
    // The chat may have been closed by now. Events before the loaded range are loaded with their
    // page.
    if (this.#is !== "ready" || event.event_id < this.timeline.oldest) return;
    this.#add(event);
  }

  /** Updates the reactions to an event. */
  react(event: Pick<SentEvent, "event_id" | "reactions">): void {
    this.timeline.react(event);
    const known = this.timeline.get(event.event_id);
    if (known) this.#meet([known]);
  }

  /** Drops events beyond the limits. */
  trim(): void {
    if (this.#parts.isAtEnd() && !this.timeline.hasNewer) {
      if (this.timeline.size > MAX_LIVE + PAGE_EVENTS) {
        this.timeline.dropOldest(MAX_LIVE);
      }
    } else this.timeline.dropNewest(MAX_KEPT);
  }

  /**
   * Shows the part of the history around a message.
   * @returns whether the message exists.
   */
  async show(id: number): Promise<boolean> {
    if (this.#is !== "ready") return false;
    if (!this.timeline.get(id)) {
      await this.#load(
        "newer",
        () =>
          Promise.all([
            this.#parts.channel.history({ before: id + 1, count: PAGE_EVENTS }),
            this.#after(id),
          ]),
        ([older, newer]) => {
          const message = older.at(-1);
          if (message?.event_id !== id || !isShown(message)) return [];
          this.timeline.clear();
          this.timeline.addPage([...older, ...newer]);
          this.timeline.hasOlder = older.length === PAGE_EVENTS;
          this.timeline.hasNewer = newer.length === PAGE_EVENTS;
          return [...older, ...newer];
        },
      );
    }
    const event = this.timeline.get(id);
    return event !== undefined && isShown(event);
  }

  /** Loads the messages before the first message in the list. A failure changes nothing. */
  async loadOlder(): Promise<void> {
    if (this.#is !== "ready" || this.#isLoading || !this.timeline.hasOlder) {
      return;
    }
    const { oldest: before } = this.timeline;
    await this.#load(
      "older",
      () => this.#parts.channel.history({ before, count: PAGE_EVENTS }),
      (page) => {
        // The oldest event may have been dropped by now, so the page would leave a gap.
        if (this.timeline.oldest !== before) return [];
        this.timeline.addPage(page);
        this.timeline.hasOlder = page.length === PAGE_EVENTS;
        this.timeline.dropNewest(MAX_KEPT);
        return page;
      },
    ).catch(() => {});
  }

  /** Loads the messages after the last message in the list. */
  async loadNewer(): Promise<void> {
    if (this.#is !== "ready" || this.#isLoading || !this.timeline.hasNewer) {
      return;
    }
    const { newest } = this.timeline;
    await this.#load(
      "newer",
      () => this.#after(newest),
      (page) => {
        if (this.timeline.newest !== newest) return [];
        this.timeline.addPage(page);
        this.timeline.hasNewer = page.length === PAGE_EVENTS;
        this.timeline.dropOldest(MAX_KEPT);
        return page;
      },
    ).catch(() => {});
  }

  /** Returns to the newest messages after another part of the history was shown. */
  async loadNewest(): Promise<void> {
    if (this.#is !== "ready" || !this.timeline.hasNewer) return;
    await this.#load(
      "newer",
      () => this.#parts.channel.history({ count: PAGE_EVENTS }),
      (page) => {
        this.#begin(page);
        return page;
      },
    ).catch(() => {});
  }

  /** Fetches the page of events that follows an id. */
  async #after(after_id: number): Promise<readonly SentEvent[]> {
    const { live, channel } = this.#parts;
    const payload = { channel: channel.id, count: PAGE_EVENTS, after_id };
    return (await live.call("chat.fetch", payload)).results;
  }

  async #read(isOver: () => boolean): Promise<void> {
    const { channel, onChange } = this.#parts;
    try {
      const page = await persist(() => channel.history({ count: PAGE_EVENTS }), isOver);
      if (isOver()) return;
      this.#begin(page);
      this.#is = "ready";
      this.#meet(page);
      onChange(false);
      const coming = channel.events({ after: this.timeline.newest });
      const stop = this.#stop;
      this.#stop = () => {
        stop();
        void coming.return?.();
      };
      for await (const event of coming) {
        if (isOver()) return;
        this.#arrive(event);
      }
    } catch (error) {
      if (isOver()) return;
      this.#is = "lost";
      this.#problem = codeOf(error) ?? "client.failed";
      onChange(false);
    }
  }

  /** Shows the newest page. */
  #begin(page: readonly SentEvent[]): void {
    this.timeline.clear();
    this.timeline.addPage(page);
    this.timeline.hasOlder = page.length === PAGE_EVENTS;
  }

  /**
   * Loads a part of the history.
   * @param take shows the page and returns the events that it used.
   * @throws any error that `fetch` throws. In this case, nothing has changed.
   */
  async #load<T>(
    which: "older" | "newer",
    fetch: () => Promise<T>,
    take: (fetched: T) => readonly SentEvent[],
  ): Promise<void> {
    const turn = ++this.#turn;
    this.#isLoading = which;
    this.#held = which === "newer" ? [] : undefined;
    this.#parts.onChange(true);
    try {
      const fetched = await fetch();
      if (turn === this.#turn) this.#meet(take(fetched));
    } finally {
      if (turn === this.#turn) this.#loaded();
    }
  }

  #loaded(): void {
    this.#isLoading = undefined;
    const held = this.#held ?? [];
    this.#held = undefined;
    if (!this.timeline.hasNewer) this.timeline.add(held);
    this.#parts.onChange(true);
  }

  /** Re-reads a page of the history after a reconnection, to catch up on missed reactions. */
  async #refresh(): Promise<void> {
    const run = this.#run;
    if (this.#is !== "ready" || this.timeline.hasNewer) return;
    const { channel, onChange } = this.#parts;
    const count = Math.max(PAGE_EVENTS, Math.min(this.timeline.size, 4 * PAGE_EVENTS));
    const before = this.timeline.newest + 1;
    // If the request fails, the next reconnection retries.
    const page = await channel.history({ before, count }).catch(() => []);
    if (run !== this.#run || page.length === 0) return;
    // The window may show another part of the history by now.
    const { oldest, newest } = this.timeline;
    const isHere = ({ event_id }: SentEvent) => event_id >= oldest && event_id <= newest;
    this.timeline.addPage(page.filter(isHere));
    this.#meet(page);
    onChange(false);
  }

  #arrive(event: SentEvent): void {
    const before = this.timeline.newest;
    this.#held?.push(event);
    this.#parts.onArrival(event, this.#add(event), before);
  }

  /** @returns whether the event is new. */
  #add(event: SentEvent): boolean {
    this.past.changed([event]);
    const fresh = this.timeline.add([event]);
    this.#meet([event]);
    this.trim();
    return fresh.length > 0;
  }

  /** Fetches the names of the users who appear in events. */
  #meet(events: readonly SentEvent[]): void {
    this.#people.meet(events, this.#parts.live.state?.user.id);
  }
}

/** Maximum number of events scanned for a user's messages, and the page size of the scan. */
const MAX_SCANNED_EVENTS = 5000;
const SCAN_PAGE_EVENTS = 500;

/** Whether an event is a message that is neither deleted nor an edit. */
export const isShown = ({ event_type, replaces, content }: SentEvent): boolean =>
  event_type === "channel.message" && replaces === null && parseContent(content).is !== "deleted";

/** The part of a chat that {@link ChatPast} uses. */
interface PastParts {
  /** Returns an event if it is loaded. */
  readonly known: (id: number) => SentEvent | undefined;
  /** Fetches the names of the users who appear in events. */
  readonly meet: (events: readonly SentEvent[]) => void;
}

/** Reads a channel's history without showing it. */
export class ChatPast {
  readonly #channel: Channel;
  readonly #parts: PastParts;
  /** Messages fetched individually, until they change. */
  readonly #fetched = new Map<number, Promise<SentEvent | undefined>>();

  constructor(channel: Channel, parts: PastParts) {
    this.#channel = channel;
    this.#parts = parts;
  }

  /** Searches messages by words, newest first. */
  async search(query: string, before?: number): Promise<{ results: SentEvent[]; more: boolean }> {
    const found = await this.#channel.search(query, before === undefined ? {} : { before });
    this.#parts.meet(found.results);
    return found;
  }

  /** Returns a user's messages among the latest events. */
  async sentBy(user: string): Promise<SentEvent[]> {
    const found: SentEvent[] = [];
    let read = 0;
    for await (const page of this.#channel.pages({ count: SCAN_PAGE_EVENTS })) {
      found.push(...page.filter((it) => isShown(it) && it.sender === user));
      if ((read += page.length) >= MAX_SCANNED_EVENTS) break;
    }
    return found;
  }

  /**
   * Finds a message among the loaded events or on the server.
   * @returns undefined if the message does not exist or was deleted.
   */
  async find(id: number): Promise<SentEvent | undefined> {
    const event = this.#parts.known(id) ?? (await this.#fetch(id));
    if (event?.event_id !== id || !isShown(event)) return undefined;
    this.#parts.meet([event]);
    return event;
  }

  /** Evicts fetched messages that have been changed by events. */
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

/** Maximum number of reacting or mentioned users to fetch per message. */
const MAX_NAMED = 20;

/** Returns the ids of the users whose names are needed to show a chat's events. */
function usersIn(events: readonly SentEvent[]): Set<string> {
  const ids = new Set<string>();
  for (const event of events) {
    const { sender, content } = event;
    if (sender) ids.add(sender);
    const member = event.event_type === "channel.member" && memberIn(event);
    if (member) ids.add(member.id);
    const said = parseContent(content);
    const body = said.is === "text" || said.is === "files" ? said.body : "";
    for (const id of mentionsIn(body).slice(0, MAX_NAMED)) ids.add(id);
    for (const [, users] of reactionsIn(event)) {
      for (const id of users.slice(0, MAX_NAMED)) ids.add(id);
    }
  }
  return ids;
}

/** Collects a channel's users from its events, and requests users that the events do not contain. */
class ChatPeople {
  readonly #people: People;
  readonly #channel: Channel;
  /** Each user's state as last sent by the server. */
  readonly #known = new Map<string, PublicUser>();

  constructor(people: People, channel: Channel) {
    this.#people = people;
    this.#channel = channel;
  }

  /** @param me the current user, whose state the session already tracks. */
  meet(events: readonly SentEvent[], me: string | undefined): void {
    const ids = usersIn(events);
    const updated: PublicUser[] = [];
    for (const id of ids) {
      const user = this.#channel.users.get(id);
      if (!user || user === this.#known.get(id)) continue;
      this.#known.set(id, user);
      if (id !== me) updated.push(user);
    }
    if (updated.length > 0) this.#people.add(updated);
    this.#people.want(ids);
  }
}
