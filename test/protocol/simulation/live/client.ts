import type { Client as Port } from "../../../../client/live/client.js";
import {
  firstState,
  type LiveState,
  nextState,
  stateAfter,
} from "../../../../client/live/state.js";
import type { Authenticated } from "../../../../schemas/live/index.js";
import { Random } from "../random.js";
import { ORIGIN } from "../timeline.js";
import type { House } from "./house.js";
import { Channels, Lists, ProgramCopy, Viewers } from "./knowledge.js";
import type { Node, Token } from "./node.js";
import type { Link } from "./socket.js";

/** How a user logs in: as a guest, or with a token. */
export type Who = { client_id: string } | Token;

/** The result of a command, or its error code. */
export interface Answer {
  readonly result?: unknown;
  readonly error?: string;
}

/** Timeout for a login or an answer, in milliseconds. */
const TIMEOUT_MS = 15_000;

/** Interval between checks for a silent server, in milliseconds. */
const HEARTBEAT = 5_000;

/** Errors after which a command is retried. */
const RETRYABLE_ERRORS: ReadonlySet<string> = new Set([
  "server.unavailable",
  "server.doubtful",
  "protocol.rate_limited",
]);

/** First and longest pause before reconnecting, in milliseconds. */
const FIRST_PAUSE = 300;
const LONGEST_PAUSE = 3_000;

/** A client that keeps a connection, the state of its world, and the contents of some rooms. */
export class Client {
  state: LiveState | undefined;
  node: Node | undefined;
  /** Whether it no longer reconnects, because it has left or the server has turned it away. */
  isAway = false;
  readonly channels: Channels;
  readonly lists: Lists;
  readonly program: ProgramCopy | undefined;
  /** Only for a client that is in at most one room. */
  readonly viewers: Viewers | undefined;
  /** Determines its pauses, independently of other clients. */
  readonly random: Random;
  /** Valid until the database goes back. */
  #user: { id: string; losses: number } | undefined;
  #link: Link | undefined;
  #connections = 0;
  #failures = 0;
  #lastFrame = 0;
  #requests = 0;
  /** Commands waiting for an answer. */
  readonly #pending = new Map<
    number,
    { name: string; payload: object; settle: (answer: Answer) => void }
  >();

  constructor(
    readonly house: House,
    readonly name: string,
    readonly who: Who,
    /** Whether it requests changes of the world instead of full states. */
    readonly changes: boolean,
    seed: number,
    /** The client that it is compared with. */
    readonly original?: Client,
    /** Whether it is in at most one room. */
    readonly hasOneRoom: boolean = original?.hasOneRoom ?? false,
  ) {
    this.random = new Random(seed);
    this.channels = new Channels(this);
    const port = {
      state: undefined,
      isConnected: true,
      connected: async () => this.state,
      on: () => () => {},
      call: async (name: string, payload: object) => {
        const { result, error } = await this.call(name, payload);
        if (error !== undefined) throw new Error(error);
        return result;
      },
    } as unknown as Port;
    Object.defineProperty(port, "state", { get: () => this.state });
    this.lists = new Lists(this, port);
    if (house.hasProgram) this.program = new ProgramCopy(this);
    if (this.hasOneRoom) this.viewers = new Viewers(this);
  }

