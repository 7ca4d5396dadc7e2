import { once } from "node:events";
import { WebSocket } from "ws";

/** A person with a token on a node of this machine, whose commands are answered in order. */
export class Person {
  readonly #port: number;
  #ws!: WebSocket;
  readonly #authorization: string;
  #count = 0;

  constructor(port: number, authorization: string) {
    this.#port = port;
    this.#authorization = authorization;
  }

  /** Connects. A connection that does not log in soon is closed. */
  async open(): Promise<void> {
    this.#ws = new WebSocket(`ws://127.0.0.1:${this.#port}/ws/world/bench/`);
    await once(this.#ws, "open");
  }

  login(): Promise<unknown> {
    const token = this.#authorization.slice("Bearer ".length);
    return this.#answered(["authenticate", { token }], "authenticated");
  }

  do(action: string, payload: object): Promise<unknown> {
    const id = ++this.#count;
    return this.#answered([action, id, payload], "success");
  }

  #answered(message: unknown[], answer: string): Promise<unknown> {
    const answered = new Promise((resolve, reject) => {
      const listen = (data: Buffer) => {
        const frame = JSON.parse(String(data)) as unknown[];
        if (frame[0] !== answer && frame[0] !== "error") return;
        this.#ws.off("message", listen);
        if (frame[0] === answer) resolve(frame.at(-1));
        else reject(new Error(String(data)));
      };
      this.#ws.on("message", listen);
    });
    this.#ws.send(JSON.stringify(message));
    return answered;
  }

  /** Ends the connection. */
  leave(): void {
    this.#ws.terminate();
  }
}
