import type { PublicUser, Pushes } from "../../schemas/live/index.js";
import type { LiveError } from "./error.js";
import type { LiveState } from "./state.js";

/** The client's own events. */
export interface ClientEvents {
  /** The user's view changed; `live.state` already has this value. */
  "client.state": LiveState;
  /** There is no connection; in `retryIn` milliseconds the client tries again. */
  "client.disconnected": { error: LiveError; retryIn: number };
  /** After a reconnection, a room was entered again. */
  "client.room_restored": { room: string; viewers?: PublicUser[] };
  /** After a reconnection, a room could not be entered again. */
  "client.room_lost": { room: string; error: LiveError };
  /** The client ended and stays away: it was closed, or the server turned it away. */
  "client.closed": LiveError;
}

/** All that can be listened to: the pushes of the server, and the client's own events. */
export type LiveEvents = Pushes & ClientEvents;

/** The name of an event; also of one that these types do not know. */
export type EventName = keyof LiveEvents | (string & {});

/** Takes the data of an event; it may return a promise. */
export type Listener<N extends EventName> = (
  data: N extends keyof LiveEvents ? LiveEvents[N] : unknown,
) => unknown;

/** The listeners, by event. */
export class Listeners {
  readonly #byName = new Map<string, Set<(data: unknown) => unknown>>();
  readonly #report: (error: unknown) => void;

  /** @param report takes the errors of listeners. */
  constructor(report: (error: unknown) => void) {
    this.#report = report;
  }

  /** @returns ends it. */
  add(name: string, listener: (data: unknown) => unknown): () => void {
    // Of its own, so that a function that is added twice is removed once.
    const own = (data: unknown) => listener(data);
    const all = this.#byName.get(name) ?? new Set();
    this.#byName.set(name, all.add(own));
    return () => {
      all.delete(own);
      if (all.size === 0 && this.#byName.get(name) === all) {
        this.#byName.delete(name);
      }
    };
  }

  /** Calls all listeners in their order. None of them can stop the others. */
  emit(name: string, data: unknown): void {
    for (const listener of [...(this.#byName.get(name) ?? [])]) {
      try {
        const outcome = listener(data);
        if (outcome instanceof Promise) outcome.catch(this.#report);
      } catch (error) {
        this.#report(error);
      }
    }
  }
}
