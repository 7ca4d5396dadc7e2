import type { Live } from "../live.js";
import type { Readers } from "./readers.js";

/** Who listens to which channel, and the delivery of events to them in order. */
export class Channels {
  constructor(_live: Live, _readers: Readers) {}

  close(): void {}
}
