import { setTimeout as delay } from "node:timers/promises";
import { createSigner } from "fast-jwt";
import { type ClientOptions, WebSocket } from "ws";
import { Failure } from "../schemas/plain/failure.js";
import type { WorldKey } from "../schemas/worlds.js";
import { Client, type Json } from "./client.js";
import { Conversation, type LiveContract } from "./contract.js";

/** Token lifetime, in seconds; longer than any run. */
const TOKEN_LIFETIME_SECONDS = 6 * 3600;

/** Maximum number of attempts while the server is overloaded. */
const MAX_TRIES = 4;

/** Upper bound for a server's `Retry-After`, in seconds. */
const MAX_RETRY_AFTER_SECONDS = 60;

/** The statuses with which an overloaded server responds. */
const BUSY = [429, 503];

/** Silence after which a connection counts as settled, in milliseconds. */
const SETTLED_AFTER_MS = 300;

/** Silence required in addition to the minimum, as a multiple of the ping round trip. */
const PINGS = 5;

/** The largest frame accepted from a server, in bytes. */
const MAX_FRAME_BYTES = 16 * 1024 * 1024;

/** A world and the key that signs its administrators' tokens. */
export interface Access {
  readonly world: string;
  readonly key: WorldKey;
}

/** A row's world. It has no rooms, and the settings of a new world. */
export interface RowWorld extends Access {
  /** Part of the names of the row's users. */
  readonly tag: string;
  /** The key that signs the tokens of the row's users. */
  readonly userKey: WorldKey;
  /** The world's keys other than `userKey`. */
  readonly otherKeys: readonly WorldKey[];
  /** Another world on the server, for the audience `foreigner`. */
  readonly foreign?: Access | undefined;
}

/** A server under test. Rows access it only through HTTP requests and websockets. */
export interface Server {
  /** Whether `settled` is certain that all pushes were sent, rather than only waiting for a while. */
  readonly isCertain: boolean;
  /** The server's clock, in milliseconds since 1970. */
  readonly now: number;
  /** Sends a request as an administrator; see {@link HttpServer.request}. */
  request(
    access: Access,
    method: string,
    path: string,
    body?: object,
    ...accepted: number[]
  ): Promise<Json>;
  /**
   * Opens a websocket.
   * @param turn selects one of several nodes.
   */
  connect(world: string, turn: number): Promise<Client>;
  /** Prepares the world for a row. */
  prepare(): Promise<RowWorld>;
  /** Waits until clients have received the pushes about everything up to and including their logins. */
  gathered(world: RowWorld, clients: readonly Client[]): Promise<void>;
  /** Waits until clients have received the pushes about everything that has happened so far. */
  settled(world: RowWorld, clients: readonly Client[]): Promise<void>;
  /** Deletes a world, on servers that allow it. */
  deleteWorld?(world: string): Promise<void>;
  /** Puts a device into its call, on servers with a stand-in for the media server. */
  enterCall?(identity: string): Promise<void>;
}

/** The traits of administrators. */
export const ADMINISTRATOR = ["inside", "moderator", "admin", "api"];

/**
 * Signs a token.
 * @param now the server's clock, in milliseconds since 1970.
 */
export function sign({ issuer, audience, secret }: WorldKey, claims: object, now: number): string {
  // No timestamp, because the server's clock may be behind the local clock.
  const signer = createSigner({ key: secret, algorithm: "HS256", noTimestamp: true });
  return signer({
    iss: issuer,
    aud: audience,
    exp: Math.floor(now / 1000) + TOKEN_LIFETIME_SECONDS,
    ...claims,
  });
}

/** Thrown if the server refuses a request. */
export class Refusal extends Failure {
  constructor(
    message: string,
    /** The problem's code, if the response has one. */
    readonly code: string | undefined,
  ) {
    super(message);
  }
}

export interface HttpOptions {
  /** The contract that the server's frames must meet. */
  contract: LiveContract;
  /** Timeout for a frame and for a response, in milliseconds. */
  timeout: number;
  tries?: number;
  sockets?: ClientOptions;
}

/** Sends requests and opens websockets to a server. */
export class HttpServer {
  /** The number of websockets that were opened in total, and the number that are currently open. */
  connections = 0;
  open = 0;
  /** Faults in frames on connections without an audience. */
  faults: string[] = [];
  #requests = 0;
  readonly #conversations = new Set<Conversation>();
  /** How far the server's clock is ahead of the local clock, in milliseconds. */
  #ahead = 0;

  /** @param urls the address of the server, or of each node, without a trailing slash. */
  constructor(
    readonly urls: readonly [string, ...string[]],
    readonly options: HttpOptions,
  ) {}

  get now(): number {
    return Date.now() + this.#ahead;
  }

  /** The number of requests and commands sent. */
  get requests(): number {
    return [...this.#conversations].reduce((sum, { count }) => sum + count, this.#requests);
  }

  /**
   * Sends a request as an administrator of a world.
   * @param path the path below the world, such as `rooms/`.
   * @param accepted statuses to accept in addition to success.
   * @returns the response body; undefined if it is empty.
   * @throws {Failure} that names the request and the response.
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
        // `fetch` reports the actual reason only in `cause`.
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
        // The message omits the response body, which may contain keys.
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
      // The token must not reach another server.
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
   * Waits until no frame has arrived for a while. Waits longer if the server is slow.
   * @param least the minimum silence, in milliseconds.
   */
  async silent(clients: readonly Client[], least = SETTLED_AFTER_MS): Promise<void> {
    const began = Date.now();
    // A connection may end before its pong arrives.
    await Promise.allSettled(clients.map((client) => client.reached()));
    const reached = Date.now();
    const silence = least + PINGS * (reached - began);
    const ends = reached + this.options.timeout;
    for (;;) {
      const last = Math.max(began, ...clients.map(({ lastReceivedAt }) => lastReceivedAt));
      const left = Math.min(last + silence, ends) - Date.now();
      if (left <= 0) return;
      await delay(left);
    }
  }
}

/** Returns the delay that a response asks for, in seconds. */
function pauseOf(answer: Response): number {
  const seconds = Number(answer.headers.get("retry-after") ?? 1);
  return seconds > 0 ? Math.min(seconds, MAX_RETRY_AFTER_SECONDS) : 1;
}
