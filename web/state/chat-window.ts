import { persist, type Channel, type Live, type SentEvent } from "../../client/index.js";
import { ChatPast, isShown } from "./chat-past.js";
import { ChatPeople } from "./chat-people.js";
import { MAX_KEPT, MAX_LIVE, Timeline } from "./chat-timeline.js";
import type { People } from "./people.js";
import { codeOf } from "./session.js";

/** How many events a page of the history has. */
const PAGE = 50;

interface WindowParts {
  readonly live: Live;
  readonly people: People;
  readonly channel: Channel;
  /** Whether the end of the list is shown. */
  readonly isAtEnd: () => boolean;
  /** Gets each event that comes. @param before the id of the newest one before it. */
  readonly onArrival: (event: SentEvent, isNew: boolean, before: number) => void;
  /** @param isOwn whether the user waits for it. */
  readonly onChange: (isOwn: boolean) => void;
}

/** The events of a channel that a chat has: the newest ones, or those around a place in the past. */
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
    // The chat may be closed, and an old event comes with its page.
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
      if (this.timeline.size > MAX_LIVE + PAGE) {
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
            this.#parts.channel.history({ before: id + 1, count: PAGE }),
            this.#after(id),
          ]),
        ([older, newer]) => {
          const message = older.at(-1);
          if (message?.event_id !== id || !isShown(message)) return [];
          this.timeline.clear();
          this.timeline.addPage([...older, ...newer]);
          this.timeline.hasOlder = older.length === PAGE;
          this.timeline.hasNewer = newer.length === PAGE;
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
      () => this.#parts.channel.history({ before, count: PAGE }),
      (page) => {
        // The oldest may have been dropped meanwhile: the page would leave a gap.
        if (this.timeline.oldest !== before) return [];
        this.timeline.addPage(page);
        this.timeline.hasOlder = page.length === PAGE;
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
        this.timeline.hasNewer = page.length === PAGE;
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
      () => this.#parts.channel.history({ count: PAGE }),
      (page) => {
        this.#begin(page);
        return page;
      },
    ).catch(() => {});
  }

  /** A page of the events after one. */
  async #after(after_id: number): Promise<readonly SentEvent[]> {
    const { live, channel } = this.#parts;
    const payload = { channel: channel.id, count: PAGE, after_id };
    return (await live.call("chat.fetch", payload)).results;
  }

  async #read(isOver: () => boolean): Promise<void> {
    const { channel, onChange } = this.#parts;
    try {
      const page = await persist(() => channel.history({ count: PAGE }), isOver);
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
    this.timeline.hasOlder = page.length === PAGE;
  }

  /**
   * Loads a part of the history.
   * @param take shows what came. It returns the events that it has taken.
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

  /** After a reconnection: reactions that were missed come with a page of the history. */
  async #refresh(): Promise<void> {
    const run = this.#run;
    if (this.#is !== "ready" || this.timeline.hasNewer) return;
    const { channel, onChange } = this.#parts;
    const count = Math.max(PAGE, Math.min(this.timeline.size, 4 * PAGE));
    const before = this.timeline.newest + 1;
    // Without it, they come with the next one.
    const page = await channel.history({ before, count }).catch(() => []);
    if (run !== this.#run || page.length === 0) return;
    // Another part of the history may have taken the place of this one.
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
