import type { Clock } from "../../db/runtime.js";
import type { Login } from "./login-state.js";

/** A connection is closed after this many ping intervals without a frame. */
const SILENT_INTERVALS = 2.4;

interface HeartbeatPorts {
  readonly clock: Clock;
  readonly limits: {
    /** In milliseconds. */
    readonly authTimeout: number;
    readonly pingInterval: number;
  };
}

/** How often timeouts, expiries and pings are looked for, in milliseconds. */
export const TICK = 250;

/**
 * Who is looked at, and when. A walk over all connections in each tick would be most of what
 * a server with many idle people does.
 */
export class Agenda<T> {
  /** By the number of the tick. */
  readonly #due = new Map<number, T[]>();

  /** @param at a time on the clock, in milliseconds. */
  add(item: T, at: number): void {
    const tick = Math.ceil(at / TICK);
    const others = this.#due.get(tick);
    if (others) others.push(item);
    else this.#due.set(tick, [item]);
  }

  /** Takes out what is due at a time. */
  take(now: number): T[] {
    const due: T[] = [];
    for (const [tick, items] of this.#due) {
      if (tick * TICK > now) continue;
      this.#due.delete(tick);
      for (const item of items) due.push(item);
    }
    return due;
  }
}

/** The state of a connection that time concerns. */
interface Beating {
  readonly login: Login | undefined;
  /** When its last frame came. */
  readonly lastFrame: number;
  /** Whether a message is carried out, or waits for its turn. */
  readonly isAtWork: boolean;
}

/** Says what time asks of a connection. Intervals count on a clock that nothing sets. */
export class Heartbeat {
  readonly #ports: HeartbeatPorts;
  readonly #opened: number;
  #lastPing: number;
  /** When time may ask for something. */
  #nextLook: number;

  constructor(ports: HeartbeatPorts) {
    this.#ports = ports;
    this.#opened = ports.clock.now();
    this.#lastPing = this.#opened;
    this.#nextLook = this.#opened;
  }

  /** When to look next, on the clock, in milliseconds. */
  get nextLook(): number {
    return this.#nextLook;
  }

  /** The next look is at this time. */
  lookAt(time: number): void {
    this.#nextLook = time;
  }

  /** @returns why the connection has to end; or "silent", "ping" or nothing. */
  look(
    now: number,
    { login, lastFrame, isAtWork }: Beating,
  ): "auth.timeout" | "auth.expired_token" | "silent" | "ping" | undefined {
    const { clock, limits } = this.#ports;
    const { authTimeout, pingInterval } = limits;
    const silentAt = lastFrame + SILENT_INTERVALS * pingInterval;
    if (!login) {
      this.#nextLook = now + TICK;
      // While a login is carried out, or waits for its turn, it is the client that waits.
      if (now - this.#opened >= authTimeout && !isAtWork) return "auth.timeout";
    } else {
      const { expires = Infinity } = login.identity;
      const left = expires * 1000 - clock.date();
      if (left <= 0) return "auth.expired_token";
      const nextPing = this.#lastPing + pingInterval;
      this.#nextLook = Math.min(now + left, nextPing, silentAt);
    }
    if (now >= silentAt) return "silent";
    if (now - this.#lastPing < pingInterval) return undefined;
    this.#lastPing = now;
    return "ping";
  }
}
