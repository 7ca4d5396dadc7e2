import { setTimeout as delay } from "node:timers/promises";
import { createSigner } from "fast-jwt";
import { type ClientOptions, WebSocket } from "ws";
import { Failure } from "../schemas/plain/failure.js";
import type { WorldKey } from "../schemas/worlds.js";
import { Client, type Json } from "./client.js";
import { Conversation, type LiveContract } from "./contract.js";

/** How long a token is valid, in seconds: longer than a run. */
const TOKEN_LIFETIME_SECONDS = 6 * 3600;

/** How often a request is sent that a server is too busy for. */
const MAX_TRIES = 4;

/** The longest pause that a server may ask for, in seconds. */
const MAX_RETRY_AFTER_SECONDS = 60;

/** The answers of a server that is too busy. */
const BUSY = [429, 503];

/** How long nothing may arrive until a connection counts as settled, in milliseconds. */
const SETTLED_AFTER_MS = 300;

/** How many times longer than the answer to a ping the silence is at least. */
const PINGS = 5;

/** The largest frame that a server may send, in bytes. */
const MAX_FRAME_BYTES = 16 * 1024 * 1024;

/** A world, and a key that signs the tokens of its administrators. */
export interface Access {
  readonly world: string;
  readonly key: WorldKey;
}

/** The world of a row. It has no rooms and the settings of a new world. */
export interface RowWorld extends Access {
  /** The users of the row have it in their names. */
  readonly tag: string;
  /** The key that signs the tokens of the row's users. */
  readonly userKey: WorldKey;
  /** The keys that the world has besides. */
  readonly otherKeys: readonly WorldKey[];
  /** Another world of the server, for the audience `foreigner`. */
  readonly foreign?: Access | undefined;
}

/** A server on which rows run. Rows reach it by requests and websockets only. */
export interface Server {
  /** Whether `settled` knows that everything was sent, and does not just wait for a while. */
  readonly isCertain: boolean;
  /** The time of the server, in milliseconds since 1970. */
  readonly now: number;
  /** Sends a request as an administrator; see {@link HttpServer.request}. */
  request(
    access: Access,
    method: string,
    path: string,
    body?: object,
    ...accepted: number[]
  ): Promise<Json>;
  /** Opens a websocket. @param turn selects one of several nodes. */
  connect(world: string, turn: number): Promise<Client>;
  /** Provides the world of a row. */
  prepare(): Promise<RowWorld>;
  /** Waits until clients have received the pushes about everything before and at their logins. */
  gathered(world: RowWorld, clients: readonly Client[]): Promise<void>;
  /** Waits until clients have received the pushes about everything that happened. */
  settled(world: RowWorld, clients: readonly Client[]): Promise<void>;
  /** Deletes a world, on servers where the rows may. */
  deleteWorld?(world: string): Promise<void>;
}

/** The traits of administrators. */
export const ADMINISTRATOR = ["inside", "moderator", "admin", "api"];

/** Signs a token. @param now the time of the server, in milliseconds since 1970. */
export function sign({ issuer, audience, secret }: WorldKey, claims: object, now: number): string {
  // Without a timestamp, as the clock of the server may be behind ours.
  const signer = createSigner({ key: secret, algorithm: "HS256", noTimestamp: true });
  return signer({
    iss: issuer,
    aud: audience,
    exp: Math.floor(now / 1000) + TOKEN_LIFETIME_SECONDS,
    ...claims,
  });
}

/** A request that the server refused. */
export class Refusal extends Failure {
  constructor(
    message: string,
    /** The code of the problem, if the answer has one. */
    readonly code: string | undefined,
  ) {
    super(message);
  }
}

export interface HttpOptions {
  /** What the server promises. */
  contract: LiveContract;
  /** How long a client waits for a frame, and a request for its answer, in milliseconds. */
  timeout: number;
  tries?: number;
  sockets?: ClientOptions;
}

/** Requests and websockets to a server. */
export class HttpServer {
  /** How many websockets were opened, and how many are open. */
  connections = 0;
  open = 0;
  /** The faults of frames that no audience received. */
  faults: string[] = [];
  #requests = 0;
  readonly #conversations = new Set<Conversation>();
  /** How far the clock of the server is ahead of ours, in milliseconds. */
  #ahead = 0;

  /** @param urls the address of the server, or of each of its nodes, without a slash at the end. */
  constructor(
    readonly urls: readonly [string, ...string[]],
    readonly options: HttpOptions,
  ) {}

