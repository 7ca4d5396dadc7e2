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
import { reactionsIn, parseContent } from "./chat-content.js";
import { type Row, rowsOf } from "./chat-timeline.js";
import { ChatWindow } from "./chat-window.js";
import { ChatWriting } from "./chat-writing.js";
import { HeldMessages } from "./held.js";
import type { Named } from "./profile.js";
import type { People, Session } from "./session.js";

/** Minimum interval between redraws of a busy chat, in milliseconds. */
const REDRAW_INTERVAL_MS = 50;

/** The state of a chat. */
export interface ChatView {
  /** `lost`: the channel cannot be read; `problem` has the error code. */
  readonly is: "loading" | "ready" | "lost";
  readonly problem?: string;
  readonly rows: readonly Row[];
  /** The user's pending and failed messages. */
  readonly waiting: readonly WaitingMessage[];
  readonly hasOlder: boolean;
  readonly hasNewer: boolean;
  /** The direction in which events are being loaded, if any. */
  readonly isLoading?: "older" | "newer" | undefined;
  /** Number of messages by others that arrived while the end of the list was out of view. */
  readonly newCount: number;
}

/** The part of a session that a chat uses. */
interface ChatParts {
  readonly live: Live;
  readonly people: People;
  readonly shelf: Shelf;
  /** The world's name, for shelf keys. */
  readonly world: string;
  /**
   * Uploads a file.
   * @returns its URL.
   */
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
 * A channel as the user sees it, including the user's pending messages. The channel is read only
 * while a view is open, but drafts are kept for the lifetime of the page.
 */
export class ChatStore implements Readable<ChatView> {
  readonly id: string;
  readonly #parts: ChatParts;
  readonly #channel: Channel;
  /** The user's draft and unsent messages. */
  readonly writing: ChatWriting;
  /** The loaded events. */
  readonly window: ChatWindow;
  /** The messages that wait for a moderator. */
  readonly held: HeldMessages;
  /** When the user last wrote here, as far as slow mode is concerned, in milliseconds. */
  readonly wroteAt = writable(0);
  readonly #store = writable<ChatView>(empty);
  readonly subscribe = this.#store.subscribe;
  readonly #listeners = new Set<(events: readonly SentEvent[]) => void>();
  #rows: readonly Row[] = [];
  #newCount = 0;
  /** The id of the user's last message. Undefined until the channel was read. */
  #lastOwn: number | undefined;
  /** The last error about slow mode. */
  #slowed: unknown;
  #readUpTo: number | undefined;
  #view = { isAtEnd: true, isSeen: false };
  /** Number of open views. */
  #views = 0;
  #stop: () => void = () => {};
  readonly #shown = new Throttle(REDRAW_INTERVAL_MS, () => this.#show());

