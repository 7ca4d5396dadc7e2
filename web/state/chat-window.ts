import {
  type Channel,
  type Live,
  persist,
  type PublicUser,
  type SentEvent,
} from "../../client/index.js";
import { memberIn, mentionsIn, reactionsIn, saidIn } from "./chat-content.js";
import { MAX_KEPT, MAX_LIVE, Timeline } from "./chat-timeline.js";
import { codeOf, type People } from "./session.js";

/** How many events a page of the history has. */
const PAGE_EVENTS = 50;

interface WindowParts {
  readonly live: Live;
  readonly people: People;
  readonly channel: Channel;
  /** Whether the end of the list is shown. */
  readonly isAtEnd: () => boolean;
  /** Receives each new event. @param before the id of the newest one before it. */
  readonly onArrival: (event: SentEvent, isNew: boolean, before: number) => void;
  /** @param isOwn whether the user waits for it. */
  readonly onChange: (isOwn: boolean) => void;
}

/** The events of a channel that a chat has: the newest ones, or those around an older message. */
export class ChatWindow {
  readonly timeline = new Timeline();
  /** What is not shown. */
  readonly past: ChatPast;
  readonly #parts: WindowParts;
  readonly #people: ChatPeople;
  #is: "loading" | "ready" | "lost" = "loading";
  #problem: string | undefined;
  #isLoading: "older" | "newer" | undefined;
  /** Counts up to invalidate the reads under way. */
  #run = 0;
  /** Counts up with each load: one that replaces the list makes those under way void. */
  #turn = 0;
  /** The events that arrive while newer ones are being loaded. */
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

  /** `lost`: the channel cannot be read; `problem` is the code of the reason. */
  get is(): "loading" | "ready" | "lost" {
    return this.#is;
  }

  get problem(): string | undefined {
    return this.#problem;
  }

  /** Which way more is being loaded. */
  get isLoading(): "older" | "newer" | undefined {
    return this.#isLoading;
  }

  /** Begins to read. */
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

  /** Shows the server's answer. */
  take(event: SentEvent): void {
    // The chat may be closed, and a page brings an old event.
    if (this.#is !== "ready" || event.event_id < this.timeline.oldest) return;
    this.#add(event);
  }

  /** Shows the reactions to an event. */
  react(event: Pick<SentEvent, "event_id" | "reactions">): void {
    this.timeline.react(event);
    const known = this.timeline.get(event.event_id);
    if (known) this.#meet([known]);
  }

  /** Drops events of which there are too many. */
  trim(): void {
    if (this.#parts.isAtEnd() && !this.timeline.hasNewer) {
      if (this.timeline.size > MAX_LIVE + PAGE_EVENTS) {
        this.timeline.dropOldest(MAX_LIVE);
      }
    } else this.timeline.dropNewest(MAX_KEPT);
  }

  /** Shows a part of the history around a message. @returns whether the message is there. */
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

  /** Loads older messages. A failure changes nothing. */
  async loadOlder(): Promise<void> {
    if (this.#is !== "ready" || this.#isLoading || !this.timeline.hasOlder) {
      return;
    }
    const { oldest: before } = this.timeline;
    await this.#load(
      "older",
      () => this.#parts.channel.history({ before, count: PAGE_EVENTS }),
      (page) => {
        // The oldest may have been dropped meanwhile: the page would leave a gap.
        if (this.timeline.oldest !== before) return [];
        this.timeline.addPage(page);
        this.timeline.hasOlder = page.length === PAGE_EVENTS;
        this.timeline.dropNewest(MAX_KEPT);
        return page;
      },
    ).catch(() => {});
  }

  /** Loads the messages after the last one of the list. */
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

  /** Shows the newest messages again, after others were loaded in their place. */
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

  /** A page of the events after one. */
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
   * @param take shows the page, and returns the events that it used.
   * @throws what `fetch` throws. Nothing has changed then.
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

  /** After a reconnection, fetches a page of the history for the reactions that it missed. */
  async #refresh(): Promise<void> {
    const run = this.#run;
    if (this.#is !== "ready" || this.timeline.hasNewer) return;
    const { channel, onChange } = this.#parts;
    const count = Math.max(PAGE_EVENTS, Math.min(this.timeline.size, 4 * PAGE_EVENTS));
    const before = this.timeline.newest + 1;
    // If it fails, the next reconnection tries again.
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

  /** @returns whether the event was not known. */
  #add(event: SentEvent): boolean {
    this.past.changed([event]);
    const fresh = this.timeline.add([event]);
    this.#meet([event]);
    this.trim();
    return fresh.length > 0;
  }

  /** Fetches the names of the users in events. */
  #meet(events: readonly SentEvent[]): void {
    this.#people.meet(events, this.#parts.live.state?.user.id);
  }
}

/** How many events are looked through for those of a user, and how many at a time. */
const MAX_SCANNED_EVENTS = 5000;
const SCAN_PAGE_EVENTS = 500;

/** Whether an event is a message that was not deleted, and no edit. */
export const isShown = ({ event_type, replaces, content }: SentEvent): boolean =>
  event_type === "channel.message" && replaces === null && saidIn(content).is !== "deleted";

/** What {@link ChatPast} uses of a chat. */
interface PastParts {
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
    for await (const page of this.#channel.pages({ count: SCAN_PAGE_EVENTS })) {
      found.push(...page.filter((it) => isShown(it) && it.sender === user));
      if ((read += page.length) >= MAX_SCANNED_EVENTS) break;
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

/** How many reacting or mentioned users of a message to fetch. */
const MAX_NAMED = 20;

/** The users whose names the events of a chat need. */
function usersIn(events: readonly SentEvent[]): Set<string> {
  const ids = new Set<string>();
  for (const event of events) {
    const { sender, content } = event;
    if (sender) ids.add(sender);
    const member = event.event_type === "channel.member" && memberIn(event);
    if (member) ids.add(member.id);
    const said = saidIn(content);
    const body = said.is === "text" || said.is === "files" ? said.body : "";
    for (const id of mentionsIn(body).slice(0, MAX_NAMED)) ids.add(id);
    for (const [, users] of reactionsIn(event)) {
      for (const id of users.slice(0, MAX_NAMED)) ids.add(id);
    }
  }
  return ids;
}

/** Collects the users of a channel, from the events or by requests. */
class ChatPeople {
  readonly #people: People;
  readonly #channel: Channel;
  /** The last state of each user that the server sent. */
  readonly #known = new Map<string, PublicUser>();

  constructor(people: People, channel: Channel) {
    this.#people = people;
    this.#channel = channel;
  }

  /** @param me the own user, which the session knows better. */
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
