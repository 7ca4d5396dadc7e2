import { persist, type Client } from "./client.js";

/** The shortest pause between two read marks to the server, in milliseconds. */
const INTERVAL = 1000;

/** Sends read marks of a channel: the first at once, then the latest one per pause. */
export class ReadMark {
  readonly #client: Client;
  readonly #channel: string;
  readonly #report: (error: unknown) => void;
  #newest = 0;
  #next: number | undefined;
  #isBusy = false;
  #isOver = false;
  #timer: ReturnType<typeof setTimeout> | undefined;

  /** @param report takes why the server refused it. */
  constructor(client: Client, channel: string, report: (error: unknown) => void) {
    this.#client = client;
    this.#channel = channel;
    this.#report = report;
  }

  /** Takes note of an event of the channel. */
  saw(id: number): void {
    this.#newest = Math.max(this.#newest, id);
  }

  /** @param id the event up to which all is read; the newest one seen by default. */
  set(id = this.#newest): void {
    if (id === 0) return;
    this.#next = id;
    if (!this.#isBusy) void this.#send();
  }

  end(): void {
    this.#isOver = true;
    this.#next = undefined;
    clearTimeout(this.#timer);
  }

  async #send(): Promise<void> {
    this.#isBusy = true;
    const channel = this.#channel;
    let id: number | undefined;
    const call = () => {
      id = this.#next ?? id;
      this.#next = undefined;
      return this.#client.call("chat.mark_read", { channel, id });
    };
    try {
      await persist(call, () => this.#isOver);
    } catch (error) {
      if (!this.#isOver) this.#report(error);
    }
    this.#timer = setTimeout(() => {
      this.#isBusy = false;
      if (this.#next !== undefined) void this.#send();
    }, INTERVAL);
    if (this.#isOver) clearTimeout(this.#timer);
  }
}
