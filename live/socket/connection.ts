import { isUtf8 } from "node:buffer";
import type { Duplex } from "node:stream";
import type { Socket } from "node:net";
import type { RawData, WebSocket } from "ws";
import type { LiveLimits } from "../../config.js";
import type { Clock } from "../../db/log/clock.js";
import type { Author } from "../../db/contract/author.js";
import type { Random } from "../../db/log/random.js";
import type { Identity } from "../../plugins/auth/identity.js";
import { deflatedAnswer, deflatedPiece } from "./deflate.js";
import { Doubt } from "./doubt.js";
import { pingFrame, pongFrame } from "./frame.js";
import { HeldPieces } from "./held.js";
import type { Inflation } from "./inflate.js";
import { Joiner } from "./joiner.js";
import { Pace } from "./pace.js";
import type { Bearer, ModerationState } from "../rules/rights.js";
import type { Losses } from "../rules/losses.js";
import type { Told } from "../rules/told.js";
import type { TokenBucket } from "./token-bucket.js";
import type { Turns } from "./turns.js";
import type { View, WorldState } from "../rules/world-state.js";

/** Close codes (RFC 6455, section 7.4.1). */
export const Close = {
  normal: 1000,
  policy: 1008,
  tooLarge: 1009,
  goingAway: 1001,
  fault: 1011,
  restart: 1012,
  /** Of a later version; see the registry that RFC 6455, section 11.7, begins. */
  tryAgainLater: 1013,
} as const;

/** The largest message of those who may update rooms or the world, in bytes. */
export const MAX_FRAME = 1024 * 1024;

/** How many messages may wait before the socket is no longer read. */
const MAX_WAITING = 64;

/** How many frames of one chunk may be none to carry out before reading rests. */
const MAX_IDLE_FRAMES = 64;

/** How long reading rests then, in milliseconds. */
const REST = 1000;

/**
 * How often a connection that is logged in is looked at, in milliseconds. With
 * thousands of them that is most of what an idle server does.
 */
const LOOKED_AT = 1000;

/** How long a message waits for pushes that those before it have caused, in milliseconds. */
const LONGEST_WAIT = 250;

/** A connection is closed after this many ping intervals without a frame. */
const SILENT_INTERVALS = 2.4;

/** Who logged in over a connection. The rights are those of the token, not of the user's last one. */
export interface Login extends Bearer {
  readonly identity: Identity;
  readonly user: string;
  /** As the store had it last. */
  state: ModerationState;
  /** Whether the client asked for changes of the world instead of whole states. */
  readonly changes: boolean;
  /** What they see of the world, as it was made last. */
  view?: View;
  /** What they have lost since the client got a state of the world, even if it is back. */
  losses?: Losses | undefined;
  /** The last state of the world that the client got, if it asked for changes. */
  told?: Told;
  /** The view by which the client's list of channels was made last. */
  listed?: View;
  /** How many bytes they may get of the states of the world. */
  states?: TokenBucket;
}

/** Takes connections to look after them. */
interface Taker {
  add(connection: Connection): void;
}

/** What a connection needs of the rest. */
export interface Surroundings {
  readonly clock: Clock;
  readonly random: Random;
  /** Writes what is due to connections. */
  readonly pump: Taker;
  /** Watches connections with unsent data. */
  readonly backlog: Taker;
  readonly turns: Turns;
  readonly limits: LiveLimits;
  /**
   * Carries out a message.
   * @returns the frame of the answer, in pieces, the second of which others share.
   */
  readonly handle: (
    connection: Connection,
    message: Message,
  ) => Promise<readonly Buffer[]>;
  /** It takes no messages and gets no pushes any more. */
  readonly onEnd: (connection: Connection, code: number) => void;
  /** Its socket is closed. */
  readonly onClosed: (connection: Connection) => void;
  /** The connection was dropped, because it did not read what was sent. */
  readonly onSlow: (connection: Connection) => void;
  /** What nobody expected. */
  readonly onFault: (connection: Connection, error: unknown) => void;
  readonly onReceived: () => void;
  readonly onSent: (frames: number) => void;
}

/** A message as it arrived. */
export interface Message {
  /** Undefined for a binary frame. */
  readonly text: string | undefined;
  /** Whether the rate of the connection allows it. */
  readonly allowed: boolean;
}

