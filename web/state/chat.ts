import { writable, type Readable } from "svelte/store";
import {
  persist,
  type Channel,
  type Live,
  type MessageContent,
  type SentEvent,
  type SentRoom,
  type WaitingMessage,
} from "../../client/index.js";
import { moduleOf } from "../lib/rights.js";
import type { Shelf } from "../lib/storage.js";
import { reactionsIn, saidIn } from "./chat-content.js";
import { Drafts, type Draft } from "./chat-drafts.js";
import { ChatPast, isShown } from "./chat-past.js";
import { ChatPeople } from "./chat-people.js";
import { rowsOf, type Row } from "./chat-rows.js";
import { MAX_KEPT, MAX_LIVE, Timeline } from "./chat-timeline.js";
import { Uploads } from "./chat-uploads.js";
import type { People } from "./people.js";
import { codeOf } from "./session.js";

/** How many events a page of the history has. */
const PAGE = 50;
/** Crowds are shown this often, in milliseconds. */
const PACE = 50;

/** The state of a chat. */
export interface ChatView {
  /** `lost`: the channel cannot be read; `problem` is the code of the reason. */
  readonly is: "loading" | "ready" | "lost";
  readonly problem?: string;
  readonly rows: readonly Row[];
  /** The user's pending and failed messages. */
  readonly waiting: readonly WaitingMessage[];
  readonly hasOlder: boolean;
  readonly hasNewer: boolean;
  /** Which way more is being loaded. */
  readonly isLoading?: "older" | "newer" | undefined;
  /** How many messages of others came while their end of the list was not shown. */
  readonly newCount: number;
}

/** The part of a session that a chat uses. */
export interface ChatParts {
  readonly live: Live;
  readonly people: People;
  readonly shelf: Shelf;
  /** The name of the world, for the shelf. */
  readonly world: string;
  /** Uploads a file. @returns its URL. */
  readonly upload: (file: File) => Promise<string>;
  /** The largest file that the server takes, in bytes. */
  readonly maxBytes: number;
}

const empty: ChatView = {
  is: "loading",
  rows: [],
  waiting: [],
  hasOlder: false,
  hasNewer: false,
  newCount: 0,
};

/**
 * One channel as the user sees it, with their pending messages. It reads the channel while
 * it is open, and keeps drafts for as long as the page lives.
 */
export class ChatStore implements Readable<ChatView> {
  readonly id: string;
  readonly draft;
  /** The files that are on their way into the draft. */
  readonly uploads: Uploads;
  /** The message that is being edited, and its text. */
  readonly editing = writable<
    (Pick<Draft, "text" | "mentions"> & { id: number }) | undefined
  >(undefined);
  /** The message that the draft replies to. */
  readonly replying = writable<SentEvent | undefined>(undefined);
  /** What is not shown. */
  readonly past: ChatPast;
  readonly #parts: ChatParts;
  readonly #channel: Channel;
  readonly #timeline = new Timeline();
  readonly #drafts: Drafts;
  readonly #store = writable<ChatView>(empty);
  readonly subscribe = this.#store.subscribe;
  readonly #listeners = new Set<(events: readonly SentEvent[]) => void>();
  readonly #met: ChatPeople;
  #draft: Draft;
  #rows: readonly Row[] = [];
  #is: ChatView["is"] = "loading";
  #problem: string | undefined;
  #isLoading: ChatView["isLoading"];
  #newCount = 0;
  #readUpTo: number | undefined;
  #place = { isAtEnd: true, isSeen: false };
  /** How many views show it. */
  #views = 0;
  #stop: (() => void)[] = [];
  /** Counts up to invalidate the reads under way. */
  #run = 0;
  /** The events that arrive while newer ones are being loaded. */
  #held: SentEvent[] | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #published = 0;

