import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { WebSocket } from "ws";
import type { LiveLimits } from "../../config.js";
import type { Author } from "../../db/contract/author.js";
import type { Clock, Random } from "../../db/runtime.js";
import type { Losses } from "../rules/sent-state.js";
import type { View, LiveWorldState } from "../rules/world-state.js";
import { Close, pingFrame } from "./frame.js";
import { Heartbeat } from "./heartbeat.js";
import { Incoming, type Inflation } from "./incoming.js";
import type { Login } from "./login-state.js";
import { Outgoing, SocketWriter } from "./outgoing.js";
import { FrameRateLimit, type LoopTurns } from "./pace.js";

/** Maximum size of a message from users who may update rooms or the world, in bytes. */
export const MAX_FRAME = 1024 * 1024;

/** Ports of a connection. */
export interface ConnectionPorts {
  readonly clock: Clock;
  readonly random: Random;
  /** Writes due frames to connections. */
  readonly flushQueue: { add(writer: SocketWriter): void };
  /** Watches connections with unsent data. */
  readonly backlog: { add(connection: Connection): void };
  readonly turns: LoopTurns;
  readonly limits: LiveLimits;
  /**
   * Handles a message.
   * @returns the frame of the response, in pieces. The second piece is shared with other
   * connections.
   */
  readonly handle: (connection: Connection, message: ReceivedFrame) => Promise<readonly Buffer[]>;
  /** Called when a connection no longer handles messages or receives pushes. */
  readonly onEnd: (connection: Connection, code: number) => void;
  /** Called when a connection must be checked earlier than scheduled. */
  readonly lookAt: (connection: Connection, at: number) => void;
  /** Called when a connection's socket has closed. */
  readonly onClosed: (connection: Connection) => void;
  /** Called when a connection is dropped because its client did not read the sent data. */
  readonly onSlow: (connection: Connection) => void;
  /** Called on an unexpected error. */
  readonly onFault: (connection: Connection, error: unknown) => void;
  readonly metrics: { received(): void; sent(frames: number): void } | undefined;
}

/**
 * One websocket: its login, its view of the world, and how it ends. Its parts read messages
 * (`incoming`), handle them (`loop`), order responses and pushes (`outgoing`), and write
 * (`writer`).
 */
export class Connection {
  readonly id: string;
  /** When the connection was opened, in milliseconds since 1970. */
  readonly openedAt: number;
  /** The ids of the rooms that the connection has entered. */
  readonly rooms = new Set<string>();
  login: Login | undefined;
  /** Distinguishes connections from HTTP calls, which may also run some commands. */
  readonly isCall = false;
  /** Maximum size of a message from the client, in bytes. */
  maxFrame: number;
  readonly incoming: Incoming;
  readonly outgoing: Outgoing;
  readonly writer: SocketWriter;
  readonly loop: MessageLoop;
  readonly #ws: WebSocket;
  readonly #inflation: Inflation | undefined;
  readonly #ports: ConnectionPorts;
  #ended = false;
  readonly #heartbeat: Heartbeat;
  #closing: { at: number; code: number } | undefined;

  constructor(
    readonly world: string,
    ws: WebSocket,
    socket: Duplex,
    /** The client's address. */
    readonly address: string,
    around: ConnectionPorts,
    /** Decompresses messages, if the client negotiated compression. Sent frames are then compressed as well. */
    inflation?: Inflation,
    /** The URL by which the client reached the server, for links; empty if unknown. */
    readonly base = "",
  ) {
    this.#ws = ws;
    this.#inflation = inflation;
    this.#ports = around;
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
    // A protocol error: ws closes the connection itself.
    ws.on("error", () => {});
  }

  /** The author that the log records for writes over this connection. */
  get author(): Author {
    return { kind: "user", user: this.login?.user, connection: this.id };
  }

