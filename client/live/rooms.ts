import type { Connection } from "./connection.js";

/** The rooms that were entered. Each new connection enters them again. */
export class Rooms {
  readonly #entered = new Set<string>();
  readonly #emit: (name: string, data: object) => void;

  /** @param emit tells listeners which rooms were restored, and which were lost. */
  constructor(emit: (name: string, data: object) => void) {
    this.#emit = emit;
  }

  entered(room: string): void {
    this.#entered.add(room);
  }

  left(room: string): void {
    this.#entered.delete(room);
  }

  restore(connection: Connection): void {
    for (const room of this.#entered) {
      connection.call("room.enter", JSON.stringify({ room }), {
        resolve: (result) => {
          const restored = { room, ...(result as object) };
          this.#emit("client.room_restored", restored);
        },
        reject: (error) => {
          if (error.code === "client.disconnected") return;
          this.#entered.delete(room);
          this.#emit("client.room_lost", { room, error });
        },
      });
    }
  }
}

/** The room that a payload names: its own id, or that of its channel, which is the same. */
export function roomOf(payload: unknown): string {
  const { room, channel } = (payload ?? {}) as Record<string, unknown>;
  return String(room ?? channel);
}
