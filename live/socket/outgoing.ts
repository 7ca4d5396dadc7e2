import type { Socket } from "node:net";
import type { Clock } from "../../db/runtime.js";
import { leftOf } from "../../plugins/http/connections.js";
import { Close, deflatedAnswer, deflatedPiece, Joiner, pongFrame } from "./frame.js";

/** Maximum time that a response waits until the user's rights are certain, in milliseconds. */
const RIGHTS_TIMEOUT_MS = 2000;

/**
 * Maximum age of pushes and responses that were created before a loss of rights, in milliseconds:
 * the time within which a change to rights must be applied.
 */
const RIGHTS_LAG_MS = 1000;

/** A piece waiting to be sent. */
interface Held {
  /** One or more frames. */
  readonly piece: Buffer;
  readonly frames: number;
  /** When the piece was created. */
  readonly at: number;
}

/** The connection that sends. */
interface Owner {
  readonly ended: boolean;
  readonly writer: SocketWriter;
  close(code: number): void;
}

/**
 * Orders a connection's responses and pushes. Pushes wait while a message is being handled, and are
 * sent after the response. Pushes also wait while the user's rights are in doubt.
 */
export class Outgoing {
  readonly #clock: Clock;
  readonly #owner: Owner;
  /** Whether the client accepts compressed frames. */
  readonly #deflates: boolean;
  /** Pushes waiting for the response to the current message, or for the user's rights to become certain. */
  #held: Held[] = [];
  #heldSize = 0;
  /** Whether a message is being handled, so that pushes wait for the response. */
  #answering = false;
  /** Settles once the doubt ends or is replaced by another doubt. */
  #known: Promise<void> | undefined;
  /** The earliest time at which the user may have lost a right; Infinity if there is no doubt. */
  #doubtedSince = Infinity;
  /** When a loss of rights was last noticed, and the earliest time at which the loss may have occurred. */
  #lostAt = -Infinity;
  #lostSince = Infinity;

  constructor(clock: Clock, owner: Owner, deflates: boolean) {
    this.#clock = clock;
    this.#owner = owner;
    this.#deflates = deflates;
  }

  /** Total size of the waiting pushes, in bytes. */
  get heldSize(): number {
    return this.#heldSize;
  }

  /** Whether a message is being handled, so that pushes wait for the response. */
  get answering(): boolean {
    return this.#answering;
  }

  /** Whether it is currently unknown what the user may still receive. */
  get isDoubted(): boolean {
    return this.#known !== undefined;
  }

  /** Settles once the doubt ends or is replaced by another doubt; undefined if there is no doubt. */
  get known(): Promise<void> | undefined {
    return this.#known;
  }

  /**
   * Makes pushes wait for the response to a message.
   * @returns the number of pushes that are already waiting.
   */
  beginAnswer(): number {
    this.#answering = true;
    return this.#held.length;
  }

  /**
   * Sends a response.
   * @param frame one piece, or three pieces: the beginning of the frame, the part shared with other
   * connections, and the end.
   * @param earlier number of pushes that were already waiting when the handling of the message
   * began. These pushes are sent first.
   */
  answer(frame: readonly Buffer[], earlier: number): void {
    // These pushes waited until the user's rights were certain, which happened while the message
    // was being handled.
    this.#sendHeld(earlier);
    this.#owner.writer.sendAnswer(this.#deflates ? deflatedAnswer(frame) : frame);
  }

  /** Stops making pushes wait for a response. */
  endAnswer(): void {
    this.#answering = false;
    this.#release();
  }

