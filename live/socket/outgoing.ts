import type { Socket } from "node:net";
import type { Clock } from "../../db/runtime.js";
import { leftOf } from "../../plugins/http/connections.js";
import { Close, deflatedAnswer, deflatedPiece, Joiner, pongFrame } from "./frame.js";

/** How long an answer waits until the rights of its user are known, in milliseconds. */
const RIGHTS_TIMEOUT_MS = 2000;

/**
 * For how long pushes and answers may wait that were made before rights were lost, in
 * milliseconds: as long as a change of rights may take to be applied.
 */
const RIGHTS_LAG_MS = 1000;

/** A piece that waits to be sent. */
interface Held {
  /** One or more frames. */
  readonly piece: Buffer;
  readonly frames: number;
  /** When it was made. */
  readonly at: number;
}

/** The connection that sends. */
interface Owner {
  readonly ended: boolean;
  readonly writer: SocketWriter;
  close(code: number): void;
}

/**
 * The order of answers and pushes of a connection. Pushes wait while a message is carried
 * out, and leave after its answer. They also wait while it is in doubt which rights the user has.
 */
export class Outgoing {
  readonly #clock: Clock;
  readonly #owner: Owner;
  /** Whether the client takes compressed frames. */
  readonly #deflates: boolean;
  /** What waits for the answer to the present message, or for the end of a doubt. */
  #held: Held[] = [];
  #heldSize = 0;
  /** A message is carried out, and pushes wait for its answer. */
  #answering = false;
  /** Settles when the doubt ends or another one replaces it. */
  #known: Promise<void> | undefined;
  /** Since when the user may have lost a right; Infinity without a doubt. */
  #doubtedSince = Infinity;
  /** When its user was last seen to have lost a right, and since when that may have been so. */
  #lostAt = -Infinity;
  #lostSince = Infinity;

  constructor(clock: Clock, owner: Owner, deflates: boolean) {
    this.#clock = clock;
    this.#owner = owner;
    this.#deflates = deflates;
  }

  /** The bytes of all that waits. */
  get heldSize(): number {
    return this.#heldSize;
  }

  /** Whether a message is carried out whose answer comes before all pushes. */
  get answering(): boolean {
    return this.#answering;
  }

  /** Whether it is not known what the user may still get. */
  get isDoubted(): boolean {
    return this.#known !== undefined;
  }

  /** Settles when the doubt ends or another one replaces it; undefined if there is none. */
  get known(): Promise<void> | undefined {
    return this.#known;
  }

  /** Lets pushes wait for the answer to a message. @returns how many wait already. */
  beginAnswer(): number {
    this.#answering = true;
    return this.#held.length;
  }

  /**
   * Sends an answer.
   * @param frame one piece, or its beginning, the part that others share, and its end.
   * @param earlier how many pushes waited already when the message was begun: they leave before.
   */
  answer(frame: readonly Buffer[], earlier: number): void {
    // They waited for the end of a doubt, which came while the message was carried out.
    this.#sendHeld(earlier);
    this.#owner.writer.sendAnswer(this.#deflates ? deflatedAnswer(frame) : frame);
  }

  /** Pushes no longer wait for an answer. */
  endAnswer(): void {
    this.#answering = false;
    this.#release();
  }

