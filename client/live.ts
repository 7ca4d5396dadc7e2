import type { Authenticated, CommandName, Commands } from "../schemas/live/index.js";
import { type Channel, Channels } from "./live/channel.js";
import {
  type CallOptions,
  clientError,
  type EventName,
  type Listener,
  Listeners,
  type LiveError,
  type LiveOptions,
} from "./live/client.js";
import { type Connection, Link, type Settle } from "./live/connection.js";
import { Program } from "./live/program.js";
import { type Polls, type Questions, ItemLists } from "./live/item-lists.js";
import { roomOf, Rooms } from "./live/rooms.js";
import { firstState, type LiveState, nextState, stateAfter } from "./live/state.js";
export type { Channel, HistoryOptions } from "./live/channel.js";
export { persist } from "./live/client.js";
export type { MessageContent } from "./live/outbox.js";
export { LiveError } from "./live/client.js";
export type { ClientEvents, EventName, LiveEvents } from "./live/client.js";
export type { JoinOptions } from "./live/subscription.js";
export type { CallOptions, LiveOptions } from "./live/client.js";
export type { Message, Outbox, SendOptions, WaitingMessage } from "./live/outbox.js";
export type { PollVote } from "./live/item-kind.js";
export type { PollChanges, PollDraft, Polls } from "./live/item-lists.js";
export type { Program, ProgramState, SentSession, SentSpeaker, Stage } from "./live/program.js";
export type { QuestionChanges, Questions } from "./live/item-lists.js";
export type { Socket, SocketClass } from "./live/client.js";
export type { LiveState } from "./live/state.js";
export type {
  Authenticated,
  CommandName,
  Commands,
  ListedPoll,
  ListedQuestion,
  OwnUser,
  PublicUser,
  Pushes,
  PushName,
  ChannelState,
  SentAnnouncement,
  SentChannel,
  SentEvent,
  SentPoll,
  SentQuestion,
  SentRoom,
  SentWorld,
} from "../schemas/live/index.js";

/** The arguments of {@link Live.call} after the name. Some commands need no payload. */
type Arguments<P> = [P & (null | undefined)] extends [never]
  ? [payload: P, options?: CallOptions]
  : [payload?: P, options?: CallOptions];

/**
 * A live client for one world of a Foyer server, for Node.js and browsers. It connects immediately,
 * reconnects automatically, and then re-enters the rooms it was in.
 */
export class Live {
  readonly #timeout: number;
  readonly #link: Link;
  readonly #calls: Calls;
  readonly #listeners: Listeners;
  readonly #channels: Channels;
  readonly #rooms: Rooms;
  readonly #lists: ItemLists;
  readonly #program: Program;
  #state: LiveState | undefined;
  /** The reason why the client will never reconnect. */
  #ended: LiveError | undefined;