  /**
   * Returns the user's view of a world. Uses the newest state requested so far, so that revoked
   * rights do not come back, and adjusts the maximum message size. The connection must be logged
   * in.
   */
  viewOf(state: LiveWorldState): View {
    const login = this.login!;
    let { view } = login;
    const isOther = view?.who.state !== login.state;
    if (!view || isOther || view.state.order < state.order) {
      const before = view;
      view = state.view(login);
      login.view = view;
      if (before) this.lose(view.lossesSince(before), state.since);
      const { maxFrame } = this.#ports.limits;
      this.maxFrame = view.mayUpdate ? Math.max(MAX_FRAME, maxFrame) : maxFrame;
      if (this.#inflation) this.#inflation.most = this.maxFrame;
    }
    return view;
  }

  /**
   * Records lost rights. The client learns of the loss with the next world state.
   * @param since the earliest time at which the rights may have been lost, if known.
   */
  lose(losses: Losses | undefined, since = Infinity): void {
    if (!losses) return;
    const login = this.login!;
    this.outgoing.noteLoss(since);
    login.losses = login.losses?.and(losses) ?? losses;
  }

  /** Whether the connection no longer handles messages or receives pushes. */
  get ended(): boolean {
    return this.#ended;
  }

  /** Number of bytes that the client has not read yet. */
  get unsent(): number {
    return this.writer.unsent;
  }

  /** Handles the waiting messages. */
  handleWaiting(): void {
    this.loop.run().catch((error) => this.onFault(error));
  }

  handle(message: ReceivedFrame): Promise<readonly Buffer[]> {
    return this.#ports.handle(this, message);
  }

  onFault(error: unknown): void {
    this.#ports.onFault(this, error);
  }

  pong(content: Buffer): void {
    this.writer.pong(content);
  }

  /**
   * Holds pushes until it is known whether the user may still receive them. If the connection ends
   * first, the held pushes are not sent.
   * @param since the earliest time at which the user may have lost a right.
   * @param known settles after the promises of all earlier calls. If it rejects, the connection
   * ends.
   */
  holdUntil(since: number, known: Promise<void>): void {
    this.outgoing.holdUntil(since, known).catch((error) => this.onFault(error));
  }

  /** Whether it is currently unknown what the user may still receive. */
  get isDoubted(): boolean {
    return this.outgoing.isDoubted;
  }

  /**
   * Sends a push, after the response to the current message if there is one, and once the user's
   * rights are certain.
   * @param piece one or more frames. Other connections may share the buffer.
   */
  push(piece: Buffer, frames = 1): void {
    this.outgoing.push(piece, frames);
  }

  /** Sends a world state, which may be large without making the client a slow reader. */
  pushState(piece: Buffer, frames = 1): void {
    this.push(piece, frames);
    this.writer.noteState(piece.length);
  }

  watchBacklog(): void {
    this.#ports.backlog.add(this);
  }

  /** Drops the connection immediately, because its client does not read the sent data. */
  dropAsSlow(): void {
    this.#ports.onSlow(this);
    this.drop();
  }

  /**
   * Sends a last frame, and closes.
   * @param after delay before the connection closes, in milliseconds. During the delay, the
   * connection handles no messages.
   */
  finish(frame: Buffer | undefined, code: number, after = 0): void {
    if (this.#ended) return;
    this.outgoing.finish(frame);
    if (this.ended) return;
    if (after === 0) {
      this.close(code);
      return;
    }
    this.#closing = { at: this.#ports.clock.now() + after, code };
    this.#heartbeat.checkAt(this.#closing.at);
    this.#ports.lookAt(this, this.#closing.at);
    this.#end(code);
  }

  /** Closes with a closing handshake. */
  close(code: number): void {
    this.#closing = undefined;
    this.writer.flush();
    this.#end(code);
    this.#ws.close(code);
  }

  /** Closes after the response to the current command, if there is one. */
  closeAfterAnswer(code: number): void {
    if (this.outgoing.answering) this.loop.closeAfterAnswer(code);
    else this.close(code);
  }

  /** Ends the connection immediately, without a closing handshake. */
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
    this.#ports.onEnd(this, code);
  }

  readonly #onClose = (code: number): void => {
    this.#end(code);
    this.#ports.onClosed(this);
  };

  /** The time at which to call {@link tick} next, on the clock, in milliseconds. */
  get nextLook(): number {
    return this.#heartbeat.nextLook;
  }

