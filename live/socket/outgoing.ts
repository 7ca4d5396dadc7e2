import type { Clock } from "../../db/log/clock.js";
import { Close, deflatedAnswer, deflatedPiece } from "./frame.js";
import type { SocketWriter } from "./socket-writer.js";

/** How long an answer waits until the rights of its user are known, in milliseconds. */
const LONGEST_DOUBT = 2000;

/**
 * For how long pushes and answers may wait that were made before rights were lost, in
 * milliseconds: as long as a change of rights may take to be applied.
 */
const LONGEST_LOSS = 1000;

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
    return at <= this.#lostAt && this.#clock.now() - from > LONGEST_LOSS;
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
