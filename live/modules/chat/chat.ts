import type { Connection } from "../../socket/connection.js";
import type { Live } from "../../live.js";
import { Channels } from "./channels.js";
import { PageCache } from "./page-cache.js";
import { Readers } from "./unread/readers.js";

/** The chat of one process: who listens to which channel, and who has read what. */
export class Chat {
  readonly channels: Channels;
  readonly readers: Readers;
  readonly pages: PageCache;

  constructor(live: Live) {
    this.readers = new Readers(live);
    this.channels = new Channels(live, this.readers);
    this.pages = new PageCache(live);
  }

  /** A connection has left its world. */
  leave(connection: Connection): void {
    this.channels.leave(connection);
    this.readers.leave(connection);
  }

  /** Writes down what is only in memory, and stops. */
  async close(): Promise<void> {
    this.channels.close();
    this.pages.close();
    await this.readers.close();
  }
}
