import type { SentProgram } from "../../../schemas/live/index.js";
import type { Client } from "./client.js";

/** After how many milliseconds the program is asked for again that could not be read. */
const PAUSE = 300;

/** The program as a client keeps it: it asks after each push of another version. */
export class ProgramCopy {
  sessions: SentProgram["sessions"];
  readonly #client: Client;
  #version: string | undefined;
  #attempt = 0;

  constructor(client: Client) {
    this.#client = client;
  }

  loggedIn(): void {
    void this.#ask();
  }

  disconnected(): void {
    this.#attempt++;
    this.sessions = undefined;
    this.#version = undefined;
  }

  pushed(name: string, data: unknown): void {
    if (name !== "program.updated") return;
    if ((data as { version: string }).version !== this.#version)
      void this.#ask();
  }

  async #ask(): Promise<void> {
    const attempt = ++this.#attempt;
    const version = this.#version;
    const answer = await this.#client.call("program.get", { version });
    if (attempt !== this.#attempt) return;
    if (answer.error !== undefined) {
      this.#client.later(PAUSE, () => {
        if (attempt === this.#attempt) void this.#ask();
      });
      return;
    }
    const got = answer.result as SentProgram;
    this.#version = got.version;
    if (got.sessions) this.sessions = got.sessions;
  }
}
