import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";

/** The orders to a process of a crowd. */
export type Request =
  | {
      do: "join";
      port: number;
      path: string;
      perSecond: number;
      /** The frames of each client, one after the answer to the other. */
      says: string[][];
    }
  | { do: "expect"; kind: string }
  | { do: "say"; text: string }
  | { do: "repeat"; text: string; seconds: number }
  | { do: "arrivals"; count: number; wait: number };

/** How clients joined. */
export interface Joined {
  /** From the opening of the socket to the last answer, in milliseconds. */
  times: number[];
  /** How long it took to open all, in milliseconds. */
  opened: number;
}

/** How frames of a kind arrived. */
export interface Arrivals {
  /** When the nth frame arrived at each client, in milliseconds since 1970. */
  times: number[][];
  arrived: number;
  /** The size of the last of them. */
  bytes: number;
  /** How many frames one client got at most. */
  most: number;
}

/** The processes of a crowd share it. */
const PROCESSES = Number(process.env.CROWD_PROCESSES ?? 1);

/** How long frames may take to arrive at all clients, in milliseconds. */
const PATIENCE = 30_000;

const program = join(import.meta.dirname, "crowd-process.js");

/** Many websocket clients, in processes of their own. */
export class Crowd {
  readonly #parts: ChildProcess[];
  readonly size: number;

  private constructor(parts: ChildProcess[], size: number) {
    this.#parts = parts;
    this.size = size;
  }

  /**
   * Opens websockets at a rate.
   * @param says the frames of each client, one after the answer to the other.
   * @returns the crowd, and how it joined.
   */
  static async join(
    port: number,
    path: string,
    says: string[][],
    perSecond: number,
  ): Promise<{ crowd: Crowd; joined: Joined }> {
    const parts = Array.from({ length: PROCESSES }, () =>
      fork(program, { serialization: "advanced", execArgv: [] }),
    );
    process.once("exit", () => parts.forEach((part) => part.kill("SIGKILL")));
    const crowd = new Crowd(parts, says.length);
    const joined = await Promise.all(
      parts.map((part, n) =>
        ask<Joined>(part, {
          do: "join",
          port,
          path,
          perSecond: perSecond / PROCESSES,
          says: says.filter((_, index) => index % PROCESSES === n),
        }),
      ),
    );
    return {
      crowd,
      joined: {
        times: joined.flatMap(({ times }) => times),
        opened: Math.max(...joined.map(({ opened }) => opened)),
      },
    };
  }

  /** Begins to count frames of a kind. */
  async expect(kind: string): Promise<void> {
    await Promise.all(
      this.#parts.map((part) => ask(part, { do: "expect", kind })),
    );
  }

  /** Lets all clients send the same text at once. */
  async say(text: string): Promise<void> {
    await Promise.all(
      this.#parts.map((part) => ask(part, { do: "say", text })),
    );
  }

  /**
   * Lets all clients send the same text again and again, each time after the answer to the
   * last one, which is a frame of the expected kind.
   * @returns answers a second.
   */
  async repeat(text: string, seconds: number): Promise<number> {
    const rates = await Promise.all(
      this.#parts.map((part) =>
        ask<number>(part, { do: "repeat", text, seconds }),
      ),
    );
    return rates.reduce((sum, rate) => sum + rate, 0);
  }

  /** Waits until all clients have got a number of frames of the expected kind, or for some time. */
  async arrivals(each: number, wait = PATIENCE): Promise<Arrivals> {
    const parts = await Promise.all(
      this.#parts.map((part) =>
        ask<Arrivals>(part, {
          do: "arrivals",
          count: (each * this.size) / PROCESSES,
          wait,
        }),
      ),
    );
    const frames = Math.max(...parts.map(({ times }) => times.length));
    return {
      times: Array.from({ length: frames }, (_, n) =>
        parts.flatMap(({ times }) => times[n] ?? []),
      ),
      arrived: parts.reduce((sum, { arrived }) => sum + arrived, 0),
      bytes: parts[0]!.bytes,
      most: Math.max(...parts.map(({ most }) => most)),
    };
  }

  async leave(): Promise<void> {
    await Promise.all(
      this.#parts.map(async (part) => {
        const ended = once(part, "exit");
        part.kill("SIGKILL");
        await ended;
      }),
    );
  }
}

async function ask<T>(part: ChildProcess, request: Request): Promise<T> {
  const ended = new AbortController();
  part.send(request);
  const [answer] = (await Promise.race([
    once(part, "message", { signal: ended.signal }),
    once(part, "exit", { signal: ended.signal }).then(() => {
      throw new Error("A process of the crowd ended.");
    }),
  ]).finally(() => ended.abort())) as [{ result: T; error?: string }];
  if (answer.error !== undefined) throw new Error(answer.error);
  return answer.result;
}