  /**
   * Sends a push, after the answer to the present message if there is one, and after
   * the end of a doubt.
   * @param given one or more frames. Others may get the same buffer.
   * @param isFirst whether it leaves before all others that wait.
   */
  push(given: Buffer, frames: number, isFirst = false): void {
    const { ended, writer } = this.#owner;
    if (ended) return;
    const piece = this.#deflates ? deflatedPiece(given) : given;
    if (!this.#answering && !this.isDoubted) {
      writer.send(piece, frames);
      return;
    }
    if (writer.dropIfSlow()) return;
    const held = { piece, frames, at: this.#clock.now() };
    if (isFirst) this.#held.unshift(held);
    else this.#held.push(held);
    this.#heldSize += piece.length;
  }

  /**
   * Holds pushes until it is known whether the user may still get them.
   * @param since when the user may have lost a right.
   * @param known settles after the promise of an earlier call.
   * @throws what `known` rejects with: then they wait on.
   */
  async holdUntil(since: number, known: Promise<void>): Promise<void> {
    this.#doubtedSince = Math.min(this.#doubtedSince, since);
    this.#known = known;
    await known;
    if (this.#known !== known) return;
    this.#known = undefined;
    this.#doubtedSince = Infinity;
    if (!this.#answering) this.#release();
  }

  /** Waits for the end of the doubt. @returns false if it does not come for some time. */
  async isSure(): Promise<boolean> {
    let isLate = false;
    let stop = () => {};
    const late = new Promise<void>((resolve) => {
      stop = this.#clock.after(RIGHTS_TIMEOUT_MS, () => {
        isLate = true;
        resolve();
      });
    });
    // Another doubt may have replaced the one that ended.
    while (this.#known && !isLate) {
      await Promise.race([this.#known.catch(() => {}), late]);
    }
    stop();
    return !isLate;
  }

  /**
   * The user has lost a right. What was made since a doubt began shows as much as what was made
   * before.
   * @param since when that may have been, if it is known.
   */
  noteLoss(since: number): void {
    this.#lostAt = this.#clock.now();
    this.#lostSince = Math.min(since, this.#doubtedSince);
  }

  /** Whether something that was made at some time may show what the user lost sight of long ago. */
  isOld(at: number): boolean {
    const from = Math.min(at, this.#lostSince);
    return at <= this.#lostAt && this.#clock.now() - from > RIGHTS_LAG_MS;
  }

  /** Forgets the pushes that wait. */
  forget(): void {
    this.#held = [];
    this.#heldSize = 0;
  }

  /** Sends a last frame, and what waits before it if its user may still see it. */
  finish(frame: Buffer | undefined): void {
    if (this.#isOutdated) this.forget();
    this.#release();
    const { writer } = this.#owner;
    if (frame) writer.send(frame);
    writer.flush();
  }

  /** Whether anything that waits may show something of which its user lost sight long ago. */
  get #isOutdated(): boolean {
    return this.#held.some(({ at }) => this.isOld(at));
  }

  /** Sends the pushes that wait, unless there is a doubt. */
  #release(): void {
    if (!this.isDoubted) this.#sendHeld(this.#held.length);
  }

  /**
   * Sends the first of the pushes that wait. If they were made by rights that are over for
   * long, the client connects again instead, and fetches what it may see.
   */
  #sendHeld(count: number): void {
    if (count > 0 && this.#isOutdated) this.#owner.close(Close.tryAgainLater);
    for (const { piece, frames } of this.#held.splice(0, count)) {
      this.#heldSize -= piece.length;
      this.#owner.writer.send(piece, frames);
    }
  }
}

interface WriterPorts {
  /** Calls {@link SocketWriter.flush} of each writer that it was given. */
  readonly flushQueue: { add(writer: SocketWriter): void };
  readonly limits: { readonly maxUnsent: number };
  readonly metrics: { sent(frames: number): void } | undefined;
}

/** The connection that has the socket. */
interface Owner {
  readonly ended: boolean;
  /** What it holds counts as unsent. */
  readonly outgoing: { readonly heldSize: number };
  /** The system has not taken a whole write. */
  watchBacklog(): void;
  /** Ends at once, as its client does not read. */
  dropAsSlow(): void;
}

/**
 * Writes frames to a socket: all that become due within one turn of the event loop in
 * one write. It ends the connection of a client that does not read.
 */
export class SocketWriter {
  readonly #socket: Socket;
  readonly #ports: WriterPorts;
  readonly #owner: Owner;
  /** Pieces to be written at the end of this turn of the event loop, of one or more frames. */
  #out: Buffer[] = [];
  #outSize = 0;
  #outFrames = 0;
  /** The content of a ping that has no answer yet. */
  #pinged: Buffer | undefined;
  /** The size of the last answer. It was asked for, so it is no sign of a slow reader. */
  #answerSize = 0;
  /** The size of the answers since the client had taken all, without shared pushes. */
  #answersKept = 0;
  /** The size of the last state of the world. The next one waits until it is read. */
  #stateSize = 0;

  constructor(socket: Socket, ports: WriterPorts, owner: Owner) {
    this.#socket = socket;
    this.#ports = ports;
    this.#owner = owner;
  }

  /** How many bytes wait until the client reads. */
  get unsent(): number {
    return this.#socket.writableLength + this.#outSize + this.#owner.outgoing.heldSize;
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
    return leftOf(this.#socket);
  }

  /** Writes a piece in the next flush. */
  send(piece: Buffer, frames = 1): void {
    if (this.#owner.ended || this.dropIfSlow()) return;
    const isDue = this.#isDue;
    this.#outSize += piece.length;
    this.#outFrames += frames;
    this.#out.push(piece);
    if (!isDue) this.#ports.flushQueue.add(this);
  }

  /**
   * Sends an answer.
   * @param pieces of one frame; others share the second.
   */
  sendAnswer(pieces: readonly Buffer[]): void {
    this.#answerSize = 0;
    for (const { length } of pieces) this.#answerSize += length;
    if (this.unsent === 0) this.#answersKept = 0;
    this.#answersKept += this.#answerSize - (pieces[1]?.length ?? 0);
    pieces.forEach((piece, i) => this.send(piece, i === 0 ? 1 : 0));
  }

  /** The piece that was sent last is a state of the world. Its size is no sign of a slow reader. */
  noteState(size: number): void {
    this.#stateSize = size;
  }

  /** Answers the last of several pings, as RFC 6455, section 5.5.3, allows. */
  pong(content: Buffer): void {
    if (this.dropIfSlow()) return;
    const isDue = this.#isDue;
    this.#pinged = content;
    if (!isDue) this.#ports.flushQueue.add(this);
  }

  /** Whether the flush queue will call {@link flush}. */
  get #isDue(): boolean {
    return this.#out.length > 0 || this.#pinged !== undefined;
  }

  /**
   * Ends the connection of a client that does not read, so that it takes no memory from
   * others.
   * @returns whether it has.
   */
  dropIfSlow(): boolean {
    const most = this.#ports.limits.maxUnsent + this.#answerSize + this.#stateSize;
    if (this.unsent <= most) return false;
    this.#owner.dropAsSlow();
    return true;
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
    this.#ports.metrics?.sent(frames);
    const piece = pieces.length === 1 ? pieces[0] : joiner.join(pieces, size);
    if (piece) this.#socket.write(piece);
    else {
      this.#socket.cork();
      for (const each of pieces) this.#socket.write(each);
      this.#socket.uncork();
    }
    if (this.#socket.writableLength > 0) this.#owner.watchBacklog();
  }

  /** Whether the socket asks to wait until it has written. */
  get needsDrain(): boolean {
    return this.#socket.writableNeedDrain;
  }

  /** Calls a function when the socket has written all. */
  onceDrained(act: () => void): void {
    this.#socket.once("drain", act);
  }
}

/** How many sockets are written to before other work gets its turn. */
const SOCKETS_PER_SLICE = 500;

/** How long that may take, in milliseconds: the frames of a socket may be large. */
const MAX_SLICE_MS = 5;

/** The writer of one connection. */
interface Due {
  flush(joiner: Joiner): void;
}

/** Gets how many seconds the first frame of a pass waited until all were written. */
interface PassMetrics {
  delivered(seconds: number): void;
}

/** After how many sockets the clock is read. */
const SOCKETS_PER_CLOCK_READ = 32;

/**
 * Writes due frames to connections. All frames that become due to a socket within one
 * turn of the event loop are one write, because a write costs more than all other work.
 * After each slice of sockets the event loop goes on, so that requests are served while
 * an event goes to thousands.
 */
export class FlushQueue {
  #due: Due[] = [];
  #next = 0;
  #since = 0;
  /** How many connections were taken, and how many of them were written to. */
  #added = 0;
  #written = 0;
  /** The callers that wait until so many sockets were written to, in order. */
  readonly #waiting: { count: number; resolve: () => void }[] = [];
  readonly #joiner = new Joiner();
  readonly #clock: Clock;
  readonly #metrics: PassMetrics | undefined;

  constructor(clock: Clock, metrics?: PassMetrics) {
    this.#clock = clock;
    this.#metrics = metrics;
  }

  /** How many connections wait to be written to. */
  get waiting(): number {
    return this.#due.length - this.#next;
  }

  /** Takes the writer of a connection that has got its first frame. */
  add(writer: Due): void {
    this.#added++;
    if (this.#due.push(writer) > 1) return;
    this.#since = this.#clock.now();
    this.#clock.soon(this.#run);
  }

  /** Resolves when everything that is due now is written. */
  async drained(): Promise<void> {
    const count = this.#added;
    if (this.#written === count) return;
    await new Promise<void>((resolve) => this.#waiting.push({ count, resolve }));
  }

  readonly #run = (): void => {
    this.#writeSlice();
    while (this.#waiting[0] && this.#waiting[0].count <= this.#written) {
      this.#waiting.shift()!.resolve();
    }
    if (this.#next < this.#due.length) {
      this.#clock.soon(this.#run);
      return;
    }
    this.#metrics?.delivered((this.#clock.now() - this.#since) / 1000);
    this.#joiner.forget();
    this.#due = [];
    this.#next = 0;
  };

  #writeSlice(): void {
    const end = Math.min(this.#next + SOCKETS_PER_SLICE, this.#due.length);
    const latest = this.#clock.now() + MAX_SLICE_MS;
    while (this.#next < end) {
      this.#due[this.#next++]!.flush(this.#joiner);
      this.#written++;
      const looks = this.#next % SOCKETS_PER_CLOCK_READ === 0;
      if (looks && this.#clock.now() >= latest) return;
    }
  }
}
