import type { Clock } from "../../db/runtime.js";
import type { Login } from "./login-state.js";

/** A connection is closed after this many ping intervals without a frame. */
const SILENT_INTERVALS = 2.4;

interface HeartbeatPorts {
  readonly clock: Clock;
  readonly limits: {
    /** Timeout for logging in. This timeout and `pingInterval` are in milliseconds. */
    readonly authTimeout: number;
    readonly pingInterval: number;
  };
}

/** Interval of the checks for timeouts, expiries and pings, in milliseconds. */
export const TICK = 250;

/**
 * Schedules the checks of connections. On a server with many idle people, most of the work would
 * otherwise be the iteration over all connections in every tick.
 */
export class Agenda<T> {
  /** The items to check, by tick number. */
  readonly #due = new Map<number, T[]>();

  /** @param at the time of the check on the clock, in milliseconds. */
  add(item: T, at: number): void {
    const tick = Math.ceil(at / TICK);
    const others = this.#due.get(tick);
    if (others) others.push(item);
    else this.#due.set(tick, [item]);
  }

  /** Removes and returns the items that are due. */
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

/** The parts of a connection's state that determine its timeouts. */
interface Beating {
  readonly login: Login | undefined;
  /** When the last frame from the client arrived. */
  readonly lastFrame: number;
  /** Whether a message is being handled or is waiting for its turn. */
  readonly isAtWork: boolean;
}

/** Decides when a connection times out, expires or needs a ping. Intervals are measured on a monotonic clock. */
export class Heartbeat {
  readonly #ports: HeartbeatPorts;
  readonly #opened: number;
  #lastPing: number;
  /** The earliest time at which something may be due. */
  #nextCheck: number;

  constructor(ports: HeartbeatPorts) {
    this.#ports = ports;
    this.#opened = ports.clock.now();
    this.#lastPing = this.#opened;
    this.#nextCheck = this.#opened;
  }

  /** The time of the next check on the clock, in milliseconds. */
  get nextLook(): number {
    return this.#nextCheck;
  }

  /**
   * Schedules the next check.
   * @param time on the clock, in milliseconds.
   */
  checkAt(time: number): void {
    this.#nextCheck = time;
  }

  /**
   * @returns an error code if the connection has to end, "silent" if the client has sent nothing
   * for too long, "ping" if a ping is due, or undefined.
   */
  look(
    now: number,
    { login, lastFrame, isAtWork }: Beating,
  ): "auth.timeout" | "auth.expired_token" | "silent" | "ping" | undefined {
    const { clock, limits } = this.#ports;
    const { authTimeout, pingInterval } = limits;
    const silentAt = lastFrame + SILENT_INTERVALS * pingInterval;
    if (!login) {
      this.#nextCheck = now + TICK;
      // While a login is being handled or is waiting for its turn, the client is not responsible
      // for the delay.
      if (now - this.#opened >= authTimeout && !isAtWork) return "auth.timeout";
    } else {
      const { expires = Infinity } = login.identity;
      const left = expires * 1000 - clock.date();
      if (left <= 0) return "auth.expired_token";
      const nextPing = this.#lastPing + pingInterval;
      this.#nextCheck = Math.min(now + left, nextPing, silentAt);
    }
    if (now >= silentAt) return "silent";
    if (now - this.#lastPing < pingInterval) return undefined;
    this.#lastPing = now;
    return "ping";
  }
}
