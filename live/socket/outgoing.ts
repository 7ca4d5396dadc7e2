import type { Clock } from "../../db/log/clock.js";
import { Close, deflatedAnswer, deflatedPiece } from "./frame.js";
import type { SocketWriter } from "./socket-writer.js";

/** How long an answer waits until the rights of its user are known, in milliseconds. */
const LONGEST_DOUBT = 2000;

/** Whether the user of a connection may still get what is sent to it. */
class Doubt {
  readonly #clock: Clock;
  #known: Promise<void> | undefined;
  #since = Infinity;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get isOpen(): boolean {
    return this.#known !== undefined;
  }

  /** When what it is about may have happened; Infinity without a doubt. */
  get since(): number {
    return this.#since;
  }

  /** Settles when the doubt ends or another one replaces it; undefined if there is none. */
  get known(): Promise<void> | undefined {
    return this.#known;
  }

  /**
   * Doubts until something is known.
   * @param since when what it is about may have happened.
   * @param known settles after the promise of an earlier call.
   * @param onEnd called in the moment when the doubt ends, unless a later call has replaced it.
   * @throws what `known` rejects with: then the doubt stays.
   */
  until(since: number, known: Promise<void>, onEnd: () => void): Promise<void> {
    this.#since = Math.min(this.#since, since);
    this.#known = known;
    return known.then(() => {
      if (this.#known !== known) return;
      this.#known = undefined;
      this.#since = Infinity;
      onEnd();
    });
  }

  /** Waits for the end of the doubt. @returns false if it does not come for some time. */
  async ends(): Promise<boolean> {
    let isLate = false;
    let stop = () => {};
    const late = new Promise<void>((resolve) => {
      stop = this.#clock.after(LONGEST_DOUBT, () => {
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
}

/**
 * For how long pushes and answers may wait that were made before rights were lost, in
 * milliseconds: as long as a change of rights may take to be applied.
 */
const LONGEST = 1000;

/** A piece that waits to be sent. */
interface Held {
  /** One or more frames. */
  readonly piece: Buffer;
  readonly frames: number;
  /** When it was made. */
  readonly at: number;
}

/** Pieces that wait for the answer to the present message of a connection, or for the end of a doubt. */
export class HeldPieces {
  readonly #clock: Clock;
  #pieces: Held[] = [];
  #size = 0;
  /** When its user was last seen to have lost a right, and since when that may have been so. */
  #lostAt = -Infinity;
  #lostSince = Infinity;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get count(): number {
    return this.#pieces.length;
  }

  /** The bytes of all pieces. */
  get size(): number {
    return this.#size;
  }

  add(piece: Buffer, frames: number): void {
    this.#pieces.push({ piece, frames, at: this.#clock.now() });
    this.#size += piece.length;
  }

  /** Lets the last piece leave before all others. */
  putLastFirst(): void {
    this.#pieces.unshift(this.#pieces.pop()!);
  }

  /** Takes out the first pieces. */
  take(count: number): readonly Held[] {
    const taken = this.#pieces.splice(0, count);
    for (const { piece } of taken) this.#size -= piece.length;
    return taken;
  }

  clear(): void {
    this.#pieces = [];
    this.#size = 0;
  }

  /**
   * The user has lost a right.
   * @param since when that may have been, if it was in doubt: what was made since then shows as
   *   much as what was made before.
   */
  noteLoss(since: number): void {
    this.#lostAt = this.#clock.now();
    this.#lostSince = since;
  }

  /** Whether any piece may show something of which its user lost sight long ago. */
  get isOutdated(): boolean {
    return this.#pieces.some(({ at }) => this.isOld(at));
  }

  /** Whether something that was made at some time may show what its user lost sight of long ago. */
  isOld(at: number): boolean {
    const from = Math.min(at, this.#lostSince);
    return at <= this.#lostAt && this.#clock.now() - from > LONGEST;
  }
}

/** The connection that sends. */
interface Owner {
  readonly ended: boolean;
  close(code: number): void;
}

/**
 * The order of answers and pushes of a connection. Pushes wait while a message is carried
 * out, and leave after its answer. They also wait while it is in doubt which rights the user has.
 */
export class Outgoing {
  readonly #writer: SocketWriter;
  readonly #owner: Owner;
  /** Whether the client takes compressed frames. */
  readonly #deflates: boolean;
  readonly #held: HeldPieces;
  readonly doubt: Doubt;
  /** A message is carried out, and pushes wait for its answer. */
  #answering = false;

  constructor(
    clock: Clock,
    writer: SocketWriter,
    owner: Owner,
    held: HeldPieces,
    deflates: boolean,
  ) {
    this.#writer = writer;
    this.#owner = owner;
    this.#held = held;
    this.#deflates = deflates;
    this.doubt = new Doubt(clock);
  }

  /** Whether a message is carried out whose answer comes before all pushes. */
  get answering(): boolean {
    return this.#answering;
  }

  /** Lets pushes wait for the answer to a message. @returns how many wait already. */
  beginAnswer(): number {
    this.#answering = true;
    return this.#held.count;
  }

  /**
   * Sends an answer.
   * @param frame one piece, or its beginning, the part that others share, and its end.
   * @param earlier how many pushes waited already when the message was begun: they leave before.
   */
  answer(frame: readonly Buffer[], earlier: number): void {
    // They waited for the end of a doubt, which came while the message was carried out.
    this.#sendHeld(earlier);
    this.#writer.sendAnswer(this.#deflates ? deflatedAnswer(frame) : frame);
  }

  /** Pushes no longer wait for an answer. */
  endAnswer(): void {
    this.#answering = false;
    this.release();
  }

  /** Whether something that was made at some time may show what the user lost sight of long ago. */
  isOld(at: number): boolean {
    return this.#held.isOld(at);
  }

  /**
   * Sends a push, after the answer to the present message if there is one, and after
   * the end of a doubt.
   * @param given one or more frames. Others may get the same buffer.
   */
  push(given: Buffer, frames: number): void {
    if (this.#owner.ended) return;
    const piece = this.#deflates ? deflatedPiece(given) : given;
    if (!this.#answering && !this.doubt.isOpen) {
      this.#writer.send(piece, frames);
      return;
    }
    if (this.#writer.dropIfSlow()) return;
    this.#held.add(piece, frames);
  }

  /** Sends a push like {@link push}, but before all pushes that wait for the answer. */
  pushFirst(frame: Buffer): void {
    const before = this.#held.count;
    this.push(frame, 1);
    if (this.#held.count > before) this.#held.putLastFirst();
  }

  /**
   * Holds pushes until it is known whether the user may still get them.
   * @param since when the user may have lost a right.
   * @param known settles after the promise of an earlier call.
   * @throws what `known` rejects with: then they wait on.
   */
  holdUntil(since: number, known: Promise<void>): Promise<void> {
    return this.doubt.until(since, known, () => {
      if (!this.#answering) this.release();
    });
  }

  /** Forgets the pushes that wait. */
  forget(): void {
    this.#held.clear();
  }

  /** Sends the pushes that wait, unless there is a doubt. */
  release(): void {
    if (!this.doubt.isOpen) this.#sendHeld(this.#held.count);
  }

  /** Sends a last frame, and what waits before it if its user may still see it. */
  finish(frame: Buffer | undefined): void {
    if (this.#held.isOutdated) this.forget();
    this.release();
    if (frame) this.#writer.send(frame);
    this.#writer.flush();
  }

  /**
   * Sends the first of the pushes that wait. If they were made by rights that are over for
   * long, the client connects again instead, and fetches what it may see.
   */
  #sendHeld(count: number): void {
    if (count > 0 && this.#held.isOutdated)
      this.#owner.close(Close.tryAgainLater);
    for (const { piece, frames } of this.#held.take(count)) {
      this.#writer.send(piece, frames);
    }
  }
}