  /** The id of its user; undefined before its first login. */
  get userId(): string | undefined {
    const { losses } = this.house.database;
    if (this.#user?.losses !== losses) this.#user = undefined;
    const id = this.#user?.id ?? this.house.userOf(this.who);
    this.#user ??= id === undefined ? undefined : { id, losses };
    return id;
  }

  /**
   * Whether its user may only read. The client does not know that a silenced user joins channels
   * only temporarily.
   */
  get isSilenced(): boolean {
    const { users } = this.house.database.present;
    return users.get(this.userId ?? "")?.moderation_state === "silenced";
  }

  /** Whether it is unsubscribing from, or leaving, a channel. */
  get isQuitting(): boolean {
    return [...this.#pending.values()].some(({ name }) =>
      ["chat.unsubscribe", "chat.leave"].includes(name),
    );
  }

  /** Returns the payload of an unanswered command, as JSON. */
  sentIn(command: number): string {
    return JSON.stringify(this.#pending.get(command)?.payload ?? null);
  }

  /** The ids of the rooms that it enters on its own: those of {@link original}, or the first ones. */
  get wanted(): string[] {
    const { rooms = [] } = this.state ?? {};
    const { original } = this;
    const wanted = original
      ? rooms.filter(({ id }) => original.lists.rooms.has(id))
      : rooms.slice(0, this.hasOneRoom ? 1 : 3);
    return wanted.map(({ id }) => id);
  }

  /** The current time, in milliseconds since 1970. */
  get date(): number {
    return ORIGIN + this.house.timeline.now;
  }

  get traits(): ReadonlySet<string> {
    return new Set("traits" in this.who ? this.who.traits : []);
  }

  /** The number of its current connection. */
  get connection(): number {
    return this.#connections;
  }

  /** Connects to a process, unless already connected. */
  connect(): void {
    if (this.#link || this.isAway) return;
    const { house } = this;
    const node = house.nodeFor(this.random);
    if (!node) return this.#connectLater();
    const connection = ++this.#connections;
    this.node = node;
    this.#lastFrame = house.timeline.now;
    const isPresent = () => this.#connections === connection && this.#link;
    const link = node.connect(house.world, {
      received: (text) => {
        if (isPresent()) this.#received(text);
      },
      closed: () => {
        if (isPresent()) this.#disconnected();
      },
    });
    this.#link = link;
    link.onWritten = (text) => {
      house.oracle.written(this, node, text, connection);
    };
    const { who, changes } = this;
    const named = "uid" in who ? { token: JSON.stringify(who) } : who;
    this.#send(["authenticate", { ...named, changes }]);
    this.later(TIMEOUT_MS, () => {
      if (!this.state) this.drop();
    });
    this.#beat();
  }

  /** Disconnects from the server. @param isSilent whether the server does not notice. */
  drop(isSilent = false): void {
    if (!this.#link) return;
    this.#link.leave(isSilent);
    this.#disconnected();
  }

  stall(duration: number): void {
    this.#link?.stall(duration);
  }

  /** Sends a command. The promise never settles if the connection ends first. */
  call(name: string, payload: object): Promise<Answer> {
    return new Promise((settle) => {
      const id = ++this.#requests;
      this.#pending.set(id, { name, payload, settle });
      this.#send([name, id, payload]);
    });
  }

  /** Calls {@link call}, and retries temporary errors. */
  async persist(name: string, payload: object): Promise<void> {
    const { error } = await this.call(name, payload);
    if (error === undefined || !RETRYABLE_ERRORS.has(error)) return;
    this.later(FIRST_PAUSE, () => void this.persist(name, payload));
  }

  /** Runs a function later, if the connection is still the same. */
  later(delay: number, act: () => void): void {
    const connection = this.#connections;
    this.house.after(delay, () => {
      if (this.#connections === connection && this.#link) act();
    });
  }

  #beat(): void {
    this.later(HEARTBEAT, () => {
      const silent = this.house.timeline.now - this.#lastFrame;
      if (silent > TIMEOUT_MS) return this.drop();
      this.#send(["ping", 0]);
      this.#beat();
    });
  }

  #send(message: unknown[]): void {
    const text = JSON.stringify(message);
    this.#trace(`> ${text}`);
    this.#link?.send(text);
  }

  #disconnected(): void {
    this.#link = undefined;
    this.state = undefined;
    this.#pending.clear();
    this.channels.disconnected();
    this.lists.disconnected();
    this.program?.disconnected();
    this.viewers?.disconnected();
    this.#connectLater();
  }

  #connectLater(): void {
    const longest = FIRST_PAUSE * 2 ** this.#failures++;
    const pause = this.random.next() * Math.min(LONGEST_PAUSE, longest);
    this.house.after(pause, () => this.connect());
  }

  #trace(what: string): void {
    const { house, name } = this;
    house.trace(`${Math.round(house.timeline.now)} ${name} ${what}`);
  }

  #received(text: string): void {
    this.#trace(text);
    this.#lastFrame = this.house.timeline.now;
    const frame = JSON.parse(text) as [string, ...unknown[]];
    const [name, first, second] = frame;
    switch (name) {
      case "authenticated":
        return this.#loggedIn(first as Authenticated);
      case "success":
        return this.#answered(first as number, { result: second });
      case "error": {
        const [id, problem] = frame.length > 2 ? [first, second] : [0, first];
        const error = (problem as { code: string }).code;
        // The login is refused.
        if (!this.state) return this.drop();
        return this.#answered(id as number, { error });
      }
      case "pong":
        return;
      default:
        if (this.state) this.#pushed(name, first);
    }
  }

  #loggedIn(answer: Authenticated): void {
    this.#failures = 0;
    this.state = firstState(answer);
    this.channels.loggedIn();
    this.lists.loggedIn();
    this.program?.loggedIn();
    this.viewers?.loggedIn();
  }

  #answered(id: number, answer: Answer): void {
    const asked = this.#pending.get(id);
    if (!asked) return;
    this.#pending.delete(id);
    const { name, payload, settle } = asked;
    const { result } = answer;
    if (result !== undefined && this.state) {
      const json = JSON.stringify(payload);
      this.state = stateAfter(this.state, name, json, result);
      this.channels.answered(name, payload, result);
      this.lists.answered(name, payload, result);
      this.viewers?.answered(name, result);
    }
    settle(answer);
  }

  #pushed(name: string, data: unknown): void {
    this.state = nextState(this.state!, name, data);
    this.channels.pushed(name, data);
    this.lists.pushed(name, data);
    this.program?.pushed(name, data);
    this.viewers?.pushed(name, data);
  }
}