  constructor(parts: ChatParts, id: string) {
    const { live, shelf, world } = parts;
    this.id = id;
    this.#parts = parts;
    this.#channel = live.channel(id);
    this.#met = new ChatPeople(parts.people, this.#channel);
    this.past = new ChatPast(this.#channel, {
      known: (event) => this.#timeline.get(event),
      meet: (events) => this.#meet(events),
    });
    const key = `foyer:${world}:chat:${live.state?.user.id ?? ""}:${id}`;
    this.#drafts = new Drafts(shelf, key);
    const { draft, unconfirmed } = this.#drafts.read();
    this.#draft = draft;
    this.draft = writable<Draft>(draft);
    const { outbox } = this.#channel;
    outbox.restore(unconfirmed);
    outbox.onChange((sent) => {
      this.#keep();
      if (sent) this.#take(sent);
      this.#publishNow();
      this.#leaveIfOver();
    });
    const { upload, maxBytes } = parts;
    this.uploads = new Uploads({
      upload,
      maxBytes,
      done: (file) => {
        const files = [...this.#draft.files, file];
        this.setDraft({ ...this.#draft, files });
      },
    });
  }

  /** Begins to read. @returns ends it, when no other view reads it. */
  open(): () => void {
    if (++this.#views === 1) this.#open();
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      if (--this.#views === 0) this.#close();
    };
  }

  /** Starts over after the channel was lost. */
  reopen(): void {
    this.#close();
    this.#open();
  }

  /** Listens to new messages of others. @returns ends it. */
  onArrival(listener: (events: readonly SentEvent[]) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /**
   * Sets the visible place.
   * @param place.isAtEnd whether the newest message is shown.
   * @param place.isSeen whether the user looks at the page.
   */
  setPlace(place: { isAtEnd: boolean; isSeen: boolean }): void {
    const wasSeen = this.#place.isSeen;
    const wasAtEnd = this.#place.isAtEnd;
    this.#place = place;
    if (wasSeen && !place.isSeen) this.#readUpTo = undefined;
    if (place.isAtEnd) {
      this.#newCount = 0;
      if (!wasAtEnd) this.#trim();
    }
    this.#markRead();
    if (place.isAtEnd !== wasAtEnd || place.isSeen !== wasSeen) {
      this.#publishNow();
    }
  }

  setDraft(draft: Draft): void {
    this.#draft = draft;
    this.draft.set(draft);
    this.#keep();
  }

  /** Puts a text before the draft. */
  prependDraft(text: string, mentions: Draft["mentions"]): void {
    const { text: rest, mentions: others, files } = this.#draft;
    const known = others.filter(
      ({ label }) => !mentions.some((it) => it.label === label),
    );
    this.setDraft({
      text: rest === "" ? text : `${text}\n${rest}`,
      mentions: [...mentions, ...known],
      files,
    });
  }

  /** Sends a message. It is kept until the server has it. */
  send(content: MessageContent): void {
    this.#readUpTo = undefined;
    this.#channel.outbox.post(content);
  }

  retry(localId: string): void {
    this.#channel.outbox.retry(localId);
  }

  /** Gives up a message that could not be sent. @returns its content. */
  remove(localId: string): MessageContent | undefined {
    return this.#channel.outbox.cancel(localId)?.content;
  }

  /** Changes the text of an own message. */
  async edit(id: number, body: string): Promise<void> {
    const content = this.#timeline.get(id)?.content ?? {};
    const { type, files, reply_to } = content;
    await this.#channel.ensureMember();
    const edit = this.#channel.edit(id, {
      ...(type === "files" ? { type, files, body } : { type: "text", body }),
      ...(reply_to !== undefined && { reply_to }),
    });
    this.#take(await edit);
    this.#publish();
  }

  /** Deletes an own message, or, as a moderator, any message. */
  async delete(id: number): Promise<void> {
    // The server takes a deletion for something that is sent.
    await this.#channel.ensureMember();
    this.#take(await this.#channel.delete(id));
    this.#publish();
  }

  /** Shows a part of the history around a message. @returns whether the message is there. */
  async show(id: number): Promise<boolean> {
    if (this.#is !== "ready") return false;
    if (!this.#timeline.get(id)) {
      const count = PAGE;
      const [older, newer] = await Promise.all([
        this.#channel.history({ before: id + 1, count }),
        this.#parts.live
          .call("chat.fetch", { channel: this.id, count, after_id: id })
          .then(({ results }) => results),
      ]);
      if (older.at(-1)?.event_id !== id || !isShown(older.at(-1)!))
        return false;
      await this.#load(
        "newer",
        async () => [...older, ...newer],
        (page) => {
          this.#timeline.clear();
          this.#timeline.addPage(page);
          this.#timeline.hasOlder = older.length === count;
          this.#timeline.hasNewer = newer.length === count;
        },
      );
    }
    const event = this.#timeline.get(id);
    return event !== undefined && isShown(event);
  }

  /** Adds a reaction, or takes the own one back. */
  async react(id: number, emoji: string): Promise<void> {
    const me = this.#me ?? "";
    const event = this.#timeline.get(id);
    const mine = event && reactionsIn(event).find(([it]) => it === emoji);
    await this.#channel.ensureMember();
    const answer = mine?.[1].includes(me)
      ? await this.#channel.unreact(id, emoji)
      : await this.#channel.react(id, emoji);
    this.#react(answer);
  }

  /** The last message of the user that can be edited. */
  get lastOwn(): SentEvent | undefined {
    return this.#timeline.events.findLast(
      (event) =>
        event.event_type === "channel.message" &&
        event.sender === this.#me &&
        saidIn(event.content).is === "text",
    );
  }

  /** Loads older messages. A failure changes nothing. */
  async loadOlder(): Promise<void> {
    if (this.#is !== "ready" || this.#isLoading || !this.#timeline.hasOlder) {
      return;
    }
    const { oldest: before } = this.#timeline;
    await this.#load(
      "older",
      () => this.#channel.history({ before, count: PAGE }),
      (page) => {
        this.#timeline.addPage(page);
        this.#timeline.hasOlder = page.length === PAGE;
        this.#timeline.dropNewest(MAX_KEPT);
      },
    );
  }