  /** @throws {TypeError} if `baseUrl` is not an HTTP or HTTPS URL. */
  constructor(options: LiveOptions) {
    this.#timeout = options.timeout ?? 15_000;
    this.#link = new Link(options, this.#timeout, {
      authenticated: (connection, answer) => this.#loggedIn(connection, answer),
      pushed: (name, data) => this.#pushed(name, data),
      lost: () => this.#disconnected(),
      waiting: (error, retryIn) => this.#listeners.emit("client.disconnected", { error, retryIn }),
      refused: (error) => this.#end(error),
    });
    this.#calls = new Calls(options.maxCalls ?? 200);
    const report = options.onError ?? console.error;
    this.#listeners = new Listeners(report);
    this.#rooms = new Rooms(
      (...event) => this.#listeners.emit(...event),
      (name, room) => this.#execute(name, JSON.stringify({ room })),
    );
    this.#channels = new Channels(this, report);
    this.#lists = new ItemLists(this, this.#rooms);
    this.#program = new Program(this);
    void this.#link.connect();
  }

  /** The user's view of the world, kept up to date; undefined before the first login. */
  get state(): LiveState | undefined {
    return this.#state;
  }

  /** Whether calls are sent immediately. Otherwise, they wait for a connection. */
  get isConnected(): boolean {
    return this.#link.ready !== undefined;
  }

  /**
   * Waits until the client is logged in. Resolves immediately if the client is already logged in.
   * @returns the state.
   * @throws {LiveError} if the server refuses the login, or if the timeout expires before a login
   * succeeds.
   */
  async connected(options?: CallOptions): Promise<LiveState> {
    await this.#request(options, (_connection, { resolve }) => {
      resolve(undefined);
      return () => {};
    });
    return this.#state!;
  }

  /**
   * Executes a command as soon as there is a connection.
   * @returns the result. The caller's continuation runs before later pushes are reported.
   * @throws {LiveError} with an error code from the server, or a `client.*` code.
   */
  async call<N extends CommandName>(
    name: N,
    ...[payload, options]: Arguments<Commands[N]["payload"]>
  ): Promise<Commands[N]["result"]> {
    const json = JSON.stringify(payload ?? null);
    const room = roomOf(payload);
    if (name === "room.leave") this.#rooms.left(room);
    const entering = name === "room.enter" ? this.#rooms.entering(room) : undefined;
    try {
      const done = () => entering?.entered();
      const result = await this.#execute(name, json, options, done);
      return result as Commands[N]["result"];
    } finally {
      entering?.over();
    }
  }

  /**
   * Listens for a server push or a client event. A listener for `authenticated` runs after each
   * login, before queued calls are sent: use such a listener for calls that every new connection
   * needs.
   * @param listener the callback. Thrown errors and rejections are passed to `onError`.
   * @returns a function that removes the listener.
   */
  on<N extends EventName>(name: N, listener: Listener<N>): () => void {
    return this.#listeners.add(name, listener as (data: unknown) => unknown);
  }

  /**
   * Returns a room's chat, or a direct channel.
   * @param id the id of the room or of the direct channel.
   */
  channel(id: string): Channel {
    return this.#channels.get(id);
  }

  /**
   * Returns a room's questions.
   * @param room the id of the room.
   */
  questions(room: string): Questions {
    return this.#lists.questions(room);
  }

  /**
   * Returns a room's polls.
   * @param room the id of the room.
   */
  polls(room: string): Polls {
    return this.#lists.polls(room);
  }

  /** The world's program: sessions, speakers, and the user's favorites. */
  get program(): Program {
    return this.#program;
  }

  /**
   * Reconnects immediately if the client is waiting out the delay before a reconnection. Useful
   * when the network is back, or when the user asks to reconnect.
   */
  reconnect(): void {
    this.#link.retryNow();
  }

  /** Closes the connection for good, and rejects all pending calls. */
  close(): void {
    this.#end(clientError("closed", "The client was closed."));
  }

  /**
   * @param json the payload, as JSON.
   * @param done runs before the caller's continuation.
   */
  #execute(
    name: CommandName,
    json: string,
    options?: CallOptions,
    done = () => {},
  ): Promise<unknown> {
    return this.#request(options, (connection, settle) => {
      if (name === "room.leave") {
        const isLeft = this.#rooms.leaving(roomOf(JSON.parse(json)));
        if (!isLeft) {
          settle.resolve({});
          return () => {};
        }
      }
      return connection.call(name, json, {
        ...settle,
        resolve: (result) => {
          done();
          // The caller's continuation runs after the updates below, because promises settle
          // asynchronously.
          settle.resolve(result);
          if (this.#state) {
            this.#setState(stateAfter(this.#state, name, json, result));
          }
          this.#channels.answered(name, result);
          this.#lists.answered(name, json, result);
        },
      });
    });
  }

  async #request(
    { timeout = this.#timeout }: CallOptions = {},
    send: Parameters<Calls["request"]>[2],
  ): Promise<unknown> {
    if (this.#ended) throw this.#ended;
    return this.#calls.request(this.#link.ready, timeout, send, () => this.#link.lastError);
  }

  #loggedIn(connection: Connection, answer: Authenticated): void {
    this.#setState(firstState(answer));
    this.#rooms.restore(connection);
    this.#channels.loggedIn(answer);
    this.#lists.loggedIn();
    this.#program.loggedIn();
    this.#listeners.emit("authenticated", answer);
    this.#calls.flush(connection);
  }

  #pushed(name: string, data: unknown): void {
    // Names that begin with `client.` are reserved for the client's own events.
    if (name.startsWith("client.")) return;
    if (name === "room.delete") {
      this.#rooms.deleted((data as { id: string }).id);
    }
    if (this.#state) this.#setState(nextState(this.#state, name, data));
    this.#channels.pushed(name, data);
    this.#lists.pushed(name, data);
    this.#program.pushed(name, data);
    this.#listeners.emit(name, data);
  }

  #setState(state: LiveState): void {
    if (state === this.#state) return;
    this.#state = state;
    this.#listeners.emit("client.state", state);
  }

  #disconnected(): void {
    this.#rooms.disconnected();
    this.#channels.disconnected();
    this.#lists.disconnected();
    this.#program.disconnected();
  }

  #end(error: LiveError): void {
    if (this.#ended) return;
    this.#ended = error;
    this.#link.end(error);
    this.#calls.reject(error);
    this.#channels.end(error);
    this.#lists.end(error);
    this.#program.end(error.code === "client.closed" ? undefined : error);
    this.#listeners.emit("client.closed", error);
  }
}

