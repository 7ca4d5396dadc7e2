import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import type { Test } from "tap";

/** How a crowd joins. */
export interface Joined {
  do: "join";
  /** Their names begin with it. */
  name: string;
  count: number;
  /** The nodes: all begin at the first one, and go on to the next when a connection ends. */
  ports: number[];
  world: string;
  /** The room that they enter, and its channel. */
  channel: string;
}

/** What the process of a crowd is asked. */
export type Question =
  Joined | { do: "count"; last: number } | { do: "compare"; expected: number[] } | { do: "leave" };

/** How what came differs from what there is. */
export interface Told {
  /** How many clients missed an event, got one twice, or got them in another order. */
  faults: number;
  /** What one of them got. */
  first: string;
}

/** Many websockets in a process of their own. */
export class Crowd {
  readonly #process: ChildProcess;

  private constructor(process: ChildProcess) {
    this.#process = process;
  }

  /** Resolves when all of them have subscribed. */
  static async join(t: Test, options: Omit<Joined, "do">): Promise<Crowd> {
    const program = join(import.meta.dirname, "crowd-process.js");
    // tap puts a loader into the environment of every child.
    const env = { PATH: process.env.PATH };
    const child = fork(program, { env, execArgv: [] });
    t.teardown(() => child.kill("SIGKILL"));
    const crowd = new Crowd(child);
    await crowd.#ask({ do: "join", ...options });
    return crowd;
  }

  /** How many are subscribed now and have got everything up to an event. */
  count(last = 0): Promise<number> {
    return this.#ask({ do: "count", last });
  }

  /** Compares what each has got with all events that there are, up to the last of these. */
  compare(expected: number[]): Promise<Told> {
    return this.#ask({ do: "compare", expected });
  }

  leave(): Promise<void> {
    return this.#ask({ do: "leave" });
  }

  async #ask<T>(question: Question): Promise<T> {
    this.#process.send(question);
    const [{ result, error }] = (await once(this.#process, "message")) as [
      { result: T; error?: string },
    ];
    if (error !== undefined) throw new Error(error);
    return result;
  }
}
