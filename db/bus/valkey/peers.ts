/** How long a process may be silent until it counts as ended, in milliseconds. */
export const SILENCE = 4000;

/** How many other processes are tracked at most. Further ones have no beginning and no end. */
const MAX_PEERS = 10_000;

interface PeersParts {
  onBegan: (process: string) => void;
  onEnded: (process: string) => void;
}

/** The other processes that share a Valkey. */
export class Peers {
  readonly #parts: PeersParts;
  /** When each was heard last. */
  readonly #heard = new Map<string, number>();

  constructor(parts: PeersParts) {
    this.#parts = parts;
  }

  /**
   * Notes that another process lives.
   * @param now in milliseconds.
   */
  hear(process: string, now: number): void {
    const isNew = !this.#heard.has(process);
    if (isNew && this.#heard.size >= MAX_PEERS) return;
    this.#heard.set(process, now);
    if (isNew) this.#parts.onBegan(process);
  }

  /** Notes that another process has ended. */
  end(process: string): void {
    if (this.#heard.delete(process)) this.#parts.onEnded(process);
  }

  /** Ends the processes that were silent for too long. */
  endSilent(now: number): void {
    for (const [process, at] of this.#heard) {
      if (now - at > SILENCE) this.end(process);
    }
  }
}
