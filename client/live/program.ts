import type { SentProgram } from "../../schemas/live/index.js";
import { onStage } from "../../schemas/plain/program.js";
import { type CallOptions, type Client, type LiveError, persist } from "./client.js";
import { Latest } from "./room-list.js";

/** A session as the user sees it. */
export type SentSession = NonNullable<SentProgram["sessions"]>[number];
/** A speaker as the user sees it. */
export type SentSpeaker = NonNullable<SentProgram["speakers"]>[number];

/** The program as the user sees it. */
export interface ProgramState {
  readonly version: string;
  /** The dates of the event, if it has any. */
  readonly event: SentProgram["event"];
  /** The zone of the event, as the IANA calls it. */
  readonly timezone: string | undefined;
  readonly sessions: readonly SentSession[];
  readonly speakers: readonly SentSpeaker[];
  /** The ids of the sessions that the user marked. */
  readonly favorites: readonly string[];
}

/** What is on and what is next; undefined for none. */
export interface Stage {
  readonly now: SentSession | undefined;
  readonly next: SentSession | undefined;
}

/**
 * The program of the world. It is kept up to date while an iteration runs: each
 * iteration gives the present program, and a newer one after each change.
 */
export class Program implements AsyncIterable<ProgramState> {
  readonly #client: Client;
  readonly #readers = new Set<Latest<ProgramState>>();
  #current: ProgramState | undefined;
  /** How far the clock of the server is ahead of this one, in milliseconds. */
  #ahead = 0;
  /** Counts up to invalidate the request under way. */
  #attempt = 0;
  #closed: { error?: LiveError } | undefined;

  constructor(client: Client) {
    this.#client = client;
  }

  /** The program as it is known; undefined before that, and without an iteration. */
  get current(): ProgramState | undefined {
    return this.#current;
  }

  /** The time on the clock of the server, as far as it is known: milliseconds since 1970. */
  now(): number {
    return Date.now() + this.#ahead;
  }

  /**
   * What is on in a room, and next, by the rule of the server: of several sessions at once,
   * the one that began last.
   * @param room its id; null for sessions without a room.
   * @param time in milliseconds since 1970; by default now, on the clock of the server.
   */
  stage(room: string | null, time: number = this.now()): Stage {
    const { sessions = [] } = this.#current ?? {};
    return onStage(
      sessions.filter(({ room_id, state }) => room_id === room && state === "public"),
      time,
    );
  }

  /**
   * Marks a session, or ends that.
   * @throws {LiveError} `program.unknown`, `program.too_many`, or a code of the client.
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

  /** @internal An iteration has ended. */
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

  /** @internal Ends all iterations; without an error, as if the program were at its end. */
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

  /** Asks for the program if an iteration runs. */
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
        // Without the right to read it, for example.
        if (!isOver()) this.#endReaders(error);
      },
    );
  }

  #take({ now, ...program }: SentProgram): void {
    this.#ahead = Date.parse(now) - Date.now();
    const { sessions, speakers } = program;
    // The server left the rest out, as this client has it.
    if (!sessions || !speakers) return this.#setFavorites(program.favorites);
    const { version, event, timezone, favorites } = program;
    const whole = { version, event, timezone, sessions, speakers, favorites };
    this.#set(whole);
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
