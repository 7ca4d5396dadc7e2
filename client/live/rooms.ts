import type { LiveError } from "./client.js";
import type { Connection } from "./connection.js";

/** A hold on a room by the application that embeds the client. */
class Visit {}

const PROGRAM = new Visit();

/** The application's attempt to enter a room. */
interface Entering {
  /** Call when the server has admitted the application. */
  entered(): void;
  /** Call when the attempt has settled, whether or not it succeeded. */
  over(): void;
}

/** The rooms in use by lists or by the application. The client leaves a room after its last use. */
export class Rooms {
  /** The holders of each room: lists, and visits by the application. The sets are never empty. */
  readonly #needs = new Map<string, Set<object>>();
  /** The rooms that the current connection has entered or is entering. */
  readonly #entered = new Map<string, Promise<unknown>>();
  readonly #emit: (name: string, data: object) => void;
  readonly #call: (name: "room.enter" | "room.leave", room: string) => Promise<unknown>;

  /**
   * @param emit reports which of the application's rooms were restored and which were lost.
   * @param call runs a command on behalf of a list.
   */
  constructor(
    emit: (name: string, data: object) => void,
    call: (name: "room.enter" | "room.leave", room: string) => Promise<unknown>,
  ) {
    this.#emit = emit;
    this.#call = call;
  }

  /** Records that the application is entering a room. */
  entering(room: string): Entering {
    const visit = new Visit();
    this.need(room, visit);
    return {
      entered: () => {
        // The application may have asked to leave before the server admitted it.
        if (!this.#needs.get(room)?.has(visit)) return;
        this.need(room, PROGRAM);
        this.#entered.set(room, Promise.resolve());
      },
      over: () => this.release(room, visit),
    };
  }

  /** Drops the application's holds on a room. */
  left(room: string): void {
    for (const one of this.#needs.get(room) ?? []) {
      if (one instanceof Visit) this.#drop(room, one);
    }
  }

  /**
   * Prepares to leave a room.
   * @returns whether the client may leave: a room stays entered while it is in use.
   */
  leaving(room: string): boolean {
    if (this.#needs.has(room)) return false;
    this.#entered.delete(room);
    return true;
  }

  /** Keeps a room from being left, without entering it. */
  need(room: string, user: object): void {
    const users = this.#needs.get(room) ?? new Set();
    this.#needs.set(room, users.add(user));
  }

  /** Drops a hold on a room, and leaves the room unless it is still in use. */
  release(room: string, user: object): void {
    this.#drop(room, user);
    if (this.#needs.has(room) || !this.#entered.has(room)) return;
    // Best effort: staying in the room only costs a few frames until the connection ends.
    this.#call("room.leave", room).catch(() => {});
  }

  /** Enters a room, unless the current connection has already entered it. */
  enter(room: string): Promise<unknown> {
    return this.#entered.get(room) ?? this.#track(room, this.#call("room.enter", room));
  }

  /** Forgets a deleted room. */
  deleted(room: string): void {
    this.#needs.delete(room);
    this.#entered.delete(room);
  }

  disconnected(): void {
    this.#entered.clear();
  }

  /** Re-enters the rooms that the application had entered. */
  restore(connection: Connection): void {
    for (const [room, users] of this.#needs) {
      if (!users.has(PROGRAM)) continue;
      const entering = new Promise((resolve, reject) => {
        const payload = JSON.stringify({ room });
        connection.call("room.enter", payload, { resolve, reject });
      });
      this.#track(room, entering).then(
        (result) => {
          const restored = { room, ...(result as object) };
          this.#emit("client.room_restored", restored);
        },
        (error: LiveError) => {
          if (error.code === "client.disconnected") return;
          this.#drop(room, PROGRAM);
          this.#emit("client.room_lost", { room, error });
        },
      );
    }
  }

  #track(room: string, entering: Promise<unknown>): Promise<unknown> {
    this.#entered.set(room, entering);
    entering.catch(() => {
      if (this.#entered.get(room) === entering) this.#entered.delete(room);
    });
    return entering;
  }

  #drop(room: string, user: object): void {
    const users = this.#needs.get(room);
    users?.delete(user);
    if (users?.size === 0) this.#needs.delete(room);
  }
}

/** Returns the room id in a payload. A room's channel has the same id as the room. */
export function roomOf(payload: unknown): string {
  const { room, channel } = (payload ?? {}) as Record<string, unknown>;
  return String(room ?? channel);
}
