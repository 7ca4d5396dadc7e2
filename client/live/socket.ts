/** What the client uses of a WebSocket. */
export interface Socket {
  onopen: (() => void) | null;
  onmessage: ((event: { data: unknown }) => void) | null;
  onerror: ((event: object) => void) | null;
  onclose: ((event: { code: number; reason: string }) => void) | null;
  send(text: string): void;
  close(code?: number): void;
}

/** The class of a WebSocket. */
export type SocketClass = new (url: string) => Socket;

/** How long `ws` waits for the other side to close, in milliseconds. */
const CLOSE_TIMEOUT = 1000;

/** The WebSocket of browsers and Node.js from 22, or that of `ws`. */
export async function socketClass(): Promise<SocketClass> {
  const { WebSocket: own } = globalThis as { WebSocket?: unknown };
  if (own !== undefined) return own as SocketClass;
  const { WebSocket } = await import("ws");
  // A socket whose other side is gone would keep the process alive for 30 seconds.
  const options: object = { closeTimeout: CLOSE_TIMEOUT };
  const brief = class extends WebSocket {
    constructor(url: string) {
      super(url, options);
    }
  };
  return brief as unknown as SocketClass;
}
