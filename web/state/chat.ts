import { writable, type Readable } from "svelte/store";
import type {
  Channel,
  Live,
  MessageContent,
  SentEvent,
  SentRoom,
} from "../../client/index.js";
import { moduleOf } from "../lib/rights.js";
import type { Shelf } from "../lib/storage.js";
import { localIdIn, reactionsIn, saidIn } from "./chat-content.js";
import { Drafts, type Draft } from "./chat-drafts.js";
import { ChatOutbox, type Waiting } from "./chat-outbox.js";
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
/** After how long a call is repeated that found no connection, in milliseconds. */
const PAUSE = 1000;

/** What a chat shows. */
export interface ChatView {
  /** `lost`: the channel cannot be read; `problem` is the code that says why. */
  readonly is: "loading" | "ready" | "lost";
  readonly problem?: string;
  readonly rows: readonly Row[];
  readonly waiting: readonly Waiting[];
  readonly hasOlder: boolean;
  readonly hasNewer: boolean;
  /** Which way more is being loaded. */
  readonly isLoading?: "older" | "newer" | undefined;
  /** How many messages of others came while their end of the list was not shown. */
  readonly newCount: number;
}

/** What a chat needs of a session. */
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
 * One channel as somebody sees it, with the own messages on their way. It reads the
 * channel while it is open, and remembers what was written for as long as the page lives.
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
  readonly #parts: ChatParts;
  readonly #channel: Channel;
  readonly #timeline = new Timeline();
  readonly #outbox: ChatOutbox;
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
  /** Counts up whenever what is being read no longer counts. */
  #run = 0;
  /** What comes while newer events are being loaded. */
  #held: SentEvent[] | undefined;
  #hasJoined = false;
  #joining: Promise<void> | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #published = 0;

  constructor(parts: ChatParts, id: string) {
    const { live, shelf, world } = parts;
    this.id = id;
    this.#parts = parts;
    this.#channel = live.channel(id);
    this.#met = new ChatPeople(parts.people, this.#channel);
    const key = `foyer:${world}:chat:${live.state?.user.id ?? ""}:${id}`;
    this.#drafts = new Drafts(shelf, key);
    this.#outbox = new ChatOutbox({
      channel: this.#channel,
      join: () => this.join(),
      lost: () => {
        this.#hasJoined = false;
        return this.#room !== undefined;
      },
      changed: () => {
        this.#keep();
        this.#publishNow();
        this.#leaveIfOver();
      },
      sent: (event) => this.#take([event]),
    });
    const { draft, unconfirmed } = this.#drafts.read();
    this.#draft = draft;
    this.draft = writable<Draft>(draft);
    this.#outbox.restore(unconfirmed);
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

  /** Begins anew after the channel was lost. */
  reopen(): void {
    this.#close();
    this.#open();
  }

  /** Tells of messages of others as they come. @returns ends it. */
  onArrival(listener: (events: readonly SentEvent[]) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /**
   * What the user sees of it.
   * @param place.isAtEnd whether the newest message is shown.
   * @param place.isSeen whether somebody looks at the page.
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

  /** Puts a text before what is being written. */
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
    this.#outbox.send(content);
  }

  retry(key: string): void {
    this.#outbox.retry(key);
  }

  /** Gives up a message that could not be sent. @returns its content. */
  remove(key: string): MessageContent | undefined {
    return this.#outbox.remove(key)?.content;
  }

  /** Changes the text of an own message. */
  async edit(id: number, body: string): Promise<void> {
    const content = this.#timeline.get(id)?.content ?? {};
    const { type, files } = content;
    await this.join();
    const edit = this.#channel.edit(
      id,
      type === "files" ? { type, files, body } : { type: "text", body },
    );
    this.#take([await edit]);
  }

  /** Deletes an own message, or, as a moderator, anybody's. */
  async delete(id: number): Promise<void> {
    // The server takes a deletion for something that is sent.
    await this.join();
    this.#take([await this.#channel.delete(id)]);
  }

  /** Adds a reaction, or takes the own one back. */
  async react(id: number, emoji: string): Promise<void> {
    const me = this.#me ?? "";
    const event = this.#timeline.get(id);
    const mine = event && reactionsIn(event).find(([it]) => it === emoji);
    await this.join();
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

  /** Becomes a member, if that is needed to send. */
  async join(): Promise<void> {
    if (this.#isMember) return;
    this.#joining ??= this.#persist(() => this.#channel.join())
      .then(() => void (this.#hasJoined = true))
      .finally(() => (this.#joining = undefined));
    return this.#joining;
  }

  /** Loads what was said before. Its failure is as if nothing was asked. */
  async loadOlder(): Promise<void> {
    if (this.#is !== "ready" || this.#isLoading || !this.#timeline.hasOlder) {
      return;
    }
    await this.#load("older", async (isOver) => {
      const before = this.#timeline.oldest;
      const page = await this.#channel.history({
        ...(before > 0 && { before }),
        count: PAGE,
      });
      if (isOver()) return;
      this.#timeline.addPage(page);
      this.#timeline.hasOlder = page.length === PAGE;
      this.#timeline.dropNewest(MAX_KEPT);
      this.#meet(page);
    });
  }

  /** Loads what comes behind the last message of the list. */
  async loadNewer(): Promise<void> {
    if (this.#is !== "ready" || this.#isLoading || !this.#timeline.hasNewer) {
      return;
    }
    await this.#load("newer", async (isOver) => {
      const { results } = await this.#parts.live.call("chat.fetch", {
        channel: this.id,
        count: PAGE,
        after_id: this.#timeline.newest,
      });
      if (isOver()) return;
      this.#timeline.addPage(results);
      this.#timeline.hasNewer = results.length === PAGE;
      this.#timeline.dropOldest(MAX_KEPT);
      this.#meet(results);
    });
  }

  /** Shows the newest messages again, after others were loaded in their place. */
  async loadNewest(): Promise<void> {
    if (this.#is !== "ready" || !this.#timeline.hasNewer) return;
    await this.#load("newer", async (isOver) => {
      const page = await this.#channel.history({ count: PAGE });
      if (isOver()) return;
      this.#timeline.clear();
      this.#timeline.addPage(page);
      this.#timeline.hasOlder = page.length === PAGE;
      this.#meet(page);
    });
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

  get #isMember(): boolean {
    return (
      !this.#room ||
      this.#hasJoined ||
      (this.#parts.live.state?.channels ?? []).some(({ id }) => id === this.id)
    );
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
      // Who cannot join still reads; sending says why.
      this.join().catch(() => {});
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
    if (this.#views > 0 || this.#outbox.isBusy || !this.#hasJoined) return;
    this.#hasJoined = false;
    if (this.#isVolatile) this.#channel.leave().catch(() => {});
  }

  async #read(isOver: () => boolean): Promise<void> {
    try {
      const page = await this.#persist(
        () => this.#channel.history({ count: PAGE }),
        isOver,
      );
      if (isOver()) return;
      this.#timeline.addPage(page);
      this.#timeline.hasOlder = page.length === PAGE;
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

  /** Repeats a call that may be executed twice for as long as there is no connection. */
  async #persist<T>(
    call: () => Promise<T>,
    isOver: () => boolean = () => false,
  ): Promise<T> {
    for (;;) {
      try {
        return await call();
      } catch (error) {
        if (isOver() || !TRANSIENT.includes(codeOf(error) ?? "")) throw error;
        await new Promise((done) => setTimeout(done, PAUSE));
      }
    }
  }

  async #load(
    which: "older" | "newer",
    work: (isOver: () => boolean) => Promise<void>,
  ): Promise<void> {
    const run = this.#run;
    const isOver = () => run !== this.#run;
    this.#isLoading = which;
    if (which === "newer") this.#held = [];
    this.#publishNow();
    try {
      await work(isOver);
    } catch {
      // The button that asks for it stays.
    }
    if (isOver()) return;
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

  /** Shows what the server answered. */
  #take(events: readonly SentEvent[]): void {
    // A message can be confirmed when nobody looks any longer.
    if (this.#is !== "ready") return;
    this.#add(events);
    this.#publish();
  }

  /** @returns the events that were not known. */
  #add(events: readonly SentEvent[]): SentEvent[] {
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

  /** Learns the names of those who occur in events, and what was sent. */
  #meet(events: readonly SentEvent[]): void {
    const me = this.#me;
    for (const event of events) {
      if (event.sender === me && this.#outbox.arrived(localIdIn(event))) {
        this.#keep();
      }
    }
    this.#met.meet(events, me);
  }

  #markRead(): void {
    const { isAtEnd, isSeen } = this.#place;
    const { newest, hasNewer } = this.#timeline;
    if (!isAtEnd || !isSeen || hasNewer || newest === 0) return;
    if (this.#is !== "ready") return;
    const { readPointer, notifications } = this.#channel;
    // Where nobody is a lasting member, only notifications are counted.
    const isBehind = newest > readPointer && !this.#isVolatile;
    if (isBehind || notifications > 0) this.#channel.markRead(newest);
  }

  #keep(): void {
    this.#drafts.write({
      draft: this.#draft,
      unconfirmed: this.#outbox.all.map(({ localId, content }) => ({
        localId,
        content: localId ? { ...content, local_id: localId } : content,
      })),
    });
  }

  /** Shows what the user did. */
  #publishNow(): void {
    clearTimeout(this.#timer);
    if (this.#views > 0) this.#show();
  }

  /** Shows what has changed: at once, or soon in a crowd. */
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
      waiting: this.#outbox.all,
      hasOlder,
      hasNewer,
      isLoading: this.#isLoading,
      newCount: this.#newCount,
    });
  }
}

/** Codes after which a call is repeated. */
const TRANSIENT = [
  "client.disconnected",
  "client.timeout",
  "client.unreachable",
  "client.overloaded",
  "protocol.rate_limited",
  "server.unavailable",
  "server.doubtful",
];
