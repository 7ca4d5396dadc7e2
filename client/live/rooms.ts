import type { LiveError } from "./client.js";
import type { Connection } from "./connection.js";

/** The program around the client, as one user of a room. */
class Visit {}

const PROGRAM = new Visit();

/** A call of the program that enters a room. */
interface Entering {
  /** The server has let it in. */
  entered(): void;
  /** The call is over, whatever its outcome. */
  over(): void;
}

/**
 * The rooms in use, by the program that entered them or by lists. The client leaves a room
 * after its last use.
 */
export class Rooms {
  /** The users of each room; no set is empty. */
  readonly #needs = new Map<string, Set<object>>();
  /** The rooms that the present connection has entered, or is entering. */
  readonly #entered = new Map<string, Promise<unknown>>();
  readonly #emit: (name: string, data: object) => void;
  readonly #call: (name: "room.enter" | "room.leave", room: string) => Promise<unknown>;

  /**
   * @param emit reports which rooms of the program were restored, and which were lost.
   * @param call executes a command on behalf of a list.
   */
  constructor(
    emit: (name: string, data: object) => void,
    call: (name: "room.enter" | "room.leave", room: string) => Promise<unknown>,
  ) {
    this.#emit = emit;
    this.#call = call;
  }

  /** The program begins to enter a room. */
  entering(room: string): Entering {
    const visit = new Visit();
    this.need(room, visit);
    return {
      entered: () => {
        // Otherwise, the program has called for leaving meanwhile.
        if (!this.#needs.get(room)?.has(visit)) return;
        this.need(room, PROGRAM);
        this.#entered.set(room, Promise.resolve());
      },
      over: () => this.release(room, visit),
    };
  }

  /** The program calls for leaving a room. */
  left(room: string): void {
    for (const one of this.#needs.get(room) ?? []) {
      if (one instanceof Visit) this.#drop(room, one);
    }
  }

  /**
   * Takes note that the room is about to be left.
   * @returns whether it may be: a room stays entered as long as it is in use.
   */
  leaving(room: string): boolean {
    if (this.#needs.has(room)) return false;
    this.#entered.delete(room);
    return true;
  }

  /** Keeps a room from being left. It is not entered by that. */
  need(room: string, user: object): void {
    const users = this.#needs.get(room) ?? new Set();
    this.#needs.set(room, users.add(user));
  }

  /** Leaves the room unless it is still in use. */
  release(room: string, user: object): void {
    this.#drop(room, user);
    if (this.#needs.has(room) || !this.#entered.has(room)) return;
    // A room that is not left costs a few frames, until the connection ends.
    this.#call("room.leave", room).catch(() => {});
  }

  /** Enters a room, unless the present connection has done so. */
  enter(room: string): Promise<unknown> {
    return this.#entered.get(room) ?? this.#track(room, this.#call("room.enter", room));
  }

  /** The room was deleted. */
  deleted(room: string): void {
    this.#needs.delete(room);
    this.#entered.delete(room);
  }

  disconnected(): void {
    this.#entered.clear();
  }

  /** Enters the rooms again that the program had entered. */
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

/** The room of a payload, by its id, which is also the id of its channel. */
export function roomOf(payload: unknown): string {
  const { room, channel } = (payload ?? {}) as Record<string, unknown>;
  return String(room ?? channel);
}
