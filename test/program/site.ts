import { once } from "node:events";
import type { Test } from "tap";
import { WebSocket } from "ws";
import { Client, type Json } from "../../conformance/client.js";
import type { JsonObject } from "../../schemas/openapi/openapi-schema.js";
import { Contract } from "../contract.js";
import { putDatabase } from "../database.js";
import {
  foyer,
  keyOf,
  rules,
  type ServerProcess,
  startFoyer,
  tokenOf,
  until,
  worldOf,
} from "../helper.js";
import {
  Conversation,
  type LiveContract,
  strictContract,
} from "../live/contract.js";
import { startBalancer } from "../nodes/balancer.js";
import { shared } from "../shared.js";
import { shortFolder } from "../system/person.js";

// A server of two processes with SQLite, or two nodes with PostgreSQL and Valkey (`npm run
// test:shared`), as clients know it: by HTTP, websockets and commands.

/** The traits of the people in these tests. All of them may call the API. */
export type Trait = "admin" | "editor" | "reader" | "crew";

export const TYPES = {
  json: "application/json",
  xml: "application/xml",
  ics: "text/calendar",
  csv: "text/csv",
};

export interface Answer {
  status: number;
  headers: Headers;
  text: string;
  body: Json;
}

interface Call {
  method?: string;
  body?: unknown;
  as?: Trait;
  headers?: Record<string, string>;
  server?: number | undefined;
}

interface Sending {
  type?: keyof typeof TYPES;
  query?: string;
  as?: Trait;
  /** The server that gets it; the first by default. */
  server?: number;
}

const world = worldOf("demo", {
  // Uploads belong to the world of the host that they are sent to.
  domain: "127.0.0.1",
  permission_config: rules({
    "world.api": [["admin", "editor", "reader", "crew"]],
    "world.secrets": ["admin"],
    "program.update": ["editor"],
    "room.create": ["admin"],
  }),
});
world.config = { ...world.config, timezone: "Europe/Berlin" };

/** Signs a token for a user of the world of these tests. */
export const signed = (uid: string, ...traits: string[]): string =>
  tokenOf(keyOf("demo"), { uid, traits, profile: { display_name: uid } });

/** Everybody may edit but readers and the crew. */
const traitsOf = (trait: Trait) =>
  trait === "admin" ? ["admin", "editor"] : [trait];

export class Site {
  #servers: ServerProcess[] = [];
  /** The processes that were killed. */
  readonly #killed = new Set<number>();
  #logins = 0;
  #rest!: Contract;
  #live!: LiveContract;
  readonly dataDir: string;

  private constructor(
    private readonly t: Test,
    private readonly env: Record<string, string>,
  ) {
    this.dataDir = shortFolder(t);
  }

  static async start(t: Test, env: Record<string, string> = {}): Promise<Site> {
    const site = new Site(t, env);
    await putDatabase(site.dataDir, [world, worldOf("other")]);
    await site.#start();
    const document = async (name: string) => {
      const answer = await fetch(`${site.address}/api/v1/${name}.json`);
      return (await answer.json()) as JsonObject;
    };
    site.#rest = new Contract(await document("openapi"));
    site.#live = strictContract(await document("asyncapi"));
    return site;
  }

