import { type Readable, writable } from "svelte/store";
import type {
  Channel,
  Live,
  MessageContent,
  SentEvent,
  SentRoom,
  WaitingMessage,
} from "../../client/index.js";
import { moduleOf } from "../lib/rights.js";
import type { Shelf } from "../lib/storage.js";
import { reactionsIn, saidIn } from "./chat-content.js";
import { type Row, rowsOf } from "./chat-timeline.js";
import { ChatWindow } from "./chat-window.js";
import { ChatWriting } from "./chat-writing.js";
import type { Named } from "./profile.js";
import type { People, Session } from "./session.js";

/** A busy chat redraws at most this often. */
const REDRAW_INTERVAL_MS = 50;

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
  /** How many messages of others arrived while the end of the list was out of view. */
  readonly newCount: number;
}

/** The part of a session that a chat uses. */
interface ChatParts {
  readonly live: Live;
  readonly people: People;
  readonly shelf: Shelf;
  /** The name of the world, for the shelf. */
  readonly world: string;
  /** Uploads a file. @returns its URL. */
  readonly upload: (file: File) => Promise<string>;
  /** The largest file that the server accepts, in bytes. */
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
  readonly #parts: ChatParts;
  readonly #channel: Channel;
  /** What the user writes. */
  readonly writing: ChatWriting;
  /** The events that are shown or can be. */
  readonly window: ChatWindow;
  readonly #store = writable<ChatView>(empty);
  readonly subscribe = this.#store.subscribe;
  readonly #listeners = new Set<(events: readonly SentEvent[]) => void>();
  #rows: readonly Row[] = [];
  #newCount = 0;
  #readUpTo: number | undefined;
  #view = { isAtEnd: true, isSeen: false };
  /** How many views show it. */
  #views = 0;
  #stop: () => void = () => {};
  readonly #shown = new Throttle(REDRAW_INTERVAL_MS, () => this.#show());

  constructor(parts: ChatParts, id: string) {
    const { live, people, shelf, world, upload, maxBytes } = parts;
    this.id = id;
    this.#parts = parts;
    const channel = live.channel(id);
    this.#channel = channel;
    this.window = new ChatWindow({
      live,
      people,
      channel,
      isAtEnd: () => this.#view.isAtEnd,
      onArrival: (...arrival) => this.#arrived(...arrival),
      onChange: (isOwn) => {
        if (isOwn) this.#publishNow();
        else this.#publish();
        this.#markRead();
      },
    });
    const key = `foyer:${world}:chat:${live.state?.user.id ?? ""}:${id}`;
    this.writing = new ChatWriting({
      channel,
      shelf,
      key,
      upload,
      maxBytes,
      onChange: (sent) => {
        if (sent) this.window.take(sent);
        this.#publishNow();
        this.#leaveIfOver();
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
   * Reports what the view shows.
   * @param view.isAtEnd whether the newest message is shown.
   * @param view.isSeen whether the user looks at the page.
   */
  setView(view: { isAtEnd: boolean; isSeen: boolean }): void {
    const wasSeen = this.#view.isSeen;
    const wasAtEnd = this.#view.isAtEnd;
    this.#view = view;
    if (wasSeen && !view.isSeen) this.#readUpTo = undefined;
    if (view.isAtEnd) {
      this.#newCount = 0;
      if (!wasAtEnd) this.window.trim();
    }
    this.#markRead();
    if (view.isAtEnd !== wasAtEnd || view.isSeen !== wasSeen) {
      this.#publishNow();
    }
  }

  /** Sends a message. It is kept until the server has it. */
  send(content: MessageContent): void {
    this.#readUpTo = undefined;
    void this.#channel.send(content, { keep: true });
  }

  /** Changes the text of an own message. */
  async edit(id: number, body: string): Promise<void> {
    const content = this.window.timeline.get(id)?.content ?? {};
    const { type, files, reply_to } = content;
    await this.#channel.ensureMember();
    const edit = this.#channel.edit(id, {
      ...(type === "files" ? { type, files, body } : { type: "text", body }),
      ...(reply_to !== undefined && { reply_to }),
    });
    this.window.take(await edit);
    this.#publish();
  }

  /** Deletes an own message, or, as a moderator, any message. */
  async delete(id: number): Promise<void> {
    // For the server, a deletion is a message, so it needs a member.
    await this.#channel.ensureMember();
    this.window.take(await this.#channel.delete(id));
    this.#publish();
  }

  /** Adds a reaction, or removes the user's own. */
  async react(id: number, emoji: string): Promise<void> {
    const me = this.#me ?? "";
    const event = this.window.timeline.get(id);
    const mine = event && reactionsIn(event).find(([it]) => it === emoji);
    await this.#channel.ensureMember();
    const answer = mine?.[1].includes(me)
      ? await this.#channel.unreact(id, emoji)
      : await this.#channel.react(id, emoji);
    this.#react(answer);
  }

  /** The last message of the user that can be edited. */
  get lastOwn(): SentEvent | undefined {
    return this.window.timeline.events.findLast(
      (event) =>
        event.event_type === "channel.message" &&
        event.sender === this.#me &&
        saidIn(event.content).is === "text",
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
    const { readPointer, isUnread } = this.#channel;
    this.#readUpTo = readPointer > 0 && isUnread && !this.#isVolatile ? readPointer : undefined;
    this.#stop = this.#channel.onReaction((event) => this.#react(event));
    if (this.#isVolatile && this.#room?.permissions.includes("room:chat.join")) {
      // A user who cannot join still reads; sending shows the reason.
      this.#channel.ensureMember().then(
        () => this.#leaveIfOver(),
        () => {},
      );
    }
    this.window.open();
  }

  #close(): void {
    this.#stop();
    this.#shown.stop();
    this.window.close();
    this.#newCount = 0;
    this.#rows = [];
    this.#store.set(empty);
    this.#leaveIfOver();
  }

  /** A volatile membership ends with the visit, when nothing is on its way any longer. */
  #leaveIfOver(): void {
    if (this.#views > 0 || this.#channel.membership !== "volatile") return;
    if (this.writing.isSending) return;
    this.#channel.leave().catch(() => {});
  }

  /** @param before the id of the newest one before it. */
  #arrived(event: SentEvent, isNew: boolean, before: number): void {
    const isOthers = event.event_type === "channel.message" && event.sender !== this.#me;
    if (isNew && isOthers) {
      if (!this.#view.isSeen && !this.#isVolatile) this.#readUpTo ??= before;
      if (!this.#view.isAtEnd) this.#newCount++;
    }
    // After the count: a quiet chat redraws at once, and not again.
    this.#publish();
    if (isNew && isOthers) {
      for (const listener of this.#listeners) listener([event]);
    }
    this.#markRead();
  }

  #react(event: Pick<SentEvent, "event_id" | "reactions">): void {
    this.window.react(event);
    this.#publish();
  }

  #markRead(): void {
    const { isAtEnd, isSeen } = this.#view;
    const { newest, hasNewer } = this.window.timeline;
    if (!isAtEnd || !isSeen || hasNewer || newest === 0) return;
    if (this.window.is !== "ready") return;
    const { readPointer, notifications } = this.#channel;
    // Without lasting members, only notifications are counted.
    const isBehind = newest > readPointer && !this.#isVolatile;
    if (isBehind || notifications > 0) this.#channel.markRead(newest);
  }

  /** Shows the user's own action. */
  #publishNow(): void {
    if (this.#views > 0) this.#shown.now();
  }

  /** Shows changes: at once, or soon in a crowd. */
  #publish(): void {
    if (this.#views > 0) this.#shown.soon();
  }

  #show(): void {
    const { is, problem, isLoading, timeline } = this.window;
    const { events, hasOlder, hasNewer } = timeline;
    this.#rows = rowsOf({ events, hasOlder, readUpTo: this.#readUpTo, me: this.#me }, this.#rows);
    this.#store.set({
      is,
      ...(problem !== undefined && { problem }),
      rows: this.#rows,
      waiting: this.writing.waiting,
      hasOlder,
      hasNewer,
      isLoading,
      newCount: this.#newCount,
    });
  }
}

