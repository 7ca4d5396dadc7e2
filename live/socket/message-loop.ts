import type { Clock } from "../../db/log/clock.js";
import { Close } from "./frame.js";
import type { Incoming } from "./incoming.js";
import type { Outgoing } from "./outgoing.js";
import { Pace, type Turns } from "./pace.js";
import type { SocketWriter } from "./socket-writer.js";

/** How long a message waits for pushes that those before it have caused, in milliseconds. */
const LONGEST_WAIT = 250;

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
export class MessageLoop {
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
      const stop = this.#ports.clock.after(LONGEST_WAIT, resolve);
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
