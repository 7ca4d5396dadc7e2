import type { Message } from "./messages.js";

/** How long a process may be silent until it counts as ended, in milliseconds. */
export const SILENCE = 4000;

/** Another process. */
interface Peer {
  /** The number of its last message. */
  number: number;
  /** When it was heard last. */
  at: number;
  /** Whether every message that it sends from here on comes to this process. */
  isCertain: boolean;
}

interface PeersParts {
  onBegan: (process: string) => void;
  onEnded: (process: string) => void;
  /** Messages of a process are missing. */
  onMissed: () => void;
}

/** The other processes that share events, and how far each of them was heard. */
export class Peers {
  readonly #parts: PeersParts;
  readonly #peers = new Map<string, Peer>();

  constructor(parts: PeersParts) {
    this.#parts = parts;
  }

  get size(): number {
    return this.#peers.size;
  }

  /**
   * Notes a message of another process.
   * @param at the present time, in milliseconds.
   * @returns whether it is new. One that comes after later ones counts as missed.
   */
  hear({ process, kind, number }: Message, at: number): boolean {
    const first = kind === "events" ? number - 1 : number;
    let peer = this.#peers.get(process);
    if (!peer) {
      if (kind === "bye") return false;
      peer = { number: first, at, isCertain: true };
      this.#peers.set(process, peer);
      this.#parts.onBegan(process);
    }
    peer.at = at;
    const isMissed = peer.isCertain && first > peer.number;
    const isNew = first >= peer.number;
    peer.isCertain = true;
    peer.number = Math.max(peer.number, number);
    if (isMissed) this.#parts.onMissed();
    if (kind === "bye") this.#end(process);
    return isNew;
  }

  /** This process listens again: what comes now may follow what it did not hear. */
  doubt(): void {
    for (const peer of this.#peers.values()) peer.isCertain = false;
  }

  /** Ends those that were not heard for too long. */
  endSilent(now: number): void {
    for (const [process, { at }] of this.#peers) {
      if (now - at > SILENCE) this.#end(process);
    }
  }

  #end(process: string): void {
    this.#peers.delete(process);
    this.#parts.onEnded(process);
  }
}
