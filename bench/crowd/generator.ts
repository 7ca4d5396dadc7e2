import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";
import { callersOf } from "../event.js";
import { newFolder } from "../servers.js";

const run = promisify(execFile);
const sources = join(import.meta.dirname, "../../../bench/crowd");
const PATH = "/ws/world/bench/";
const DELIVERY = '["chat.event",';

/** How many people there are tokens for. */
const TOKENS = 40_000;

/** In milliseconds. */
export interface Times {
  count: number;
  p50: number;
  p95: number;
  p99: number;
  max: number;
}

/** The counts of the clients of a process. */
export interface Report {
  clients: number;
  /** From when a message was sent until a client had it. */
  delay: Times;
  /** From the beginning of a connection to the last answer of its script. */
  join: Times;
  delivered: number;
  bytes: number;
  lost: number;
  doubled: number;
  disordered: number;
  errors: number;
  closed: number;
  refused: number;
  unanswered: number;
  /** From the first loss of a connection until the last client was back, in milliseconds. */
  away: number;
  /** Until the last delivery, in seconds. */
  seconds: number;
  /** The processor time of the process itself, in seconds. */
  processor: number;
}

let program: Promise<string> | undefined;

/** Compiles the generator. It needs a C compiler. */
function compiled(): Promise<string> {
  return (program ??= (async () => {
    const output = join(newFolder(), "crowd");
    const files = ["crowd.c", "client.c", "text.c", "measure.c"].map((name) =>
      join(sources, name),
    );
    await run("cc", ["-O2", "-o", output, ...files]);
    return output;
  })());
}

let tokens: string | undefined;

/** A file with the tokens of attendees without special rights. */
function tokenFile(): string {
  if (tokens) return tokens;
  tokens = join(newFolder(), "tokens");
  const headers = callersOf("bench", { count: TOKENS, roles: ["attendee"] });
  writeFileSync(tokens, headers.map((text) => text.split(" ")[1]).join("\n"));
  return tokens;
}

/** A process with many clients of a server. `crowd.c` documents its orders. */
export class Generator {
  readonly #child: ChildProcess;
  readonly #waiting = new Map<
    number,
    { resolve: (answer: never) => void; reject: (error: Error) => void }
  >();
  #last = 0;

  private constructor(child: ChildProcess) {
    this.#child = child;
    createInterface(child.stdout!).on("line", (line) => {
      const answer = JSON.parse(line) as { order: number };
      this.#waiting.get(answer.order)?.resolve(answer as never);
      this.#waiting.delete(answer.order);
    });
    child.once("exit", () => {
      for (const { reject } of this.#waiting.values())
        reject(new Error("The generator of the crowd ended."));
    });
  }

  /** @param number the number of its first client. */
  static async start(port: number, number: number): Promise<Generator> {
    const program = await compiled();
    const args = [String(port), DELIVERY, PATH];
    const child = spawn(program, args, { stdio: ["pipe", "pipe", "inherit"] });
    const generator = new Generator(child);
    await generator.order(`number ${number}`);
    await generator.order(`tokens ${tokenFile()}`);
    return generator;
  }

  /** @returns its answer, when the order is done. */
  order<T = { clients: number }>(text: string): Promise<T> {
    const order = ++this.#last;
    this.#child.stdin!.write(`${order} ${text}\n`);
    return new Promise((resolve, reject) => {
      this.#waiting.set(order, { resolve, reject });
    });
  }

  /** Its clients leave, as it ends. */
  async leave(): Promise<void> {
    const ended = once(this.#child, "exit");
    this.#child.stdin!.end();
    await ended;
  }
}
