import { WebSocket, type ClientOptions } from "ws";
import type { SocketClass } from "../../client/index.js";

/** What a network does with a frame of a client. */
export type Fate =
  /** It arrives, and so does its answer. */
  | "arrives"
  /** The connection breaks before it arrives. */
  | "lost"
  /** It arrives, and the connection breaks before the answer. */
  | "unanswered"
  /** It arrives, and nothing comes back from then on. */
  | "ignored";

/** A network between clients and a real server, which a test can cut. */
export class Wire {
  /** Whether no connection comes about. */
  isDown = false;
  /** The names of the frames that clients sent, in their order. */
  readonly sent: string[] = [];
  /** Decides about a frame with this name. */
  fate: (name: string) => Fate = () => "arrives";
  readonly #sockets = new Set<WebSocket>();
  /** The option `WebSocket` of a client that uses it. */
  readonly socketClass: SocketClass;

  constructor() {
    const opened = (socket: WebSocket) => {
      this.#sockets.add(socket);
      if (this.isDown) socket.terminate();
    };
    const fateOf = (frame: string): Fate => {
      const [name] = JSON.parse(frame) as [string];
      this.sent.push(name);
      return this.fate(name);
    };
    this.socketClass = class extends WebSocket {
      #isBreaking = false;
      #isDeaf = false;

      constructor(url: string, options?: ClientOptions) {
        super(url, options);
        opened(this);
      }

      override send(data: string): void {
        const fate = fateOf(data);
        if (fate === "lost") return this.terminate();
        this.#isBreaking ||= fate === "unanswered";
        this.#isDeaf ||= fate === "ignored";
        super.send(data);
      }

      override emit(event: string, ...values: unknown[]): boolean {
        if (event === "message" && (this.#isBreaking || this.#isDeaf)) {
          if (this.#isBreaking) this.terminate();
          return false;
        }
        return super.emit(event, ...values);
      }
    } as unknown as SocketClass;
  }

  /** How often frames with this name were sent. */
  count(name: string): number {
    return this.sent.filter((it) => it === name).length;
  }

  /** Breaks all connections, and lets none come about until {@link restore}. */
  cut(): void {
    this.isDown = true;
    for (const socket of this.#sockets) socket.terminate();
    this.#sockets.clear();
  }

  restore(): void {
    this.isDown = false;
  }
}
