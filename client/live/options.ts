import type { Access } from "../access.js";
import type { SocketClass } from "./socket.js";

/** All times are in milliseconds. */
export interface LiveOptions extends Access {
  /** How long a call may take, and how long a login. Default: 15,000. */
  timeout?: number;
  /** The longest delay before the first reconnection; it doubles each time. Default: 1,000. */
  retryDelay?: number;
  /** The bound of that delay. A connection that lasted ten times as long as the next delay may be resets it. Default: 30,000. */
  maxRetryDelay?: number;
  /** After how long without a frame the server is pinged, and how long it may take to answer. Default: 20,000. */
  heartbeat?: number;
  /** How many calls may be open at once. The server takes bursts of 300. Default: 200. */
  maxCalls?: number;
  /** Used instead of the `WebSocket` of the browser, or of `ws` in Node.js. */
  WebSocket?: SocketClass;
  /** Takes the errors of listeners. Default: `console.error`. */
  onError?: (error: unknown) => void;
}

/** How a single call differs. */
export interface CallOptions {
  /** Within how many milliseconds it must be answered, the wait for a connection included. */
  timeout?: number;
}
