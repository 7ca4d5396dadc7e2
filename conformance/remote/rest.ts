import { setTimeout as delay } from "node:timers/promises";
import { Failure } from "../../schemas/plain/failure.js";
import type { Json } from "../client.js";
import { type Access, ADMINISTRATOR, sign } from "./access.js";
import type { Traffic } from "./traffic.js";

/** How often a request is sent that a server is too busy for. */
const TRIES = 4;

/** The longest pause that a server may ask for, in seconds. */
const LONGEST_PAUSE = 60;

/** The answers of a server that is too busy. */
const BUSY = [429, 503];

/** Requests of an administrator of one world. */
export class Rest {
  readonly #base: string;
  readonly #access: Access;
  readonly #traffic: Traffic;
  readonly #patience: number;
  /** How far the clock of the server is ahead of ours, in milliseconds. */
  #ahead = 0;

  /**
   * @param base the address of the server, without a slash at the end.
   * @param patience how long an answer may take, in milliseconds.
   */
  constructor(
    base: string,
    access: Access,
    traffic: Traffic,
    patience: number,
  ) {
    this.#base = base;
    this.#access = access;
    this.#traffic = traffic;
    this.#patience = patience;
  }

  /** The time of the server, in milliseconds since 1970. */
  get now(): number {
    return Date.now() + this.#ahead;
  }

  /**
   * Sends a request.
   * @param path below the path of the world, such as `rooms/`.
   * @param accepted further statuses that are no error, beside success.
   * @returns the body of the answer; undefined if it has none.
   * @throws {Failure} that names the request and the answer.
   */
  async send(
    method: string,
    path: string,
    body?: object,
    ...accepted: number[]
  ): Promise<Json> {
    const name = `${method} worlds/${this.#access.world}/${path}`;
    for (let i = 1; ; i++) {
      this.#traffic.request();
      const answer = await this.#fetch(method, path, body).catch(
        (error: Error) => {
          throw new Failure(`${name}: ${reasonOf(error)}`);
        },
      );
      const text = await answer.text();
      if (BUSY.includes(answer.status) && i < TRIES) {
        await delay(1000 * pauseOf(answer));
        continue;
      }
      if (!answer.ok && !accepted.includes(answer.status)) {
        throw new Failure(
          `${name} was answered with ${answer.status} ${text.slice(0, 300)}`,
        );
      }
      return parsed(name, text);
    }
  }

  async #fetch(method: string, path: string, body?: object): Promise<Response> {
    const { world, key } = this.#access;
    const claims = { uid: "conformance", traits: ADMINISTRATOR };
    const url = `${this.#base}/api/v1/worlds/${world}/${path}`;
    const answer = await fetch(url, {
      method,
      headers: {
        accept: "application/json",
        authorization: `Bearer ${sign(key, claims, this.now)}`,
        ...(body && { "content-type": "application/json" }),
      },
      ...(body && { body: JSON.stringify(body) }),
      // A token is for this server and for no other.
      redirect: "error",
      signal: AbortSignal.timeout(this.#patience),
    });
    const date = Date.parse(answer.headers.get("date") ?? "");
    if (!Number.isNaN(date)) this.#ahead = date - Date.now();
    return answer;
  }
}

/** The pause that an answer asks for, in seconds. */
function pauseOf(answer: Response): number {
  const seconds = Number(answer.headers.get("retry-after") ?? 1);
  return seconds > 0 ? Math.min(seconds, LONGEST_PAUSE) : 1;
}

function parsed(name: string, text: string): Json {
  if (text === "") return undefined;
  try {
    return JSON.parse(text);
  } catch {
    // Without the text, which may hold keys.
    throw new Failure(`the answer to ${name} is not JSON`);
  }
}

/** The error of a failed request has its reason only in `cause`. */
function reasonOf(error: Error): string {
  const { message } = (error.cause as Error | undefined) ?? error;
  return message === "" ? error.message : message;
}