/** Sends a call. Returns a function that forgets the call, so that its response is ignored. */
type Send = (connection: Connection, settle: Settle) => () => void;

/** The pending calls. Their number is limited, and each call has a timeout. */
export class Calls {
  readonly #max: number;
  readonly #open = new Set<Settle>();
  /** Functions that send the calls waiting for a connection, in order. */
  readonly #waiting = new Set<(connection: Connection) => void>();

  /** @param max the maximum number of pending calls. */
  constructor(max: number) {
    this.#max = max;
  }

  /**
   * Sends a call as soon as there is a connection, and waits for the response.
   * @param connection the current connection, if it is ready.
   * @param timeout in milliseconds, including the wait for a connection.
   * @param unreachable returns the reason why there is no connection.
   */
  request(
    connection: Connection | undefined,
    timeout: number,
    send: Send,
    unreachable: () => LiveError | undefined,
  ): Promise<unknown> {
    return new Promise((resolve, reject) => {
      if (this.#open.size >= this.#max) {
        const message = `${this.#max} calls are open already.`;
        return reject(clientError("overloaded", message));
      }
      let forget: (() => void) | undefined;
      const start = (ready: Connection) => {
        this.#waiting.delete(start);
        forget = send(ready, settle);
      };
      const expire = () => {
        forget?.();
        settle.reject(
          forget
            ? clientError("timeout", `No answer within ${timeout} ms.`)
            : noConnection(timeout, unreachable()),
        );
      };
      const timer = setTimeout(expire, timeout);
      const finish = () => {
        clearTimeout(timer);
        this.#waiting.delete(start);
        this.#open.delete(settle);
      };
      const settle: Settle = {
        resolve: (result) => (finish(), resolve(result)),
        reject: (error) => (finish(), reject(error)),
      };
      this.#open.add(settle);
      if (connection) start(connection);
      else this.#waiting.add(start);
    });
  }

  /** Sends the calls that are waiting for a connection. */
  flush(connection: Connection): void {
    for (const start of [...this.#waiting]) {
      if (connection.isReady) start(connection);
    }
  }

  /** Rejects all calls. */
  reject(error: LiveError): void {
    for (const settle of [...this.#open]) settle.reject(error);
  }
}

function noConnection(timeout: number, why: LiveError | undefined): LiveError {
  const message = `No connection within ${timeout} ms. ${why?.message ?? ""}`;
  return clientError("unreachable", message.trimEnd(), why);
}
