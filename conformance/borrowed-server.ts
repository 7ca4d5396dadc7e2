import { randomBytes } from "node:crypto";
import { asyncapiDocument } from "../plugins/asyncapi/asyncapi-document.js";
import { Failure } from "../schemas/plain/failure.js";
import { defaultPermissionConfig } from "../schemas/plain/permissions.js";
import { version } from "../schemas/plain/version.js";
import { Room } from "../schemas/rooms.js";
import { compileValidator } from "../schemas/validate.js";
import { World, type WorldKey } from "../schemas/worlds.js";
import type { Client } from "./client.js";
import { LiveContract } from "./contract.js";
import type { Row } from "./row.js";
import { rows } from "./rows/all-rows.js";
import { type Access, HttpServer, type RowWorld, type Server } from "./server.js";
import { NAME, SECRET, Stage } from "./stage.js";
import { verify } from "./verify.js";

/**
 * Required silence before a row, in milliseconds. A server's processes exchange room presence about
 * once a second.
 */
const PRESENCE_SILENCE_MS = 1500;

/** Timeout for a frame and for a response, in milliseconds. */
const ANSWER_TIMEOUT_MS = 10_000;

/** Maximum number of websockets that a run opens, concurrently and in total. */
const MAX_OPEN = 32;
const MAX_CONNECTIONS = 5_000;

/** Maximum number of requests and commands that a run sends in total. */
const MAX_REQUESTS = 40_000;

/** The issuer of the key that signs the tokens of the rows' users. */
const ISSUER = "foyer-conformance";

/** The server that a run tests. */
export interface Target {
  /** The server's address, or its nodes' addresses, without a trailing slash. */
  readonly urls: readonly [string, ...string[]];
  readonly access: Access;
  /** Another world on the server, for the audience `foreigner`. */
  readonly foreign?: Access | undefined;
}

/** The outcome of a row. */
export interface Outcome {
  name: string;
  status: "passed" | "failed" | "skipped";
  /** The row's faults, such as differences between expected and received frames. */
  faults?: readonly string[];
  /** The reason why the row was skipped. */
  reason?: string;
  milliseconds: number;
}

/** Returns the rows whose names start with one of the prefixes; by default all rows. */
export function rowsNamed(beginnings: readonly string[] = [""]): readonly [string, Row][] {
  return Object.entries(rows).filter(([name]) =>
    beginnings.some((beginning) => name.startsWith(beginning)),
  );
}

const checkWorld = compileValidator(World);
const checkRoom = compileValidator(Room);

/** @throws {Failure} that names the response's invalid fields, but not their values. */
function demand(what: string, faults: object | undefined): void {
  if (!faults) return;
  throw new Failure(`a response of the HTTP API is not a ${what}: ${JSON.stringify(faults)}`);
}

const isOfSuite = (name: string): boolean => name.startsWith(NAME) || name.startsWith(SECRET);

/**
 * A third-party server. All rows run in one of its worlds, which temporarily has the settings of a
 * new world and, besides its own keys, a key for the rows. At the end, the world's own settings are
 * restored.
 */
export class RemoteServer extends HttpServer implements Server {
  readonly isCertain = false;
  readonly #target: Target;
  /** Distinguishes the users of this run. */
  readonly #run = randomBytes(4).toString("hex");
  readonly #userKey: WorldKey;
  #rows = 0;
  /** The world as it was before the run, and the world's own keys. */
  #before: World | undefined;
  #keys: readonly WorldKey[] = [];
  /** The server's call engines. */
  #callEngines: readonly unknown[] = [];
  /** Whether the server pushes changes to the world at all. */
  #isPushed = true;

  constructor(target: Target) {
    const contract = new LiveContract(asyncapiDocument({ version }), true);
    super(target.urls, { contract, timeout: ANSWER_TIMEOUT_MS });
    this.#target = target;
    const secret = randomBytes(32).toString("hex");
    this.#userKey = { issuer: ISSUER, audience: target.access.world, secret };
  }

  #send(method: string, path: string, body?: object, ...accepted: number[]) {
    return this.request(this.#target.access, method, path, body, ...accepted);
  }

