import { networkOf } from "../../plugins/limits/guests.js";

/** The least bound, for servers that take few websockets. */
const LEAST = 100;

/** A websocket, with the address of its client. */
interface Addressed {
  readonly address: string;
}

/**
 * The websockets of a process that have not logged in, by the network of their client. A login
 * takes milliseconds, so few wait, also when a whole venue comes through one address at once.
 */
export class Waiting {
  readonly #most: number;
  readonly #sockets = new Set<Addressed>();
  readonly #counts = new Map<string, number>();

  /** @param connections how many websockets the process takes; one network has a tenth of them. */
  constructor(connections: number) {
    this.#most = Math.max(LEAST, Math.floor(connections / 10));
  }

  /** Whether no other websocket from an address may wait. This machine has no bound. */
  isFull(address: string): boolean {
    const network = networkOf(address);
    return network !== undefined && this.#countOf(network) >= this.#most;
  }

  /** A websocket has opened. */
  add(socket: Addressed): void {
    this.#sockets.add(socket);
    this.#count(socket, 1);
  }

  /** A websocket has logged in or closed; afterwards, calls with it change nothing. */
  delete(socket: Addressed): void {
    if (this.#sockets.delete(socket)) this.#count(socket, -1);
  }

  #countOf(network: string): number {
    return this.#counts.get(network) ?? 0;
  }

  #count({ address }: Addressed, by: 1 | -1): void {
    const network = networkOf(address);
    if (network === undefined) return;
    const count = this.#countOf(network) + by;
    if (count > 0) this.#counts.set(network, count);
    else this.#counts.delete(network);
  }
}