  async #start(): Promise<void> {
    const start = () => this.#serve();
    this.#servers = await Promise.all(shared ? [start(), start()] : [start()]);
  }

  #serve(more: Record<string, string> = {}): Promise<ServerProcess> {
    return startFoyer(this.t, this.dataDir, [], {
      ...(shared ? {} : { WORKERS: "2" }),
      // Workers say their names in it.
      ...{ LOG_LEVEL: "info", LIVE_COMMANDS_PER_SECOND: "10000" },
      ...this.env,
      ...more,
    });
  }

  /** An address that outlives single processes, of which it takes each in turn. */
  async door(): Promise<string> {
    if (!shared) return this.address;
    const ports = this.#servers.map(({ port }) => port);
    return `http://127.0.0.1:${await startBalancer(this.t, ports)}`;
  }

  get addresses(): string[] {
    return this.#servers.map(({ address }) => address);
  }

  /** Kills one of the two processes, and waits until there is another one in its place. */
  async killOne(index: 0 | 1): Promise<void> {
    if (shared) {
      const server = this.#servers[index]!;
      server.signal("SIGKILL");
      await server.finished;
      this.#servers[index] = await this.#serve({ PORT: String(server.port) });
      return;
    }
    await until(() => this.#workers().length === 2);
    // The first one is the oldest.
    const pid = this.#workers()[index]!;
    this.#killed.add(pid);
    process.kill(pid, "SIGKILL");
    await until(() => this.#workers().length === 2);
  }

  /** The workers that serve. */
  #workers(): number[] {
    const { stdout } = this.#servers[0]!.said;
    const listening = stdout.matchAll(/"pid":(\d+).*"Server listening/g);
    const pids = [...listening].map(([, pid]) => Number(pid));
    return pids.filter((pid) => !this.#killed.has(pid));
  }

  /** Ends all processes, and starts them again. */
  async restart(): Promise<void> {
    for (const server of this.#servers) server.signal("SIGTERM");
    await Promise.all(this.#servers.map(({ finished }) => finished));
    await this.#start();
  }

  /** Ends all processes at once. They are gone when it resolves. */
  async kill(): Promise<void> {
    for (const server of this.#servers) server.signal("SIGKILL");
    await Promise.all(this.#servers.map(({ finished }) => finished));
  }

  start = (): Promise<void> => this.#start();

  /** The address for requests. Addresses in answers have its port. */
  get address(): string {
    return this.#servers[0]!.address;
  }

  async fetch(
    path: string,
    init: RequestInit = {},
    server = 0,
  ): Promise<Answer> {
    const { address } = this.#servers[server % this.#servers.length]!;
    const response = await fetch(address + path, init);
    const text = await response.text();
    const { status, headers } = response;
    const isJson = /json/.test(headers.get("content-type") ?? "");
    const body: Json = isJson && text !== "" ? JSON.parse(text) : undefined;
    this.#rest.check(init.method ?? "GET", path, {
      ...{ status, body, text, headers: Object.fromEntries(headers) },
    });
    return { status, headers, text, body };
  }

  api(
    path: string,
    { method = "GET", body, as = "admin", headers = {}, server }: Call = {},
  ) {
    const isRaw = typeof body === "string" || body instanceof Uint8Array;
    const init = {
      method,
      headers: {
        authorization: `Bearer ${signed(as, ...traitsOf(as))}`,
        ...(body !== undefined && { "content-type": TYPES.json }),
        ...headers,
      },
      ...(body !== undefined && {
        body: isRaw ? (body as string) : JSON.stringify(body),
      }),
    };
    return this.fetch(`/api/v1/worlds/demo/${path}`, init, server);
  }

  /** Makes or changes something. @returns what it is then. */
  async save(
    method: string,
    path: string,
    body?: unknown,
    as?: Trait,
  ): Promise<Json> {
    const answer = await this.api(path, { method, body, ...(as && { as }) });
    if (answer.status < 300) return answer.body;
    throw new Error(`${method} ${path}: ${answer.status} ${answer.text}`);
  }

  /** The titles of a list of sessions, or the names of a list of speakers. */
  async list(path: string, as: Trait = "admin"): Promise<string[]> {
    const { status, body, text } = await this.api(path, { as });
    if (status !== 200) throw new Error(`${path}: ${status} ${text}`);
    return body.results.map(({ title, name }: Json) => title ?? name);
  }

  put(
    document: unknown,
    { type = "json", query = "", as = "editor", server }: Sending = {},
  ) {
    const isRaw =
      typeof document === "string" || document instanceof Uint8Array;
    return this.api(`program/${query}`, {
      method: "PUT",
      body: isRaw ? document : JSON.stringify(document),
      headers: { "content-type": TYPES[type] },
      as,
      server,
    });
  }

  async room(name: string, rules: object = {}): Promise<string> {
    const body = { name, permission_config: rules };
    return (await this.save("POST", "rooms/", body)).id;
  }

  async session(title: string, more: object = {}): Promise<string> {
    return (await this.save("POST", "sessions/", { title, ...more })).id;
  }

  /** Uploads a picture. @returns its address. */
  async upload(): Promise<string> {
    const form = new FormData();
    form.append("file", new Blob([PIXEL], { type: "image/png" }), "a.png");
    const answer = await this.fetch("/storage/upload/", {
      method: "POST",
      headers: { authorization: "Client someone" },
      body: form,
    });
    if (answer.status === 201) return answer.body.url;
    throw new Error(`${answer.status} ${answer.text}`);
  }

  /** Opens a websocket to each server in turn, and logs in. */
  async enter(login: object): Promise<Client> {
    const { length } = this.#servers;
    const { address } = this.#servers[this.#logins++ % length]!;
    const ws = new WebSocket(`${address.replace("http", "ws")}/ws/world/demo/`);
    const conversation = new Conversation(this.#live);
    const client = new Client(ws, conversation, (fault) => this.t.fail(fault));
    this.t.teardown(() => ws.terminate());
    await once(ws, "open");
    const answer = await client.login(login);
    if (answer[0] === "authenticated") return client;
    throw new Error(JSON.stringify(answer));
  }

  guest = (name: string): Promise<Client> => this.enter({ client_id: name });

  user = (uid: string, ...traits: string[]): Promise<Client> =>
    this.enter({ token: signed(uid, ...traits) });

  command = (...args: string[]): ReturnType<typeof foyer> =>
    foyer(this.dataDir, args);

  piped = (input: string, ...args: string[]): ReturnType<typeof foyer> =>
    foyer(this.dataDir, args, {}, input);
}

const PIXEL = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  "base64",
);

export const at = (seconds: number): string =>
  new Date(Date.now() + seconds * 1000).toISOString();

/** Ids, which differ each time. */
export const UUID = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/;