/** Runs a function at once, then at most once per interval. */
class Throttle {
  readonly #interval: number;
  readonly #act: () => void;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #ranAt = 0;

  /** @param interval in milliseconds. */
  constructor(interval: number, act: () => void) {
    this.#interval = interval;
    this.#act = act;
  }

  /** Runs it as soon as the interval allows. */
  soon(): void {
    if (this.#timer !== undefined) return;
    const wait = this.#ranAt + this.#interval - Date.now();
    // The clock of a computer may go back.
    if (wait <= 0 || wait > this.#interval) return this.now();
    this.#timer = setTimeout(() => this.now(), wait);
  }

  /** Runs it now. */
  now(): void {
    this.stop();
    this.#ranAt = Date.now();
    this.#act();
  }

  /** Cancels a pending run. */
  stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }
}

const known = new WeakMap<Session, Map<string, ChatStore>>();

/**
 * The chat of a channel: the same for as long as the session lasts, so that sending continues
 * when the user opens another page.
 * @param maxBytes the largest file that the server accepts.
 */
export function chatOf(
  session: Session,
  id: string,
  { shelf, maxBytes }: { shelf: Shelf; maxBytes: number },
): ChatStore {
  const chats = known.get(session) ?? new Map<string, ChatStore>();
  known.set(session, chats);
  const chat = chats.get(id) ?? new ChatStore(partsOf(), id);
  chats.set(id, chat);
  return chat;

  function partsOf() {
    const { api, live, people, world } = session;
    const upload = (file: File) => api.upload(file);
    return { live, people, shelf, world, upload, maxBytes };
  }
}

/** The actions that need a confirmation. */
export type Question = "delete" | "silence" | "ban";

/** The messages that are selected; undefined while none can be. */
export type Selection = readonly number[] | undefined;

/** The actions of messages. */
export interface ChatActions {
  readonly chat: ChatStore;
  readonly mayReact: boolean;
  readonly mayReply: boolean;
  readonly selection: Selection;
  /** The users to offer first as mentions. */
  readonly near: () => readonly Named[];
  may(event: SentEvent): { edit: boolean; delete: boolean; manage: boolean };
  edit(event: SentEvent): void;
  endEdit(): void;
  reply(event: SentEvent): void;
  copyLink(event: SentEvent): void;
  /** Selects a message, or no longer. */
  select(event: SentEvent): void;
  /** Goes to a message. */
  show(id: number): void;
  ask(question: Question, event: SentEvent): void;
  /** Lets a silenced author write again. */
  reactivate(event: SentEvent): void;
  react(event: SentEvent, emoji: string): void;
  /** Lets the user choose a reaction. */
  choose(event: SentEvent, anchor: HTMLElement): void;
  showProfile(user: string): void;
}
