import type { SentProgram } from "../../schemas/live/index.js";
import { nowAndNext } from "../../schemas/plain/program.js";
import { type CallOptions, type Client, type LiveError, persist } from "./client.js";
import { Latest } from "./item-list.js";

/** A session as the user sees it. */
export type SentSession = NonNullable<SentProgram["sessions"]>[number];
/** A speaker as the user sees it. */
export type SentSpeaker = NonNullable<SentProgram["speakers"]>[number];

/** The program as the user sees it. */
export interface ProgramState {
  readonly version: string;
  /** The event's dates, if there are any. */
  readonly event: SentProgram["event"];
  /** The event's IANA time zone. */
  readonly timezone: string | undefined;
  readonly sessions: readonly SentSession[];
  readonly speakers: readonly SentSpeaker[];
  /** The ids of the user's favorite sessions. */
  readonly favorites: readonly string[];
  /** The favorites that have moved, with the former start and room. */
  readonly moved: NonNullable<SentProgram["moved"]>;
  /** For how many minutes streams continue after a session, if the event sets that. */
  readonly overrunMinutes: number | undefined;
}

/** The current and the next session, each undefined if there is no such session. */
export interface Stage {
  readonly now: SentSession | undefined;
  readonly next: SentSession | undefined;
}

/**
 * The world's program. It is kept up to date while an iteration is running: each iteration yields
 * the current program, and then the new program after each change.
 */
export class Program implements AsyncIterable<ProgramState> {
  readonly #client: Client;
  readonly #readers = new Set<Latest<ProgramState>>();
  #current: ProgramState | undefined;
  /** How far the server's clock is ahead of the local clock, in milliseconds. */
  #ahead = 0;
  /** Incremented to invalidate the request in flight. */
  #attempt = 0;
  #closed: { error?: LiveError } | undefined;

  constructor(client: Client) {
    this.#client = client;
  }

  /** The last known program; undefined before the first fetch, and while no iteration is running. */
  get current(): ProgramState | undefined {
    return this.#current;
  }

  /** Returns an estimate of the time on the server's clock, in milliseconds since 1970. */
  now(): number {
    return Date.now() + this.#ahead;
  }

  /**
   * Returns the current and the next session in a room. Of several concurrent sessions, the session
   * that began last is current, as on the server.
   * @param room the id of the room; null for sessions without a room.
   * @param time in milliseconds since 1970; defaults to the current time on the server's clock.
   */
  stage(room: string | null, time: number = this.now()): Stage {
    const { sessions = [] } = this.#current ?? {};
    return nowAndNext(
      sessions.filter(({ room_id, state }) => room_id === room && state === "public"),
      time,
    );
  }

  /**
   * Marks a session as a favorite, or removes the mark.
   * @throws {LiveError} `program.unknown`, `program.too_many`, or a `client.*` code.
   */
  async favorite(session: string, on: boolean, options?: CallOptions): Promise<void> {
    await this.#client.call("program.favorite", { session, on }, options);
    const { favorites = [] } = this.#current ?? {};
    if (favorites.includes(session) === on) return;
    const others = favorites.filter((id) => id !== session);
    this.#setFavorites(on ? [...others, session] : others);
  }

  [Symbol.asyncIterator](): AsyncIterableIterator<ProgramState, undefined> {
    const reader = new Latest<ProgramState>(this);
    if (this.#closed) reader.end(this.#closed.error);
    else {
      this.#readers.add(reader);
      if (this.#readers.size === 1) this.#renew();
    }
    return reader;
  }

  /** @internal Called when an iteration has ended. */
  left(reader: Latest<ProgramState>): void {
    if (this.#readers.delete(reader) && this.#readers.size === 0) {
      this.disconnected();
      this.#current = undefined;
    }
  }

  /** @internal */
  loggedIn(): void {
    this.#renew();
  }

  /** @internal */
  disconnected(): void {
    this.#attempt++;
  }

  /** @internal */
  pushed(name: string, data: unknown): void {
    if (name === "program.favorites") {
      this.#setFavorites((data as { favorites: string[] }).favorites);
    } else if (name === "program.updated") {
      const { version } = data as { version: string };
      if (version !== this.#current?.version) this.#renew();
    }
  }

  /** @internal Ends all iterations, with an error if there is one. */
  end(error?: LiveError): void {
    this.#closed = error ? { error } : {};
    this.#endReaders(error);
  }

  #endReaders(error?: LiveError): void {
    for (const reader of this.#readers) reader.end(error);
    this.#readers.clear();
    this.disconnected();
    this.#current = undefined;
  }

  /** Fetches the program if an iteration is running. */
  #renew(): void {
    this.disconnected();
    if (this.#readers.size === 0 || !this.#client.isConnected) return;
    const attempt = this.#attempt;
    const isOver = () => attempt !== this.#attempt;
    persist(() => {
      const version = this.#current?.version;
      return this.#client.call("program.get", version ? { version } : {});
    }, isOver).then(
      (program) => {
        if (!isOver()) this.#take(program);
      },
      (error: LiveError) => {
        // For example, the user may not be allowed to read the program.
        if (!isOver()) this.#endReaders(error);
      },
    );
  }

  #take({ now, ...program }: SentProgram): void {
    this.#ahead = Date.parse(now) - Date.now();
    const { sessions, speakers } = program;
    // The server omits the sessions and speakers if this client already has them.
    if (!sessions || !speakers) return this.#setFavorites(program.favorites);
    const { version, event, timezone, favorites, moved = [], overrun_minutes } = program;
    this.#set({
      version,
      event,
      timezone,
      sessions,
      speakers,
      favorites,
      moved,
      overrunMinutes: overrun_minutes,
    });
  }

  #setFavorites(favorites: readonly string[]): void {
    if (!this.#current) return;
    const before = this.#current.favorites;
    if (before.join() !== favorites.join()) {
      this.#set({ ...this.#current, favorites });
    }
  }

  #set(program: ProgramState): void {
    this.#current = program;
    for (const reader of this.#readers) reader.changed();
  }
}
