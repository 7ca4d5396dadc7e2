import type { Live } from "../live.js";
import { Channels } from "./channels.js";
import { Readers } from "./readers.js";

/** The chat of one process: who listens to which channel, and who has read what. */
export class Chat {
  readonly channels: Channels;
  readonly readers: Readers;

  constructor(live: Live) {
    this.readers = new Readers(live);
    this.channels = new Channels(live, this.readers);
  }

  /** Writes down what is only in memory, and stops. */
  async close(): Promise<void> {
    this.channels.close();
    await this.readers.close();
  }
}