  /** Loads the messages after the last one of the list. */
  async loadNewer(): Promise<void> {
    if (this.#is !== "ready" || this.#isLoading || !this.#timeline.hasNewer) {
      return;
    }
    const { newest: after_id } = this.#timeline;
    const payload = { channel: this.id, count: PAGE, after_id };
    await this.#load(
      "newer",
      async () => (await this.#parts.live.call("chat.fetch", payload)).results,
      (page) => {
        this.#timeline.addPage(page);
        this.#timeline.hasNewer = page.length === PAGE;
        this.#timeline.dropOldest(MAX_KEPT);
      },
    );
  }

  /** Shows the newest messages again, after others were loaded in their place. */
  async loadNewest(): Promise<void> {
    if (this.#is !== "ready" || !this.#timeline.hasNewer) return;
    await this.#load(
      "newer",
      () => this.#channel.history({ count: PAGE }),
      (page) => this.#begin(page),
    );
  }

  get #me(): string | undefined {
    return this.#parts.live.state?.user.id;
  }

  /** The room of the channel; undefined if it is direct. */
  get #room(): SentRoom | undefined {
    return this.#parts.live.state?.rooms.find(({ id }) => id === this.id);
  }

  get #isVolatile(): boolean {
    const room = this.#room;
    const chat = room && moduleOf(room, "chat.native");
    return chat?.config["volatile"] === true;
  }

  #open(): void {
    const run = ++this.#run;
    const { live } = this.#parts;
    const { readPointer, isUnread } = this.#channel;
    this.#readUpTo =
      readPointer > 0 && isUnread && !this.#isVolatile
        ? readPointer
        : undefined;
    this.#stop = [
      live.on("authenticated", () => void this.#refresh()),
      this.#channel.onReaction((event) => this.#react(event)),
    ];
    if (
      this.#isVolatile &&
      this.#room?.permissions.includes("room:chat.join")
    ) {
      // A user who cannot join still reads; sending shows the reason.
      this.#channel.ensureMember().then(
        () => this.#leaveIfOver(),
        () => {},
      );
    }
    void this.#read(() => run !== this.#run);
  }

  #close(): void {
    this.#run++;
    for (const stop of this.#stop) stop();
    this.#stop = [];
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#timeline.clear();
    this.#held = undefined;
    this.#is = "loading";
    this.#isLoading = undefined;
    this.#problem = undefined;
    this.#newCount = 0;
    this.#rows = [];
    this.#store.set(empty);
    this.#leaveIfOver();
  }

  /** A volatile membership ends with the visit, when nothing is on its way any longer. */
  #leaveIfOver(): void {
    const { membership, outbox } = this.#channel;
    if (this.#views > 0 || membership !== "volatile") return;
    if (outbox.messages.some(({ state }) => state !== "failed")) return;
    this.#channel.leave().catch(() => {});
  }

  async #read(isOver: () => boolean): Promise<void> {
    try {
      const page = await persist(
        () => this.#channel.history({ count: PAGE }),
        isOver,
      );
      if (isOver()) return;
      this.#begin(page);
      this.#is = "ready";
      this.#meet(page);
      this.#publish();
      this.#markRead();
      const coming = this.#channel.events({ after: this.#timeline.newest });
      this.#stop.push(() => void coming.return?.());
      for await (const event of coming) {
        if (isOver()) return;
        this.#arrive(event);
      }
    } catch (error) {
      if (isOver()) return;
      this.#is = "lost";
      this.#problem = codeOf(error) ?? "client.failed";
      this.#publish();
    }
  }

  /** Shows the newest page. */
  #begin(page: readonly SentEvent[]): void {
    this.#timeline.clear();
    this.#timeline.addPage(page);
    this.#timeline.hasOlder = page.length === PAGE;
  }

  async #load(
    which: "older" | "newer",
    fetch: () => Promise<readonly SentEvent[]>,
    take: (page: readonly SentEvent[]) => void,
  ): Promise<void> {
    const run = this.#run;
    this.#isLoading = which;
    if (which === "newer") this.#held = [];
    this.#publishNow();
    // After a failure, the button that asks for it stays.
    const page = await fetch().catch(() => undefined);
    if (run !== this.#run) return;
    if (page) {
      take(page);
      this.#meet(page);
    }
    this.#isLoading = undefined;
    const held = this.#held ?? [];
    this.#held = undefined;
    if (!this.#timeline.hasNewer) this.#timeline.add(held);
    this.#publishNow();
    this.#markRead();
  }

  /** After a reconnection: reactions that were missed come with a page of the history. */
  async #refresh(): Promise<void> {
    const run = this.#run;
    if (this.#is !== "ready" || this.#timeline.hasNewer) return;
    const count = Math.max(PAGE, Math.min(this.#timeline.size, 4 * PAGE));
    const before = this.#timeline.newest + 1;
    // Without it, they come with the next one.
    const page = await this.#channel.history({ before, count }).catch(() => []);
    if (run !== this.#run || page.length === 0) return;
    const { oldest } = this.#timeline;
    this.#timeline.addPage(page.filter(({ event_id }) => event_id >= oldest));
    this.#meet(page);
    this.#publish();
  }

  #arrive(event: SentEvent): void {
    const before = this.#timeline.newest;
    this.#held?.push(event);
    const isNew = this.#add([event]).length > 0;
    const isOthers =
      event.event_type === "channel.message" && event.sender !== this.#me;
    if (isNew && isOthers) {
      if (!this.#place.isSeen && !this.#isVolatile) this.#readUpTo ??= before;
      if (!this.#place.isAtEnd) this.#newCount++;
    }
    // Not before: an event in a quiet chat is shown at once, and nothing shows it again.
    this.#publish();
    if (isNew && isOthers) {
      for (const listener of this.#listeners) listener([event]);
    }
    this.#markRead();
  }

  /** Shows the server's answer. */
  #take(event: SentEvent): void {
    // The chat may be closed, and an old event comes with its page.
    if (this.#is !== "ready" || event.event_id < this.#timeline.oldest) return;
    this.#add([event]);
  }

  /** @returns the events that were not known. */
  #add(events: readonly SentEvent[]): SentEvent[] {
    this.past.changed(events);
    const fresh = this.#timeline.add(events);
    this.#meet(events);
    this.#trim();
    return fresh;
  }

  #trim(): void {
    if (this.#place.isAtEnd && !this.#timeline.hasNewer) {
      if (this.#timeline.size > MAX_LIVE + PAGE) {
        this.#timeline.dropOldest(MAX_LIVE);
      }
    } else this.#timeline.dropNewest(MAX_KEPT);
  }

  #react(event: Pick<SentEvent, "event_id" | "reactions">): void {
    this.#timeline.react(event);
    const known = this.#timeline.get(event.event_id);
    if (known) this.#meet([known]);
    this.#publish();
  }

  /** Fetches the names of the users in events. */
  #meet(events: readonly SentEvent[]): void {
    this.#met.meet(events, this.#me);
  }

  #markRead(): void {
    const { isAtEnd, isSeen } = this.#place;
    const { newest, hasNewer } = this.#timeline;
    if (!isAtEnd || !isSeen || hasNewer || newest === 0) return;
    if (this.#is !== "ready") return;
    const { readPointer, notifications } = this.#channel;
    // Without lasting members, only notifications are counted.
    const isBehind = newest > readPointer && !this.#isVolatile;
    if (isBehind || notifications > 0) this.#channel.markRead(newest);
  }

  #keep(): void {
    this.#drafts.write({
      draft: this.#draft,
      unconfirmed: this.#channel.outbox.messages,
    });
  }

  /** Shows the user's own action. */
  #publishNow(): void {
    clearTimeout(this.#timer);
    if (this.#views > 0) this.#show();
  }

  /** Shows changes: at once, or soon in a crowd. */
  #publish(): void {
    if (this.#timer !== undefined || this.#views === 0) return;
    const wait = this.#published + PACE - Date.now();
    if (wait <= 0 || wait > PACE) return this.#show();
    this.#timer = setTimeout(() => this.#show(), wait);
  }

  #show(): void {
    this.#timer = undefined;
    this.#published = Date.now();
    const { events, hasOlder, hasNewer } = this.#timeline;
    this.#rows = rowsOf(
      { events, hasOlder, readUpTo: this.#readUpTo, me: this.#me },
      this.#rows,
    );
    this.#store.set({
      is: this.#is,
      ...(this.#problem !== undefined && { problem: this.#problem }),
      rows: this.#rows,
      waiting: this.#channel.outbox.messages,
      hasOlder,
      hasNewer,
      isLoading: this.#isLoading,
      newCount: this.#newCount,
    });
  }
}