  constructor(parts: ChatParts, id: string) {
    const { live, people, shelf, world, upload, maxBytes } = parts;
    this.id = id;
    this.#parts = parts;
    const channel = live.channel(id);
    this.#channel = channel;
    this.held = new HeldMessages(parts, id);
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
        this.#noteRefusal();
        this.#publishNow();
        this.#leaveIfOver();
      },
    });
  }

  /**
   * Opens a view, which starts reading the channel.
   * @returns a function that closes the view. Reading stops when the last view is closed.
   */
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

  /**
   * Adds a listener for new messages by others.
   * @returns a function that removes the listener.
   */
  onArrival(listener: (events: readonly SentEvent[]) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /**
   * Reports the state of the view.
   * @param view.isAtEnd whether the newest message is visible.
   * @param view.isSeen whether the user is looking at the page.
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

  /** Sends a message. The message is kept until the server has it. */
  send(content: MessageContent): void {
    this.#readUpTo = undefined;
    void this.#channel.send(content, { keep: true });
  }

  /** Edits the text of a message by the user. */
  async edit(id: number, body: string): Promise<void> {
    const content = this.window.timeline.get(id)?.content ?? {};
    const { type, files, reply_to } = content;
    await this.#channel.ensureMember();
    const edit = this.#channel.edit(id, {
      ...(type === "files" ? { type, files, body } : { type: "text", body }),
      ...(reply_to !== undefined && { reply_to }),
    });
    const event = await edit;
    // Without an event, the edit waits for a moderator.
    if (event) this.window.take(event);
    this.#publish();
  }

  /** Deletes a message by the user or, for moderators, any message. */
  async delete(id: number): Promise<void> {
    // The server treats a deletion as a message, so it requires membership.
    await this.#channel.ensureMember();
    this.window.take(await this.#channel.delete(id));
    this.#publish();
  }

  /** Adds a reaction, or removes the user's own reaction. */
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

  /** The user's last message that can be edited. */
  get lastOwn(): SentEvent | undefined {
    return this.window.timeline.events.findLast(
      (event) =>
        event.event_type === "channel.message" &&
        event.sender === this.#me &&
        parseContent(event.content).is === "text",
    );
  }

  get #me(): string | undefined {
    return this.#parts.live.state?.user.id;
  }

  /** The channel's room, or undefined for a direct channel. */
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
    const ends = [
      this.#channel.onReaction((event) => this.#react(event)),
      this.#parts.live.on("chat.held", ({ channel, event }) => {
        if (channel !== this.id || event.sender !== this.#me || event.replaces !== null) return;
        this.wroteAt.set(Date.now());
      }),
    ];
    this.#stop = () => ends.forEach((end) => end());
    if (this.#isVolatile && this.#room?.permissions.includes("room:chat.join")) {
      // A user who cannot join can still read; sending shows the reason.
      this.#channel.ensureMember().then(
        () => this.#leaveIfOver(),
        () => {},
      );
    }
    this.window.open();
    if (this.#room) this.held.open();
  }

  #close(): void {
    this.#stop();
    this.#shown.stop();
    this.window.close();
    this.held.close();
    this.#lastOwn = undefined;
    this.#newCount = 0;
    this.#rows = [];
    this.#store.set(empty);
    this.#leaveIfOver();
  }

  /** Ends a volatile membership once no view is open and nothing is being sent. */
  #leaveIfOver(): void {
    if (this.#views > 0 || this.#channel.membership !== "volatile") return;
    if (this.writing.isSending) return;
    this.#channel.leave().catch(() => {});
  }

  /** @param before the id of the newest event that was loaded before this event. */
  #arrived(event: SentEvent, isNew: boolean, before: number): void {
    const isOthers = event.event_type === "channel.message" && event.sender !== this.#me;
    if (isNew && isOthers) {
      if (!this.#view.isSeen && !this.#isVolatile) this.#readUpTo ??= before;
      if (!this.#view.isAtEnd) this.#newCount++;
    }
    // Publish after counting: a quiet chat redraws immediately, and only once.
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
    // In a volatile chat, only notifications count as unread.
    const isBehind = newest > readPointer && !this.#isVolatile;
    if (isBehind || notifications > 0) this.#channel.markRead(newest);
  }

  /** Redraws immediately, for the user's own actions. */
  #publishNow(): void {
    if (this.#views > 0) this.#shown.now();
  }

  /** Redraws, as soon as the throttle allows. */
  #publish(): void {
    if (this.#views > 0) this.#shown.soon();
  }

  /** Records when the user last wrote, here or elsewhere. */
  #noteOwn(): void {
    if (this.window.is !== "ready") return;
    const last = this.window.timeline.events.findLast(
      ({ event_type, sender }) => event_type === "channel.message" && sender === this.#me,
    );
    const before = this.#lastOwn;
    const id = last?.event_id ?? 0;
    if (id <= (before ?? -1)) return;
    this.#lastOwn = id;
    // The clocks of the server and the browser may differ, so new messages count from now.
    const now = Date.now();
    const at = before !== undefined ? now : Math.min(Date.parse(last?.timestamp ?? "") || 0, now);
    this.wroteAt.update((known) => Math.max(known, at));
  }

  /** If slow mode refused a message, records how long the user has to wait. */
  #noteRefusal(): void {
    const isSlow = ({ error }: WaitingMessage) => error?.code === "chat.slow_mode";
    const error = this.writing.waiting.findLast(isSlow)?.error;
    if (!error || error === this.#slowed) return;
    this.#slowed = error;
    const left = Number(error.details["retry_after"]?.[0]);
    if (left > 0) this.wroteAt.set(Date.now() + (left - slowModeOf(this.#room)) * 1000);
  }

  #show(): void {
    this.#noteOwn();
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

/**
 * Returns the minimum time between two messages of a person in a room's chat, in seconds; 0 for
 * none.
 */
export function slowModeOf(room: SentRoom | undefined): number {
  const value = (room && moduleOf(room, "chat.native"))?.config["slow_mode"];
  return typeof value === "number" && value > 0 ? value : 0;
}

/** Runs a function immediately, then at most once per interval. */
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

  /** Runs the function as soon as the interval allows. */
  soon(): void {
    if (this.#timer !== undefined) return;
    const wait = this.#ranAt + this.#interval - Date.now();
    // The system clock may be set back.
    if (wait <= 0 || wait > this.#interval) return this.now();
    this.#timer = setTimeout(() => this.now(), wait);
  }

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
 * Returns a channel's chat. The chat lives as long as the session, so that sending continues when
 * the user opens another page.
 * @param maxBytes the largest file that the server accepts, in bytes.
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

/** Actions that require confirmation. */
export type Question = "delete" | "silence" | "ban" | "messages" | "report";

/** The selected messages; undefined outside of selection mode. */
export type Selection = readonly number[] | undefined;

/** Actions on messages. */
export interface ChatActions {
  readonly chat: ChatStore;
  readonly mayReact: boolean;
  readonly mayReply: boolean;
  readonly selection: Selection;
  /** Returns the users to suggest first as mentions. */
  readonly near: () => readonly Named[];
  may(event: SentEvent): { edit: boolean; delete: boolean; manage: boolean; report: boolean };
  edit(event: SentEvent): void;
  endEdit(): void;
  reply(event: SentEvent): void;
  copyLink(event: SentEvent): void;
  /** Selects or deselects a message. */
  select(event: SentEvent): void;
  /** Scrolls to a message. */
  show(id: number): void;
  ask(question: Question, event: SentEvent): void;
  /** Lets a silenced author write again. */
  reactivate(event: SentEvent): void;
  react(event: SentEvent, emoji: string): void;
  /** Opens the choice of reactions. */
  choose(event: SentEvent, anchor: HTMLElement): void;
  showProfile(user: string): void;
}
