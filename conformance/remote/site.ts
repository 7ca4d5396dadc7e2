import { randomBytes } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { WebSocket } from "ws";
import { Failure } from "../../schemas/plain/failure.js";
import { asyncapiDocument } from "../../plugins/asyncapi/document.js";
import { version } from "../../schemas/plain/version.js";
import type { Role } from "../cast.js";
import { Client } from "../client.js";
import { LiveContract } from "../contract.js";
import type { Site } from "../site.js";
import { NAME, SECRET } from "../stage.js";
import { type Access, ADMINISTRATOR, sign } from "./access.js";
import { BorrowedWorld } from "./borrowed-world.js";
import { Rest } from "./rest.js";
import { RemoteStage } from "./stage.js";
import { CountedConversation, Traffic } from "./traffic.js";

/** How long a client waits for a frame, and a request for its answer, in milliseconds. */
const PATIENCE = 10_000;

/** How long nothing may come until it is taken that nothing will, in milliseconds. */
const SILENCE = 300;

/** How many times longer than the answer to a ping the silence is at least. */
const PINGS = 5;

/** The largest frame that a server may send, in bytes. */
const MAX_FRAME = 16 * 1024 * 1024;

let contract: LiveContract | undefined;

/** What servers promise. Its schemas are compiled once in a process, which takes half a second. */
const promised = (): LiveContract =>
  (contract ??= new LiveContract(asyncapiDocument({ version }), true));

/** The server of a run. */
export interface Target {
  /** Its address, or the addresses of its nodes, without a slash at the end. */
  readonly urls: readonly [string, ...string[]];
  readonly access: Access;
  /** Another world of the server, for the audience `foreigner`. */
  readonly foreign?: Access | undefined;
}

/** A server that is reached by requests only. */
export class RemoteSite implements Site {
  readonly isCertain = false;
  readonly traffic = new Traffic();
  readonly rest: Rest;
  readonly foreignRest: Rest | undefined;
  readonly #target: Target;
  readonly #contract = promised();
  /** Names the users of this run. */
  readonly #run = randomBytes(4).toString("hex");
  /** The faults of frames that no audience got. */
  #faults: string[] = [];
  #world: BorrowedWorld | undefined;
  #administrator: Client | undefined;
  #turns = 0;
  /** Whether a change of the world is pushed at all. */
  #hasMarks = true;

  constructor(target: Target) {
    this.#target = target;
    const [base] = target.urls;
    const rest = (access: Access) =>
      new Rest(base, access, this.traffic, PATIENCE);
    this.rest = rest(target.access);
    this.foreignRest = target.foreign && rest(target.foreign);
  }

  /**
   * Reads the worlds, and changes nothing.
   * @throws {Failure} if they cannot be used.
   */
  async open(): Promise<void> {
    await this.foreignRest?.send("GET", "");
    this.#world = await BorrowedWorld.open(this.rest);
  }

  /**
   * Deletes the remains of a killed run.
   * @throws {Failure} if the key may not change the world.
   */
  async start(): Promise<void> {
    await this.world.clear();
    await this.world.eraseUsers();
    // Fails now rather than in each row.
    await this.world.reset();
  }

  /** The world; only after `open`. */
  get world(): BorrowedWorld {
    return this.#world!;
  }

  stage(role: Role): RemoteStage {
    const { access, foreign } = this.#target;
    const tag = `${this.#run}-${++this.#turns}`;
    return new RemoteStage(this, access.world, foreign, tag, role);
  }

  async connect(world: string, turn: number): Promise<Client> {
    const { urls } = this.#target;
    const base = urls[turn % urls.length]!.replace(/^http/, "ws");
    this.traffic.opened();
    const ws = new WebSocket(`${base}/ws/world/${world}/`, {
      handshakeTimeout: PATIENCE,
      maxPayload: MAX_FRAME,
    });
    ws.once("close", () => this.traffic.closed());
    const conversation = new CountedConversation(this.#contract, this.traffic);
    const note = (fault: string) => void this.#faults.push(fault);
    const client = new Client(ws, conversation, note, PATIENCE);
    await new Promise((resolve, reject) => {
      ws.once("open", resolve).once("error", ({ message }) => {
        reject(new Failure(`cannot connect to ${ws.url}: ${message}`));
      });
    });
    return client;
  }

  /** A connection of an administrator, for commands that no audience may give. */
  async administrator(): Promise<Client> {
    if (this.#administrator?.isOpen) return this.#administrator;
    const { world, key } = this.#target.access;
    const client = await this.connect(world, 0);
    const profile = { display_name: `${SECRET} administrator` };
    const claims = {
      uid: `${this.#run}-admin`,
      traits: ADMINISTRATOR,
      profile,
    };
    const [answer, data] = await client.login({
      token: sign(key, claims, this.rest.now),
    });
    if (answer === "error") {
      throw new Failure(`an administrator may not log in: ${text(data)}`);
    }
    this.#administrator = client;
    return client;
  }

  /** Takes the faults of frames that no audience got. */
  takeFaults(): string[] {
    const faults = this.#faults;
    this.#faults = [];
    return faults;
  }

  /** A change of the world that is made now is pushed after all that was done before. */
  async gathered(
    stage: RemoteStage,
    clients: readonly Client[],
  ): Promise<void> {
    if (this.#hasMarks) {
      const title = `${NAME} ${stage.tag}`;
      await this.world.change({ title });
      const seen = await Promise.all(
        clients.map((client) =>
          client.sees("world.updated", (data) => data?.world?.title === title),
        ),
      );
      this.#hasMarks = seen.some(Boolean);
    }
    await this.settled(stage, clients);
  }

  /** Waits until nothing has come for a while, which is longer if the server is slow. */
  async settled(
    _stage: RemoteStage,
    clients: readonly Client[],
  ): Promise<void> {
    const began = Date.now();
    // Connections may end meanwhile.
    await Promise.allSettled(clients.map((client) => client.reached()));
    const reached = Date.now();
    const silence = SILENCE + PINGS * (reached - began);
    const ends = reached + PATIENCE;
    for (;;) {
      const last = Math.max(began, ...clients.map(({ lastCame }) => lastCame));
      const left = Math.min(last + silence, ends) - Date.now();
      if (left <= 0) return;
      await delay(left);
    }
  }

  /**
   * Erases the administrator, and gives the world its settings back.
   * @throws {Failure} if the world could not be restored.
   */
  async close(): Promise<void> {
    this.#administrator?.ws.terminate();
    const steps = [
      () => this.world.clear(),
      () => this.world.erase(`${this.#run}-admin`),
      () => this.world.restore(),
    ];
    let fault: Error | undefined;
    for (const step of steps) {
      await step().catch((error: Error) => void (fault ??= error));
    }
    if (!fault) return;
    const { world } = this.#target.access;
    throw new Failure(`the world ${world} is not as it was: ${fault.message}`);
  }
}

const text = (data: unknown): string => JSON.stringify(data).slice(0, 300);
