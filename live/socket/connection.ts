import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { WebSocket } from "ws";
import type { LiveLimits } from "../../config.js";
import type { Author } from "../../db/contract/author.js";
import type { Clock, Random } from "../../db/runtime.js";
import type { Losses } from "../rules/sent-state.js";
import type { View, WorldState } from "../rules/world-state.js";
import { Close, pingFrame } from "./frame.js";
import { Heartbeat } from "./heartbeat.js";
import { Incoming, type Inflation } from "./incoming.js";
import type { Login } from "./login-state.js";
import { Outgoing, SocketWriter } from "./outgoing.js";
import { Pace, type Turns } from "./pace.js";

/** The largest message of users who may update rooms or the world, in bytes. */
export const MAX_FRAME = 1024 * 1024;

/** What a connection needs of the rest. */
export interface ConnectionPorts {
  readonly clock: Clock;
  readonly random: Random;
  /** Writes what is due to connections. */
  readonly flushQueue: { add(writer: SocketWriter): void };
  /** Watches connections with unsent data. */
  readonly backlog: { add(connection: Connection): void };
  readonly turns: Turns;
  readonly limits: LiveLimits;
  /**
   * Carries out a message.
   * @returns the frame of the answer, in pieces, the second of which others share.
   */
  readonly handle: (connection: Connection, message: Message) => Promise<readonly Buffer[]>;
  /** It takes no messages and gets no pushes any more. */
  readonly onEnd: (connection: Connection, code: number) => void;
  /** It has to be looked at earlier than it was to be. */
  readonly lookAt: (connection: Connection, at: number) => void;
  /** Its socket is closed. */
  readonly onClosed: (connection: Connection) => void;
  /** The connection was dropped, because it did not read what was sent. */
  readonly onSlow: (connection: Connection) => void;
  /** An unexpected error. */
  readonly onFault: (connection: Connection, error: unknown) => void;
  readonly metrics: { received(): void; sent(frames: number): void } | undefined;
}

/**
 * One websocket: its login, its view of the world, and how it ends. Its parts read
 * messages (`incoming`), carry them out (`loop`), put answers and pushes in order
 * (`outgoing`), and write (`writer`).
 */
export class Connection {
  readonly id: string;
  /** In milliseconds since 1970. */
  readonly openedAt: number;
  /** The rooms that it entered. */
  readonly rooms = new Set<string>();
  login: Login | undefined;
  /** It is no call over HTTP, which may send some commands, too. */
  readonly isCall = false;
  /** The largest message that it may send, in bytes. */
  maxFrame: number;
  readonly incoming: Incoming;
  readonly outgoing: Outgoing;
  readonly writer: SocketWriter;
  readonly loop: MessageLoop;
  readonly #ws: WebSocket;
  readonly #inflation: Inflation | undefined;
  readonly #around: ConnectionPorts;
  #ended = false;
  readonly #heartbeat: Heartbeat;
  #closing: { at: number; code: number } | undefined;