  /**
   * Reads the worlds without changing them.
   * @throws {Failure} if a world cannot be used.
   */
  async openWorlds(): Promise<void> {
    const { access, foreign } = this.#target;
    if (foreign) await this.request(foreign, "GET", "");
    const world = await this.#send("GET", "");
    demand("world", checkWorld(world)?.faults);
    this.#before = world;
    // A run that was killed leaves its key behind.
    this.#keys = world.config.JWT_secrets.filter(({ issuer }: WorldKey) => issuer !== ISSUER);
    const strange = (await this.#rooms()).find(({ name }) => !isOfSuite(name));
    if (strange) {
      throw new Failure(
        `the world ${access.world} has rooms, such as ${strange.name}; create one for the suite`,
      );
    }
  }

  /**
   * Deletes what a killed run left behind, including users if the server lists them. Must be called
   * after `openWorlds`.
   * @throws {Failure} if the key may not change the world.
   */
  async start(): Promise<void> {
    await this.#deleteRooms();
    const path = "users/?page_size=1000";
    const { results = [] } = (await this.#send("GET", path, undefined, 403, 404, 405)) ?? {};
    for (const { token_id, profile } of results) {
      if (isOfSuite(String(profile?.display_name))) await this.#erase({ token_id });
    }
    const engines = await this.#send("GET", "call-engines/", undefined, 403, 404, 405);
    this.#callEngines = engines?.results ?? [];
    // Fail now rather than in each row.
    await this.prepare();
  }

  async prepare(): Promise<RowWorld> {
    await this.#send("PATCH", "", {
      title: NAME,
      config: { JWT_secrets: [...this.#keys, this.#userKey] },
      permission_config: defaultPermissionConfig,
    });
    const { access, foreign } = this.#target;
    const tag = `${this.#run}-${++this.#rows}`;
    return { ...access, tag, userKey: this.#userKey, otherKeys: this.#keys, foreign };
  }

  /**
   * Waits for the effects of all earlier actions by changing the world: the server pushes the
   * change after these effects.
   */
  async gathered({ tag }: RowWorld, clients: readonly Client[]): Promise<void> {
    if (this.#isPushed) {
      const title = `${NAME} ${tag}`;
      await this.#send("PATCH", "", { title });
      const seen = await Promise.all(
        clients.map((client) =>
          client.sees("world.updated", (data) => data?.world?.title === title),
        ),
      );
      this.#isPushed = seen.some(Boolean);
    }
    await this.silent(clients, PRESENCE_SILENCE_MS);
  }

  settled(_world: RowWorld, clients: readonly Client[]): Promise<void> {
    return this.silent(clients);
  }

  /**
   * Runs a row. Must be called after `start`.
   * @throws {Failure} if the run cannot continue.
   */
  async run(name: string, row: Row): Promise<Outcome> {
    const reason = this.#lackOf(row);
    if (reason !== undefined) return { name, status: "skipped", reason, milliseconds: 0 };
    const began = Date.now();
    const faults: string[] = [];
    try {
      const stage = new Stage(this, await this.prepare(), row.as);
      faults.push(...(await verify(stage, name, row)));
      await this.#clear(stage);
    } catch (error) {
      faults.push(`preparing or cleaning up: ${(error as Error).message}`);
    }
    faults.push(...this.faults.splice(0));
    this.#checkBounds();
    const milliseconds = Date.now() - began;
    if (faults.length === 0) return { name, status: "passed", milliseconds };
    return { name, status: "failed", faults, milliseconds };
  }

  /** Returns the reason why the server cannot run a row, or undefined if the server can run the row. */
  #lackOf({ needs }: Row): string | undefined {
    switch (needs) {
      case undefined:
        return undefined;
      case "deleteWorld":
        return "only the tests of Foyer can run it: no request deletes a world";
      case "enterCall":
        return "only the tests of Foyer can run it: it needs a device that enters a call";
      default:
        return this.#callEngines.includes(needs) ? undefined : `the server has no ${needs}`;
    }
  }

  /** @throws {Failure} if a limit was exceeded, which is a bug in the suite. */
  #checkBounds(): void {
    const many =
      (this.connections > MAX_CONNECTIONS && `more than ${MAX_CONNECTIONS} connections`) ||
      (this.requests > MAX_REQUESTS && `more than ${MAX_REQUESTS} requests`);
    if (many) throw new Failure(`the suite aborted: it needs ${many}`);
  }

  override connect(world: string, turn: number): Promise<Client> {
    if (this.open < MAX_OPEN) return super.connect(world, turn);
    throw new Failure(`the suite needs more than ${MAX_OPEN} concurrent connections`);
  }

  /** Deletes everything a row created, as far as the API allows. */
  async #clear(stage: Stage): Promise<void> {
    await stage.clear();
    await this.#deleteRooms();
    await Promise.all(stage.uids.map((uid) => this.#erase({ token_id: uid })));
    const { foreign } = this.#target;
    const foreigner = { token_id: stage.uidOf("foreigner") };
    if (foreign) await this.request(foreign, "POST", "delete_user", foreigner, 403);
  }

  async #deleteRooms(): Promise<void> {
    const left = (await this.#rooms()).filter(({ name }) => isOfSuite(name));
    const paths = left.map(({ id }) => `rooms/${id}/`);
    await Promise.all(paths.map((path) => this.#send("DELETE", path, undefined, 403)));
  }

  /** Erases a user, if the user exists. */
  async #erase(user: { token_id: string }): Promise<void> {
    await this.#send("POST", "delete_user", user, 403);
  }

  async #rooms(): Promise<readonly Room[]> {
    const answer = await this.#send("GET", "rooms/?page_size=1000");
    const results: unknown = answer?.results;
    if (!Array.isArray(results)) throw new Failure("the list of rooms has no results");
    for (const room of results) demand("room", checkRoom(room)?.faults);
    return results;
  }

  /**
   * Cleans up, and restores the world's settings. Must be called after `openWorlds`.
   * @throws {Failure} if the world could not be restored.
   */
  async close(): Promise<void> {
    const { title, config, permission_config } = this.#before!;
    let fault: Error | undefined;
    const note = (error: Error) => void (fault ??= error);
    await this.#deleteRooms().catch(note);
    const restored = { title, config: { ...config, JWT_secrets: this.#keys }, permission_config };
    await this.#send("PATCH", "", restored).catch(note);
    if (!fault) return;
    const { world } = this.#target.access;
    throw new Failure(`the world ${world} could not be restored: ${fault.message}`);
  }
}
