import type { SentEvent } from "../../client/index.js";

/** The messages that came while nobody looked. Those that were deleted since do not count. */
export class Unseen {
  readonly #ids = new Set<number>();

  get count(): number {
    return this.#ids.size;
  }

  /** @param me the id of the user, whose own messages are not new to them. */
  take(event: SentEvent, me: string | undefined): void {
    const { event_id, event_type, sender, replaces, content } = event;
    if (event_type !== "channel.message") return;
    if (content["type"] === "deleted") this.#ids.delete(replaces ?? event_id);
    else if (replaces === null && sender !== null && sender !== me) {
      this.#ids.add(event_id);
    }
  }

  clear(): void {
    this.#ids.clear();
  }
}