  constructor(
    readonly world: string,
    ws: WebSocket,
    socket: Duplex,
    /** Of the client. */
    readonly address: string,
    around: ConnectionPorts,
    /** Takes compressed messages, if the client may send them. Then it also gets some. */
    inflation?: Inflation,
    /** The URL of the server as the client reached it, for links; empty if it is unknown. */
    readonly base = "",
  ) {
    this.#ws = ws;
    this.#inflation = inflation;
    this.#around = around;
    const { clock, random, limits } = around;
    this.id = random.id();
    this.openedAt = clock.date();
    this.#heartbeat = new Heartbeat(around);
    this.maxFrame = limits.maxFrame;
    this.writer = new SocketWriter(socket as Socket, around, this);
    this.outgoing = new Outgoing(clock, this, inflation !== undefined);
    this.incoming = new Incoming(ws, socket, around, this, inflation);
    this.loop = new MessageLoop(around, this);
    ws.on("close", this.#onClose);
    // A fault of the protocol; ws closes the connection itself.
    ws.on("error", () => {});
  }

  /** The user who logged in, as the log names the author of what the user writes here. */
  get author(): Author {
    return { kind: "user", user: this.login?.user, connection: this.id };
  }

  /**
   * What its user sees of a world: in the newest state that was asked for, as rights that
   * are over do not come back. The size of the messages that it may send follows from it.
   * The connection must be logged in.
   */
  viewOf(state: WorldState): View {
    const login = this.login!;
    let { view } = login;
    const isOther = view?.who.state !== login.state;
    if (!view || isOther || view.state.order < state.order) {
      const before = view;
      view = state.view(login);
      login.view = view;
      if (before) this.lose(view.lossesSince(before), state.since);
      const { maxFrame } = this.#around.limits;
      this.maxFrame = view.mayUpdate ? Math.max(MAX_FRAME, maxFrame) : maxFrame;
      if (this.#inflation) this.#inflation.most = this.maxFrame;
    }
    return view;
  }

  /**
   * Rights were lost: the client learns of it with the next state of the world.
   * @param since when that may have been, if it is known.
   */
  lose(losses: Losses | undefined, since = Infinity): void {
    if (!losses) return;
    const login = this.login!;
    this.outgoing.noteLoss(since);
    login.losses = login.losses?.and(losses) ?? losses;
  }

  /** Whether it takes no messages and gets no pushes any more. */
  get ended(): boolean {
    return this.#ended;
  }

  /** How many bytes wait until the client reads. */
  get unsent(): number {
    return this.writer.unsent;
  }

  /** Carries out the messages that wait. */
  carryOut(): void {
    this.loop.run().catch((error) => this.onFault(error));
  }

  handle(message: Message): Promise<readonly Buffer[]> {
    return this.#around.handle(this, message);
  }

  onFault(error: unknown): void {
    this.#around.onFault(this, error);
  }

  pong(content: Buffer): void {
    this.writer.pong(content);
  }

  /**
   * Holds pushes until it is known whether its user may still get them. If the connection
   * ends before, they are not sent.
   * @param since when the user may have lost a right.
   * @param known settles after the promise of an earlier call. If it rejects, the connection ends.
   */
  holdUntil(since: number, known: Promise<void>): void {
    this.outgoing.holdUntil(since, known).catch((error) => this.onFault(error));
  }

  /** Whether it is not known what its user may still get. */
  get isDoubted(): boolean {
    return this.outgoing.isDoubted;
  }

  /**
   * Sends a push, after the answer to the present message if there is one, and after
   * the end of a doubt.
   * @param piece one or more frames. Others may get the same buffer.
   */
  push(piece: Buffer, frames = 1): void {
    this.outgoing.push(piece, frames);
  }

  /** Sends a state of the world, which may be large without a fault of the reader. */
  pushState(piece: Buffer, frames = 1): void {
    this.push(piece, frames);
    this.writer.noteState(piece.length);
  }

  watchBacklog(): void {
    this.#around.backlog.add(this);
  }

  /** Ends it at once, as its client does not read. */
  dropAsSlow(): void {
    this.#around.onSlow(this);
    this.drop();
  }

  /**
   * Sends a last frame, and closes.
   * @param after how many milliseconds later the connection closes. Meanwhile it takes no messages.
   */
  finish(frame: Buffer | undefined, code: number, after = 0): void {
    if (this.#ended) return;
    this.outgoing.finish(frame);
    if (this.ended) return;
    if (after === 0) {
      this.close(code);
      return;
    }
    this.#closing = { at: this.#around.clock.now() + after, code };
    this.#heartbeat.lookAt(this.#closing.at);
    this.#around.lookAt(this, this.#closing.at);
    this.#end(code);
  }

  /** Closes by the closing handshake. */
  close(code: number): void {
    this.#closing = undefined;
    this.writer.flush();
    this.#end(code);
    this.#ws.close(code);
  }

  /** Closes when the command that is carried out now, if any, has its answer. */
  closeAfterAnswer(code: number): void {
    if (this.outgoing.answering) this.loop.closeAfterAnswer(code);
    else this.close(code);
  }

  /** Ends it at once, without a word. */
  drop(): void {
    this.#end(1006);
    this.#ws.terminate();
  }

  #end(code: number): void {
    if (this.#ended) return;
    this.#ended = true;
    this.outgoing.forget();
    this.loop.end();
    this.incoming.end();
    this.#around.onEnd(this, code);
  }

  readonly #onClose = (code: number): void => {
    this.#end(code);
    this.#around.onClosed(this);
  };

  /** When {@link tick} has to be called, on the clock, in milliseconds. */
  get nextLook(): number {
    return this.#heartbeat.nextLook;
  }

  /**
   * Does what time asks for. One timer calls it for the connections whose {@link nextLook} has come.
   * @param now the time on the clock, in milliseconds.
   * @returns a code if the connection has to fail for a reason that the client should know.
   */
  tick(now: number): "auth.timeout" | "auth.expired_token" | undefined {
    if (this.#closing && now >= this.#closing.at) this.close(this.#closing.code);
    if (this.#ended) return undefined;
    const asked = this.#heartbeat.look(now, {
      login: this.login,
      lastFrame: this.incoming.lastFrame,
      isAtWork: this.loop.isAtWork,
    });
    if (asked === "silent") this.close(Close.goingAway);
    else if (asked === "ping") this.writer.send(pingFrame);
    else return asked;
    return undefined;
  }
}

/** How long a message waits for pushes that those before it have caused, in milliseconds. */
const PUSH_WAIT_TIMEOUT_MS = 250;

/** A message as it arrived. */
export interface Message {
  /** Undefined for a binary frame. */
  readonly text: string | undefined;
  /** Whether the rate of the connection allows it. */
  readonly allowed: boolean;
}

interface LoopPorts {
  readonly clock: Clock;
  readonly turns: Turns;
  readonly limits: {
    readonly maxUnsent: number;
    readonly commandsPerSecond: number;
  };
}

/** The connection whose messages are carried out. */
interface Owner {
  readonly ended: boolean;
  /** Undefined before the login. */
  readonly login: unknown;
  readonly incoming: Incoming;
  readonly outgoing: Outgoing;
  readonly writer: SocketWriter;
  /** Carries out a message. @returns the frame of the answer, in pieces. */
  handle(message: Message): Promise<readonly Buffer[]>;
  onFault(error: unknown): void;
  close(code: number): void;
}

/**
 * Carries out the messages of a connection: in order, one at a time, at the pace of the
 * connection. Each waits until its client has read enough of earlier answers, and for
 * the pushes that earlier messages caused.
 */
class MessageLoop {
  readonly #ports: LoopPorts;
  readonly #owner: Owner;
  readonly #pace: Pace;
  #begun = 0;
  /** The next message waits for its turn. */
  #isInLine = false;
  /** The present message, or the last one, has changed something. */
  #hasWritten = false;
  /** The pushes that messages before the next one have caused. */
  #caused: Promise<void>[] = [];
  #after: (() => Promise<void>) | undefined;
  /** It closes with this code after the answer to the present message. */
  #lastCode: number | undefined;
  /** Ends the wait of the message that is next. */
  #wake = nothing;

  constructor(ports: LoopPorts, owner: Owner) {
    this.#ports = ports;
    this.#owner = owner;
    this.#pace = new Pace(ports.clock, ports.limits.commandsPerSecond);
  }

  /** How many messages were begun, with the present one. */
  get begun(): number {
    return this.#begun;
  }

  /** The number of the message for whose answer pushes wait; undefined if they leave at once. */
  get present(): number | undefined {
    return this.#owner.outgoing.answering ? this.#begun : undefined;
  }

  /** Whether the present message, or the last one, has changed something. */
  get hasWritten(): boolean {
    return this.#hasWritten;
  }

  /** Whether a message is carried out, or waits for its turn. */
  get isAtWork(): boolean {
    return this.#owner.outgoing.answering || this.#isInLine;
  }

  /** Carries out all messages that wait. */
  async run(): Promise<void> {
    const { incoming } = this.#owner;
    incoming.busy = true;
    while (incoming.count > 0) {
      const isDoubted = this.#owner.outgoing.isDoubted;
      if (this.#caused.length > 0 || isDoubted) await this.#settle();
      await this.#untilRead();
      this.#isInLine = true;
      await this.#ports.turns.take();
      this.#isInLine = false;
      const allowed = await this.#allowed();
      if (this.#owner.ended) break;
      await this.#carryOut({ text: incoming.take(), allowed });
      incoming.readIfRoom();
    }
    incoming.busy = false;
    incoming.readIfRoom();
  }

  async #carryOut(message: Message): Promise<void> {
    const { outgoing } = this.#owner;
    this.#begun++;
    this.#hasWritten = false;
    const earlier = outgoing.beginAnswer();
    const began = this.#ports.clock.now();
    try {
      const answer = await this.#owner.handle(message);
      // The user may have been banned while the message was carried out.
      const inDoubt = outgoing.isDoubted && this.#owner.login;
      const isSure = !inDoubt || (await outgoing.isSure());
      // A command that changes something shows little else, and its client has to know.
      const isOver = !this.#hasWritten && outgoing.isOld(began);
      if (isSure && !isOver) outgoing.answer(answer, earlier);
      else this.#owner.close(Close.tryAgainLater);
    } catch (error) {
      this.#owner.onFault(error);
    }
    outgoing.endAnswer();
    const after = this.#after;
    this.#after = undefined;
    await after?.();
    if (this.#lastCode !== undefined) this.#owner.close(this.#lastCode);
  }

  /** Waits until the next message may be answered. @returns whether it is carried out. */
  async #allowed(): Promise<boolean> {
    while (!this.#owner.ended) {
      const allowed = this.#pace.take();
      if (allowed !== undefined) return allowed;
      await new Promise<void>((resolve) => {
        const stop = this.#ports.clock.after(this.#pace.wait, resolve);
        this.#wake = () => {
          stop();
          resolve();
        };
      });
    }
    return false;
  }

  /** Waits for the pushes that messages before have caused. Others may hold them up for long. */
  #settle(): Promise<void> {
    const caused = this.#caused.splice(0);
    const pushed = Promise.all([...caused, this.#owner.outgoing.known]);
    return new Promise((resolve) => {
      const stop = this.#ports.clock.after(PUSH_WAIT_TIMEOUT_MS, resolve);
      const goOn = () => {
        stop();
        resolve();
      };
      pushed.then(goOn, goOn);
    });
  }

  /** Waits until the client has read enough of earlier answers to get one more. */
  async #untilRead(): Promise<void> {
    const { writer } = this.#owner;
    const most = this.#owner.login ? this.#ports.limits.maxUnsent : 0;
    while (!this.#owner.ended && writer.unsent > most) {
      writer.flush();
      if (!writer.needsDrain) return;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
        writer.onceDrained(resolve);
      });
    }
  }

  /** Runs something after the answer to the present message, and before the next message. */
  afterAnswer(act: () => Promise<void>): void {
    this.#after = act;
  }

  /** Closes after the answer to the present message. */
  closeAfterAnswer(code: number): void {
    this.#lastCode = code;
  }

  /** The next message waits for these pushes, which the present one has caused. */
  follow(pushes: readonly Promise<void>[]): void {
    this.#hasWritten = true;
    if (!this.#owner.ended) this.#caused.push(...pushes);
  }

  /** The connection has ended, and no message waits any longer. */
  end(): void {
    this.#caused = [];
    this.#wake();
  }
}

function nothing(): void {}
