import { Failure } from "../../schemas/plain/failure.js";
import { Conversation, type LiveContract } from "../contract.js";

/** How many websockets a run has open at a time at most. */
export const MAX_OPEN = 32;

/** How many websockets a run opens in all at most. */
export const MAX_CONNECTIONS = 5_000;

/** How many requests and commands a run sends in all at most. */
export const MAX_REQUESTS = 40_000;

/** Counts the connections and requests of a run, and ends the run at their bounds. */
export class Traffic {
  connections = 0;
  requests = 0;
  #open = 0;
  /** Why the run has to end. */
  #fault: Failure | undefined;

  /** @throws {Failure} after a bound was reached, which is a fault of the suite. */
  check(): void {
    if (this.#fault) throw this.#fault;
  }

  /** Counts a request or a command. @throws {Failure} if it is one too many. */
  request(): void {
    if (++this.requests > MAX_REQUESTS) {
      this.#fail(`more than ${MAX_REQUESTS} requests`);
    }
  }

  /** Counts a websocket. @throws {Failure} if it is one too many. */
  opened(): void {
    if (++this.connections > MAX_CONNECTIONS) {
      this.#fail(`more than ${MAX_CONNECTIONS} connections`);
    }
    if (++this.#open > MAX_OPEN) {
      this.#fail(`more than ${MAX_OPEN} connections at a time`);
    }
  }

  closed(): void {
    this.#open--;
  }

  #fail(what: string): never {
    this.#fault = new Failure(`the suite ended itself: it needs ${what}`);
    throw this.#fault;
  }
}

/** A conversation whose frames are counted. */
export class CountedConversation extends Conversation {
  readonly #traffic: Traffic;

  constructor(contract: LiveContract, traffic: Traffic) {
    super(contract);
    this.#traffic = traffic;
  }

  override sent(text: string | Uint8Array): void {
    this.#traffic.request();
    super.sent(text);
  }
}