/**
 * One websocket. Its messages are carried out in order, one at a time; what they
 * cause reaches the sender after the answer.
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
  readonly #ws: WebSocket;
  readonly #inflation: Inflation | undefined;
  readonly #socket: Socket;
  readonly #around: Surroundings;
  readonly #pace: Pace;
  /** Texts of messages; undefined for binary frames. */
  readonly #waiting: (string | undefined)[] = [];
  /** The length of all texts that wait. */
  #waitingSize = 0;
  #after: (() => Promise<void>) | undefined;
  /** The pushes that messages before the next one have caused. */
  #caused: Promise<void>[] = [];
  /** The present message, or the last one, has changed something. */
  #hasWritten = false;
  #busy = false;
  /** A message is carried out, and pushes wait for its answer. */
  #answering = false;
  /** How many messages it has carried out or begun to. */
  #messages = 0;
  /** The next message waits for its turn. */
  #isInLine = false;
  /** The size of the last answer. It was asked for, so it is no sign of a slow reader. */
  #answerSize = 0;
  /** The size of the answers since the client had taken all, without shared pushes. */
  #answersKept = 0;
  /** The size of the last state of the world. The next one waits until it is read. */
  #stateSize = 0;
  /** Ends the wait of the message that is next. */
  #wake = nothing;
  #ended = false;
  /** Pieces to be written at the end of this turn of the event loop, of one or more frames. */
  #out: Buffer[] = [];
  #outSize = 0;
  #outFrames = 0;
  readonly #doubt: Doubt;
  readonly #held: HeldPieces;
  // Intervals count on a clock that nobody sets.
  readonly #opened: number;
  #lastFrame: number;
  #lastPing: number;
  /** How many bytes came since the last message was complete; -1 in the chunk that completed it. */
  #collected = 0;
  /** How many frames of the present chunk were none to carry out. */
  #idleFrames = 0;
  /** Reading rests, as the client sends frames that nobody needs. */
  #resting = false;
  /** The content of a ping that has no answer yet. */
  #pinged: Buffer | undefined;
  /** It closes with this code after the answer to the present message. */
  #lastCode: number | undefined;
  #closing: { at: number; code: number } | undefined;
  /** When time may ask for something. */
  #nextLook = 0;

  constructor(
    readonly world: string,
    ws: WebSocket,
    socket: Duplex,
    /** Of the client. */
    readonly address: string,
    around: Surroundings,
    /** Takes compressed messages, if the client may send them. Then it also gets some. */
    inflation?: Inflation,
    /** The URL of the server as the client reached it, for links; empty if it is unknown. */
    readonly base = "",
  ) {
    this.#ws = ws;
    this.#inflation = inflation;
    if (inflation) {
      inflation.onFault = (code) => this.close(code);
      inflation.isFull = () => this.#isFull;
    }
    this.#socket = socket as Socket;
    this.#around = around;
    const { clock, random } = around;
    this.id = random.id();
    this.openedAt = clock.date();
    this.#opened = clock.now();
    this.#lastFrame = this.#opened;
    this.#lastPing = this.#opened;
    const { commandsPerSecond, maxFrame } = around.limits;
    this.maxFrame = maxFrame;
    this.#pace = new Pace(clock, commandsPerSecond);
    this.#doubt = new Doubt(clock);
    this.#held = new HeldPieces(clock);
    ws.on("message", this.#receive);
    ws.on("ping", this.#onPing);
    ws.on("pong", this.#onPong);
    ws.on("close", this.#onClose);
    socket.on("data", this.#onData);
    // A fault of the protocol; ws closes the connection itself.
    ws.on("error", nothing);
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
      if (before) this.lose(view.lossesSince(before));
      const { maxFrame } = this.#around.limits;
      this.maxFrame = view.mayUpdate ? Math.max(MAX_FRAME, maxFrame) : maxFrame;
      if (this.#inflation) this.#inflation.most = this.maxFrame;
    }
    return view;
  }

  /** Rights were lost: the client learns of it with the next state of the world. */
  lose(losses: Losses | undefined): void {
    if (!losses) return;
    const login = this.login!;
    this.#held.noteLoss();
    login.losses = login.losses?.and(losses) ?? losses;
  }

  /** Whether it takes no messages and gets no pushes any more. */
  get ended(): boolean {
    return this.#ended;
  }

  /** How many messages wait. */
  get queued(): number {
    return this.#waiting.length;
  }

  /** How many bytes wait until the client reads. */
  get unsent(): number {
    return this.#socket.writableLength + this.#outSize + this.#held.size;
  }

  /**
   * How many of these bytes no other connection shares, at most. A push is one piece of
   * memory for all connections that get it.
   */
  get kept(): number {
    return Math.min(this.unsent, this.#answersKept);
  }

  /**
   * How much the system has left to send of the present write; 0 if nothing waits, and
   * NaN if that is not known.
   */
  get left(): number {
    if (this.#socket.destroyed || this.#socket.writableLength === 0) return 0;
    // Data behind the present write counts when it is written. Node.js looks at the
    // same number to tell whether a socket is idle.
    const { _handle } = this.#socket as unknown as {
      _handle?: { writeQueueSize?: number };
    };
    return _handle?.writeQueueSize || NaN;
  }

  readonly #onPong = (): void => {
    this.#lastFrame = this.#around.clock.now();
    this.#idleFrames++;
  };

  /** Answers the last of several pings, as RFC 6455, section 5.5.3, allows. */
  readonly #onPing = (content: Buffer): void => {
    this.#onPong();
    if (this.#ended || this.#dropIfSlow()) return;
    const isDue = this.#isDue;
    this.#pinged = content;
    if (!isDue) this.#around.pump.add(this);
  };

  readonly #receive = (data: RawData, isBinary: boolean): void => {
    this.#lastFrame = this.#around.clock.now();
    this.#collected = -1;
    this.#around.onReceived();
    if (this.#ended) {
      this.#idleFrames++;
      return;
    }
    const bytes = data as Buffer;
    if (bytes.length > this.maxFrame) {
      this.close(Close.tooLarge);
      return;
    }
    const text = isBinary ? undefined : textOf(bytes);
    this.#waiting.push(text);
    this.#waitingSize += text?.length ?? 0;
    if (!this.#busy) {
      this.#work().catch((error) => this.#around.onFault(this, error));
    }
    this.#readIfRoom();
  };

  /** Runs after ws has taken a chunk. */
  readonly #onData = ({ length }: Buffer): void => {
    this.#collected = this.#collected < 0 ? 0 : this.#collected + length;
    // ws would collect up to its own limit, which is for those with more rights.
    if (this.#collected > 2 * this.maxFrame) this.close(Close.tooLarge);
    if (this.#idleFrames > MAX_IDLE_FRAMES) this.#rest();
    this.#idleFrames = 0;
  };

  #rest(): void {
    this.#resting = true;
    this.#readIfRoom();
    this.#around.clock.after(REST, () => {
      this.#resting = false;
      this.#readIfRoom();
    });
  }

  get #isFull(): boolean {
    if (this.#ended) return false;
    return (
      this.#waiting.length >= MAX_WAITING ||
      this.#waitingSize > this.maxFrame ||
      (this.#busy && !this.login)
    );
  }

  /**
   * Reads on, or stops: for at most one message of the largest size, and before
   * login for any. What is then in memory is this, and a chunk that came with it.
   */
  #readIfRoom(): void {
    const isFull = this.#isFull;
    if (!isFull) this.#inflation?.goOn();
    const stops = this.#resting || isFull;
    if (stops === this.#ws.isPaused) return;
    if (stops) this.#ws.pause();
    else this.#ws.resume();
  }

  async #work(): Promise<void> {
    this.#busy = true;
    while (this.#waiting.length > 0) {
      if (this.#caused.length > 0 || this.#doubt.isOpen) await this.#settle();
      await this.#read();
      this.#isInLine = true;
      await this.#around.turns.take();
      this.#isInLine = false;
      const allowed = await this.#allowed();
      if (this.#ended) break;
      const text = this.#waiting.shift();
      this.#waitingSize -= text?.length ?? 0;
      this.#answering = true;
      this.#messages++;
      this.#hasWritten = false;
      const earlier = this.#held.count;
      const began = this.#around.clock.now();
      try {
        const answer = await this.#around.handle(this, { text, allowed });
        // Its user may have been banned while the message was carried out.
        const inDoubt = this.#doubt.isOpen && this.login;
        const isSure = !inDoubt || (await this.#doubt.ends());
        // A command that changes something shows little else, and its client has to know.
        const isOver = !this.#hasWritten && this.#held.isOld(began);
        if (isSure && !isOver) {
          // They waited for the end of a doubt, which came while the message was carried out.
          this.#sendHeld(earlier);
          this.#answer(answer);
        } else this.close(Close.tryAgainLater);
      } catch (error) {
        this.#around.onFault(this, error);
      }
      this.#answering = false;
      this.#release();
      const after = this.#after;
      this.#after = undefined;
      await after?.();
      if (this.#lastCode !== undefined) this.close(this.#lastCode);
      this.#readIfRoom();
    }
    this.#busy = false;
    this.#readIfRoom();
  }

  /** Waits until the next message may be answered. @returns whether it is carried out. */
  async #allowed(): Promise<boolean> {
    while (!this.#ended) {
      const allowed = this.#pace.take();
      if (allowed !== undefined) return allowed;
      await new Promise<void>((resolve) => {
        const stop = this.#around.clock.after(this.#pace.wait, resolve);
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
    const pushed = Promise.all([...this.#caused.splice(0), this.#doubt.known]);
    return new Promise((resolve) => {
      const stop = this.#around.clock.after(LONGEST_WAIT, resolve);
      const goOn = () => {
        stop();
        resolve();
      };
      pushed.then(goOn, goOn);
    });
  }

  /** Waits until the client has read enough of earlier answers to get one more. */
  async #read(): Promise<void> {
    const most = this.login ? this.#around.limits.maxUnsent : 0;
    while (!this.#ended && this.unsent > most) {
      this.flush();
      if (!this.#socket.writableNeedDrain) return;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
        this.#socket.once("drain", resolve);
      });
    }
  }

  /** @param frame one piece, or its beginning, the part that others share, and its end. */
  #answer(frame: readonly Buffer[]): void {
    const pieces = this.#inflation ? deflatedAnswer(frame) : frame;
    this.#answerSize = 0;
    for (const { length } of pieces) this.#answerSize += length;
    if (this.unsent === 0) this.#answersKept = 0;
    this.#answersKept += this.#answerSize - (pieces[1]?.length ?? 0);
    pieces.forEach((piece, i) => this.#send(piece, i === 0 ? 1 : 0));
  }

  /** The number of the message for whose answer pushes wait; undefined if they leave at once. */
  get message(): number | undefined {
    return this.#answering ? this.#messages : undefined;
  }

  /** How many messages were begun, with the present one. */
  get begun(): number {
    return this.#messages;
  }

  /** Runs something after the answer to the present message, and before the next message. */
  afterAnswer(act: () => Promise<void>): void {
    this.#after = act;
  }

  /** Whether the present message has changed something. */
  get hasWritten(): boolean {
    return this.#hasWritten;
  }

  /** The next message waits for these pushes, which the present one has caused. */
  follow(pushes: readonly Promise<void>[]): void {
    this.#hasWritten = true;
    if (!this.#ended) this.#caused.push(...pushes);
  }

  /**
   * Holds pushes until it is known whether its user may still get them. If the connection
   * ends before, they are not sent.
   * @param known settles after the promise of an earlier call. If it rejects, the connection ends.
   */
  holdUntil(known: Promise<void>): void {
    const release = () => {
      if (!this.#answering) this.#release();
    };
    this.#doubt
      .until(known, release)
      .catch((error) => this.#around.onFault(this, error));
  }

  /** Whether it is not known what its user may still get. */
  get isDoubted(): boolean {
    return this.#doubt.isOpen;
  }

  /** Forgets the pushes that wait, as after a login that failed. */
  forgetPushes(): void {
    this.#held.clear();
  }

  /** Sends what waited for the answer, unless there is a doubt. */
  #release(): void {
    if (!this.#doubt.isOpen) this.#sendHeld(this.#held.count);
  }

  /**
   * Sends the first of the pushes that wait. If they were made by rights that are over for
   * long, the client connects again instead, and fetches what it may see.
   */
  #sendHeld(count: number): void {
    if (count > 0 && this.#held.isOutdated) this.close(Close.tryAgainLater);
    for (const { piece, frames } of this.#held.take(count)) {
      this.#send(piece, frames);
    }
  }

  /**
   * Sends a push, after the answer to the present message if there is one, and after
   * the end of a doubt.
   * @param given one or more frames. Others may get the same buffer.
   */
  push(given: Buffer, frames = 1): void {
    if (this.#ended) return;
    const piece = this.#inflation ? deflatedPiece(given) : given;
    if (!this.#answering && !this.#doubt.isOpen) {
      this.#send(piece, frames);
      return;
    }
    if (this.#dropIfSlow()) return;
    this.#held.add(piece, frames);
  }

  /** Sends a state of the world, which may be large without a fault of the reader. */
  pushState(piece: Buffer, frames = 1): void {
    this.push(piece, frames);
    this.#stateSize = piece.length;
  }

  /** Sends a push like {@link push}, but before all pushes that wait for the answer. */
  pushFirst(frame: Buffer): void {
    const before = this.#held.count;
    this.push(frame);
    if (this.#held.count > before) this.#held.putLastFirst();
  }

  #send(piece: Buffer, frames = 1): void {
    if (this.#ended || this.#dropIfSlow()) return;
    const isDue = this.#isDue;
    this.#outSize += piece.length;
    this.#outFrames += frames;
    this.#out.push(piece);
    if (!isDue) this.#around.pump.add(this);
  }

  /** Whether the pump will call {@link flush}. */
  get #isDue(): boolean {
    return this.#out.length > 0 || this.#pinged !== undefined;
  }

  /**
   * Drops a client that does not read, so that it costs nobody memory.
   * @returns whether it was dropped.
   */
  #dropIfSlow(): boolean {
    const { maxUnsent } = this.#around.limits;
    const most = maxUnsent + this.#answerSize + this.#stateSize;
    if (this.unsent <= most) return false;
    this.dropAsSlow();
    return true;
  }

  /** Ends it at once, as its client does not read. */
  dropAsSlow(): void {
    this.#around.onSlow(this);
    this.drop();
  }

  /**
   * Writes all frames that are due.
   * @param joiner makes one piece of several; the same for all connections of a pass.
   */
  flush(joiner = new Joiner()): void {
    const pieces = this.#out;
    if (this.#pinged) {
      const pong = pongFrame(this.#pinged);
      this.#pinged = undefined;
      this.#outSize += pong.length;
      this.#outFrames++;
      pieces.push(pong);
    }
    const size = this.#outSize;
    const frames = this.#outFrames;
    this.#out = [];
    this.#outSize = 0;
    this.#outFrames = 0;
    if (pieces.length === 0 || !this.#socket.writable) return;
    this.#around.onSent(frames);
    const piece = pieces.length === 1 ? pieces[0] : joiner.join(pieces, size);
    if (piece) this.#socket.write(piece);
    else {
      this.#socket.cork();
      for (const each of pieces) this.#socket.write(each);
      this.#socket.uncork();
    }
    if (this.#socket.writableLength > 0) this.#around.backlog.add(this);
  }

  /**
   * Sends a last frame, and closes.
   * @param after how many milliseconds later the connection closes. Meanwhile it takes no messages.
   */
  finish(frame: Buffer | undefined, code: number, after = 0): void {
    if (this.#ended) return;
    if (this.#held.isOutdated) this.forgetPushes();
    this.#release();
    if (frame) this.#send(frame);
    this.flush();
    if (this.#ended) return;
    if (after === 0) {
      this.close(code);
      return;
    }
    this.#closing = { at: this.#around.clock.now() + after, code };
    this.#nextLook = this.#closing.at;
    this.#end(code);
  }

  /** Closes by the closing handshake. */
  close(code: number): void {
    this.#closing = undefined;
    this.flush();
    this.#end(code);
    this.#ws.close(code);
  }

  /** Closes when the command that is carried out now, if any, has its answer. */
  closeAfterAnswer(code: number): void {
    if (this.#answering) this.#lastCode = code;
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
    this.#waiting.length = 0;
    this.#waitingSize = 0;
    this.#held.clear();
    this.#caused = [];
    this.#wake();
    // What is left to read is thrown away.
    this.#readIfRoom();
    this.#around.onEnd(this, code);
  }

  readonly #onClose = (code: number): void => {
    this.#end(code);
    this.#around.onClosed(this);
  };

  /**
   * Does what time asks for. One timer calls it for all connections.
   * @param now the time on the clock, in milliseconds.
   * @returns a code if the connection has to fail for a reason that the client should know.
   */
  tick(now: number): "auth.timeout" | "auth.expired_token" | undefined {
    if (now < this.#nextLook) return undefined;
    if (this.#closing && now >= this.#closing.at)
      this.close(this.#closing.code);
    if (this.#ended) return undefined;
    const { authTimeout, pingInterval } = this.#around.limits;
    if (!this.login) {
      // While a login is carried out, or waits for its turn, it is the client that waits.
      const isLate = now - this.#opened >= authTimeout;
      const waits = this.#answering || this.#isInLine;
      if (isLate && !waits) return "auth.timeout";
    } else {
      const { expires = Infinity } = this.login.identity;
      const left = expires * 1000 - this.#around.clock.date();
      if (left <= 0) return "auth.expired_token";
      this.#nextLook = Math.min(
        now + Math.min(LOOKED_AT, left),
        this.#lastPing + pingInterval,
      );
    }
    if (now - this.#lastFrame >= SILENT_INTERVALS * pingInterval) {
      this.close(Close.goingAway);
    } else if (now - this.#lastPing >= pingInterval) {
      this.#lastPing = now;
      this.#send(pingFrame);
    }
    return undefined;
  }
}

function nothing(): void {}

/** The text of a message. Bytes that are no UTF-8 are treated as a binary frame. */
function textOf(bytes: Buffer): string | undefined {
  const text = bytes.toString("utf8");
  return text.includes("\ufffd") && !isUtf8(bytes) ? undefined : text;
}