  /**
   * Handles timeouts and pings that are due. A single timer calls this method on each connection
   * whose {@link nextLook} has been reached.
   * @param now the time on the clock, in milliseconds.
   * @returns a code if the connection has to end for a reason that the client should know.
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

/** How long a message waits for pushes caused by earlier messages, in milliseconds. */
const PUSH_WAIT_TIMEOUT_MS = 250;

/** A message as received. */
export interface ReceivedFrame {
  /** The text of the message; undefined for a binary frame. */
  readonly text: string | undefined;
  /** Whether the connection's rate limit allows the message. */
  readonly allowed: boolean;
}

interface LoopPorts {
  readonly clock: Clock;
  readonly turns: LoopTurns;
  readonly limits: {
    readonly maxUnsent: number;
    readonly commandsPerSecond: number;
  };
}

/** The connection whose messages are handled. */
interface Owner {
  readonly ended: boolean;
  /** Undefined before login. */
  readonly login: unknown;
  readonly incoming: Incoming;
  readonly outgoing: Outgoing;
  readonly writer: SocketWriter;
  /**
   * Handles a message.
   * @returns the frame of the response, in pieces.
   */
  handle(message: ReceivedFrame): Promise<readonly Buffer[]>;
  onFault(error: unknown): void;
  close(code: number): void;
}

/**
 * Handles a connection's messages: in order, one at a time, within the connection's rate limit.
 * Before each message, waits until the client has read enough of the previous responses, and for
 * the pushes that earlier messages caused.
 */
class MessageLoop {
  readonly #ports: LoopPorts;
  readonly #owner: Owner;
  readonly #pace: FrameRateLimit;
  #begun = 0;
  /** Whether the next message is waiting for its turn. */
  #isInLine = false;
  /** Whether the current message, or the last message if none is being handled, has changed something. */
  #hasWritten = false;
  /** Pushes caused by earlier messages. The next message waits for them. */
  #caused: Promise<void>[] = [];
  #after: (() => Promise<void>) | undefined;
  /** Close code to use after the response to the current message. */
  #lastCode: number | undefined;
  /** Resumes the message loop if it is waiting. */
  #wake = nothing;

  constructor(ports: LoopPorts, owner: Owner) {
    this.#ports = ports;
    this.#owner = owner;
    this.#pace = new FrameRateLimit(ports.clock, ports.limits.commandsPerSecond);
  }

  /** Number of messages whose handling has begun, including the current message. */
  get begun(): number {
    return this.#begun;
  }

  /** The number of the current message, if pushes wait for its response; undefined if pushes are sent immediately. */
  get present(): number | undefined {
    return this.#owner.outgoing.answering ? this.#begun : undefined;
  }

  /** Whether the current message, or the last message if none is being handled, has changed something. */
  get hasWritten(): boolean {
    return this.#hasWritten;
  }

  /** Whether a message is being handled or is waiting for its turn. */
  get isAtWork(): boolean {
    return this.#owner.outgoing.answering || this.#isInLine;
  }

  /** Handles all waiting messages. */
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

  async #carryOut(message: ReceivedFrame): Promise<void> {
    const { outgoing } = this.#owner;
    this.#begun++;
    this.#hasWritten = false;
    const earlier = outgoing.beginAnswer();
    const began = this.#ports.clock.now();
    try {
      const answer = await this.#owner.handle(message);
      // The user may have been banned while the message was being handled.
      const inDoubt = outgoing.isDoubted && this.#owner.login;
      const isSure = !inDoubt || (await outgoing.isSure());
      // The response to a command that changes something reveals little beyond the change, and the
      // client must learn the outcome.
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

  /**
   * Waits until the rate limit allows the next message to be either handled or refused.
   * @returns whether to handle the message. Otherwise, the message is to be refused.
   */
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

  /**
   * Waits for the pushes caused by earlier messages, up to a timeout, because unrelated pushes in
   * the same queues may delay these pushes for a long time.
   */
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

  /** Waits until the client has read enough of the previous responses to receive another response. */
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

  /** Runs an action after the response to the current message, and before the next message. */
  afterAnswer(act: () => Promise<void>): void {
    this.#after = act;
  }

  /** Closes after the response to the current message. */
  closeAfterAnswer(code: number): void {
    this.#lastCode = code;
  }

  /** Makes the next message wait for these pushes, which the current message has caused. */
  follow(pushes: readonly Promise<void>[]): void {
    this.#hasWritten = true;
    if (!this.#owner.ended) this.#caused.push(...pushes);
  }

  /** Ends all waits, because the connection has ended. */
  end(): void {
    this.#caused = [];
    this.#wake();
  }
}

function nothing(): void {}
