import { once } from "node:events";
import { WebSocket } from "ws";

/** A websocket that asks a server to do things. */
export class Director {
  readonly #socket: WebSocket;
  readonly #waiting = new Map<
    number,
    { resolve: (result: never) => void; reject: (error: Error) => void }
  >();
  #last = 0;

  private constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.on("message", (bytes: Buffer) => {
      const text = bytes.toString();
      const [name, id, result] = JSON.parse(text) as [string, number, never];
      const waiting = this.#waiting.get(id);
      if (!waiting) return;
      this.#waiting.delete(id);
      if (name === "success") waiting.resolve(result);
      else waiting.reject(new Error(text));
    });
  }

  /** @param authorization the header that it would have with HTTP. */
  static async join(
    port: number,
    path: string,
    authorization: string,
  ): Promise<Director> {
    const socket = new WebSocket(`ws://127.0.0.1:${port}${path}`);
    await once(socket, "open");
    const [, token] = authorization.split(" ");
    socket.send(JSON.stringify(["authenticate", { token }]));
    await once(socket, "message");
    return new Director(socket);
  }

  /** @returns the result of a command. */
  ask<T>(action: string, payload: unknown): Promise<T> {
    const id = ++this.#last;
    this.#socket.send(JSON.stringify([action, id, payload]));
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
    });
  }

  leave(): void {
    this.#socket.terminate();
  }
}
