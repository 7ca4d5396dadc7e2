/**
 * The part of a WebSocket that the client uses. As in browsers, code that awaits an answer
 * runs before the next message is reported.
 */
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

const OPTIONS: object = {
  // If the other side is gone, the closing handshake would keep the process alive for
  // 30 seconds by default. The WebSocket of Node.js has no bound at all.
  closeTimeout: 1000,
  // As in browsers, each message is an event of its own, and promises settle between
  // two. Otherwise, a push right behind an answer would overtake it.
  allowSynchronousEvents: false,
};

/** The WebSocket of a browser, or of `ws` in Node.js. */
export async function socketClass(): Promise<SocketClass> {
  const { process, WebSocket } = globalThis as {
    process?: { versions?: { node?: string } };
    WebSocket?: unknown;
  };
  if (!process?.versions?.node) return WebSocket as SocketClass;
  const ws = await import("ws");
  const configured = class extends ws.WebSocket {
    constructor(url: string) {
      super(url, OPTIONS);
    }
  };
  return configured as unknown as SocketClass;
}