  /**
   * Sends a push, after the response to the current message if there is one, and once the user's
   * rights are certain.
   * @param given one or more frames. Other connections may share the buffer.
   * @param isFirst whether to send the push before all other waiting pushes.
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
   * Holds pushes until it is known whether the user may still receive them.
   * @param since the earliest time at which the user may have lost a right.
   * @param known settles after the promises of all earlier calls.
   * @throws if `known` rejects; pushes then stay held.
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

  /**
   * Waits until the user's rights are certain.
   * @returns whether the doubt ended before the timeout.
   */
  async isSure(): Promise<boolean> {
    let isLate = false;
    let stop = () => {};
    const late = new Promise<void>((resolve) => {
      stop = this.#clock.after(RIGHTS_TIMEOUT_MS, () => {
        isLate = true;
        resolve();
      });
    });
    // Another doubt may have replaced the doubt that ended.
    while (this.#known && !isLate) {
      await Promise.race([this.#known.catch(() => {}), late]);
    }
    stop();
    return !isLate;
  }

  /**
   * Records that the user has lost a right. Anything created since the doubt began may reveal as
   * much as anything created before the doubt.
   * @param since the earliest time at which the right may have been lost; Infinity if unknown.
   */
  noteLoss(since: number): void {
    this.#lostAt = this.#clock.now();
    this.#lostSince = Math.min(since, this.#doubtedSince);
  }

  /**
   * Whether a push or response created at a given time is too old to be sent, because it may rely
   * on rights that the user has lost since.
   */
  isOld(at: number): boolean {
    const from = Math.min(at, this.#lostSince);
    return at <= this.#lostAt && this.#clock.now() - from > RIGHTS_LAG_MS;
  }

  /** Drops the waiting pushes. */
  forget(): void {
    this.#held = [];
    this.#heldSize = 0;
  }

  /** Sends a last frame, preceded by the waiting pushes if the user may still see them. */
  finish(frame: Buffer | undefined): void {
    if (this.#isOutdated) this.forget();
    this.#release();
    const { writer } = this.#owner;
    if (frame) writer.send(frame);
    writer.flush();
  }

  /** Whether any waiting push is too old to be sent, because it may rely on rights that the user has lost. */
  get #isOutdated(): boolean {
    return this.#held.some(({ at }) => this.isOld(at));
  }

  /** Sends the waiting pushes, unless there is a doubt. */
  #release(): void {
    if (!this.isDoubted) this.#sendHeld(this.#held.length);
  }

  /**
   * Sends the first waiting pushes. If any waiting push is too old to be sent, closes the
   * connection instead: the client reconnects, and fetches what its user may see.
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
  /** Calls {@link SocketWriter.flush} on each added writer. */
  readonly flushQueue: { add(writer: SocketWriter): void };
  readonly limits: { readonly maxUnsent: number };
  readonly metrics: { sent(frames: number): void } | undefined;
}

/** The connection that owns the socket. */
interface Owner {
  readonly ended: boolean;
  /** Held pushes count as unsent. */
  readonly outgoing: { readonly heldSize: number };
  /** Called when the system has not accepted a whole write. */
  watchBacklog(): void;
  /** Ends the connection immediately, because its client does not read the sent data. */
  dropAsSlow(): void;
}

/**
 * Writes frames to a socket. All frames that become due within one turn of the event loop are sent
 * in a single write. Ends the connection of a client that does not read the sent data.
 */
export class SocketWriter {
  readonly #socket: Socket;
  readonly #ports: WriterPorts;
  readonly #owner: Owner;
  /** Pieces of one or more frames, to be written at the end of this turn of the event loop. */
  #out: Buffer[] = [];
  #outSize = 0;
  #outFrames = 0;
  /** The payload of a ping to which no pong has been sent yet. */
  #pinged: Buffer | undefined;
  /**
   * Size of the last response. The client requested the response, so a large response does not
   * indicate a slow reader.
   */
  #answerSize = 0;
  /** Total size of the responses since the client last had no unread data, without their shared parts. */
  #answersKept = 0;
  /** Size of the last world state. The next state waits until the client has caught up. */
  #stateSize = 0;

  constructor(socket: Socket, ports: WriterPorts, owner: Owner) {
    this.#socket = socket;
    this.#ports = ports;
    this.#owner = owner;
  }

  /** Number of bytes that the client has not read yet. */
  get unsent(): number {
    return this.#socket.writableLength + this.#outSize + this.#owner.outgoing.heldSize;
  }

