import type { Clock } from "../../db/log/clock.js";
import type { Login } from "./login-state.js";

/**
 * How often a connection that is logged in is looked at, in milliseconds. With
 * thousands of them that is most of what an idle server does.
 */
const LOOKED_AT = 1000;

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
  #nextLook = 0;

  constructor(ports: HeartbeatPorts) {
    this.#ports = ports;
    this.#opened = ports.clock.now();
    this.#lastPing = this.#opened;
  }

  /**
   * Whether to look at the connection.
   * @param now the time on the clock, in milliseconds.
   */
  isDue(now: number): boolean {
    return now >= this.#nextLook;
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
    if (!login) {
      // While a login is carried out, or waits for its turn, it is the client that waits.
      if (now - this.#opened >= authTimeout && !isAtWork) return "auth.timeout";
    } else {
      const { expires = Infinity } = login.identity;
      const left = expires * 1000 - clock.date();
      if (left <= 0) return "auth.expired_token";
      const nextPing = this.#lastPing + pingInterval;
      this.#nextLook = Math.min(now + Math.min(LOOKED_AT, left), nextPing);
    }
    if (now - lastFrame >= SILENT_INTERVALS * pingInterval) return "silent";
    if (now - this.#lastPing < pingInterval) return undefined;
    this.#lastPing = now;
    return "ping";
  }
}