  get now(): number {
    return Date.now() + this.#ahead;
  }

  /** How many requests and commands were sent. */
  get requests(): number {
    return [...this.#conversations].reduce((sum, { count }) => sum + count, this.#requests);
  }

  /**
   * Sends a request as an administrator of a world.
   * @param path below the path of the world, such as `rooms/`.
   * @param accepted further statuses that are no error, beside success.
   * @returns the body of the answer; undefined if it has none.
   * @throws {Failure} that names the request and the answer.
   */
  async request(
    access: Access,
    method: string,
    path: string,
    body?: object,
    ...accepted: number[]
  ): Promise<Json> {
    const name = `${method} worlds/${access.world}/${path}`;
    for (let i = 1; ; i++) {
      this.#requests++;
      const answer = await this.#fetch(access, method, path, body).catch((error: Error) => {
        // The reason of a failed request is in `cause` only.
        const { message } = (error.cause as Error | undefined) ?? error;
        throw new Failure(`${name}: ${message || error.message}`);
      });
      const text = await answer.text();
      if (BUSY.includes(answer.status) && i < (this.options.tries ?? MAX_TRIES)) {
        await delay(1000 * pauseOf(answer));
        continue;
      }
      if (!answer.ok && !accepted.includes(answer.status)) {
        const code = /"code":"([^"]*)"/.exec(text)?.[1];
        const reason = `${answer.status} ${text.slice(0, 300)}`;
        throw new Refusal(`${name} was answered with ${reason}`, code);
      }
      if (text === "") return undefined;
      try {
        return JSON.parse(text);
      } catch {
        // Without the text, which may hold keys.
        throw new Failure(`the answer to ${name} is not JSON`);
      }
    }
  }

  async #fetch({ world, key }: Access, method: string, path: string, body?: object) {
    const token = sign(key, { uid: "conformance", traits: ADMINISTRATOR }, this.now);
    const answer = await fetch(`${this.urls[0]}/api/v1/worlds/${world}/${path}`, {
      method,
      headers: {
        accept: "application/json",
        authorization: `Bearer ${token}`,
        ...(body && { "content-type": "application/json" }),
      },
      ...(body && { body: JSON.stringify(body) }),
      // A token is for this server and for no other.
      redirect: "error",
      signal: AbortSignal.timeout(this.options.timeout),
    });
    const date = Date.parse(answer.headers.get("date") ?? "");
    if (!Number.isNaN(date)) this.#ahead = date - Date.now();
    return answer;
  }

  async connect(world: string, turn: number): Promise<Client> {
    const { urls, options } = this;
    const base = urls[turn % urls.length]!.replace(/^http/, "ws");
    const ws = new WebSocket(`${base}/ws/world/${world}/`, {
      handshakeTimeout: options.timeout,
      maxPayload: MAX_FRAME_BYTES,
      ...options.sockets,
    });
    const conversation = new Conversation(options.contract);
    this.connections++;
    this.open++;
    this.#conversations.add(conversation);
    ws.once("close", () => {
      this.open--;
      this.#conversations.delete(conversation);
      this.#requests += conversation.count;
    });
    const note = (fault: string) => void this.faults.push(fault);
    const client = new Client(ws, conversation, note, options.timeout);
    await new Promise((resolve, reject) => {
      ws.once("open", resolve).once("error", ({ message }) => {
        reject(new Failure(`cannot connect to ${ws.url}: ${message}`));
      });
    });
    return client;
  }

  /**
   * Waits until nothing has arrived for a while, which is longer if the server is slow.
   * @param least for how long at least, in milliseconds.
   */
  async silent(clients: readonly Client[], least = SETTLED_AFTER_MS): Promise<void> {
    const began = Date.now();
    // Connections may end meanwhile.
    await Promise.allSettled(clients.map((client) => client.reached()));
    const reached = Date.now();
    const silence = least + PINGS * (reached - began);
    const ends = reached + this.options.timeout;
    for (;;) {
      const last = Math.max(began, ...clients.map(({ lastCame }) => lastCame));
      const left = Math.min(last + silence, ends) - Date.now();
      if (left <= 0) return;
      await delay(left);
    }
  }
}

/** The pause that an answer asks for, in seconds. */
function pauseOf(answer: Response): number {
  const seconds = Number(answer.headers.get("retry-after") ?? 1);
  return seconds > 0 ? Math.min(seconds, MAX_RETRY_AFTER_SECONDS) : 1;
}