  /**
   * Upper bound on the number of unread bytes that are not shared. A push is one buffer for all
   * connections that receive it.
   */
  get kept(): number {
    return Math.min(this.unsent, this.#answersKept);
  }

  /**
   * Amount of data in the current write that the system has yet to send; 0 if nothing is waiting,
   * and NaN if unknown.
   */
  get left(): number {
    return leftOf(this.#socket);
  }

  /** Queues a piece for the next flush. */
  send(piece: Buffer, frames = 1): void {
    if (this.#owner.ended || this.dropIfSlow()) return;
    const isDue = this.#isDue;
    this.#outSize += piece.length;
    this.#outFrames += frames;
    this.#out.push(piece);
    if (!isDue) this.#ports.flushQueue.add(this);
  }

  /**
   * Sends a response.
   * @param pieces the pieces of one frame; the second piece is shared with other connections.
   */
  sendAnswer(pieces: readonly Buffer[]): void {
    this.#answerSize = 0;
    for (const { length } of pieces) this.#answerSize += length;
    if (this.unsent === 0) this.#answersKept = 0;
    this.#answersKept += this.#answerSize - (pieces[1]?.length ?? 0);
    pieces.forEach((piece, i) => this.send(piece, i === 0 ? 1 : 0));
  }

  /** Records that the last piece sent is a world state, whose size does not indicate a slow reader. */
  noteState(size: number): void {
    this.#stateSize = size;
  }

  /**
   * Queues a pong. If several pings are waiting, only the last ping receives a pong, as RFC 6455,
   * section 5.5.3, allows.
   */
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
   * Ends the connection of a client that does not read the sent data, so that unread data does not
   * use up memory.
   * @returns whether the client was too slow.
   */
  dropIfSlow(): boolean {
    const most = this.#ports.limits.maxUnsent + this.#answerSize + this.#stateSize;
    if (this.unsent <= most) return false;
    this.#owner.dropAsSlow();
    return true;
  }

  /**
   * Writes all due frames.
   * @param joiner joins several pieces into one; shared by all connections in a pass.
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

  /** Whether the socket's buffer is full, so that writers should wait until it has drained. */
  get needsDrain(): boolean {
    return this.#socket.writableNeedDrain;
  }

  /** Calls a function once the socket has drained. */
  onceDrained(act: () => void): void {
    this.#socket.once("drain", act);
  }
}

/** Number of sockets written to before yielding to other work. */
const SOCKETS_PER_SLICE = 500;

/** Maximum duration of a slice, in milliseconds: the frames for a socket may be large. */
const MAX_SLICE_MS = 5;

/** The writer of one connection. */
interface Due {
  flush(joiner: Joiner): void;
}

/** Receives the duration of each pass, from its first due frame to its last write. */
interface PassMetrics {
  delivered(seconds: number): void;
}

/** Number of sockets between two reads of the clock. */
const SOCKETS_PER_CLOCK_READ = 32;

/**
 * Writes due frames to connections. All frames that become due for a socket within one turn of the
 * event loop are sent in one write, because a write costs more than all other work. Yields to the
 * event loop after each slice of sockets, so that requests are served while an event is sent to
 * thousands of sockets.
 */
export class FlushQueue {
  #due: Due[] = [];
  #next = 0;
  #since = 0;
  /** Number of connections added so far, and number of connections written to so far. */
  #added = 0;
  #written = 0;
  /** Callers waiting until `count` connections have been written to, in ascending order of `count`. */
  readonly #waiting: { count: number; resolve: () => void }[] = [];
  readonly #joiner = new Joiner();
  readonly #clock: Clock;
  readonly #metrics: PassMetrics | undefined;

  constructor(clock: Clock, metrics?: PassMetrics) {
    this.#clock = clock;
    this.#metrics = metrics;
  }

  /** Number of connections waiting to be written to. */
  get waiting(): number {
    return this.#due.length - this.#next;
  }

  /** Adds the writer of a connection that has its first due frame. */
  add(writer: Due): void {
    this.#added++;
    if (this.#due.push(writer) > 1) return;
    this.#since = this.#clock.now();
    this.#clock.soon(this.#run);
  }

  /** Resolves once everything that is due now has been written. */
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
