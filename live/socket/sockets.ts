import type { Duplex } from "node:stream";
import type { FastifyBaseLogger } from "fastify";
import type { WebSocket } from "ws";
import type { LiveLimits } from "../../config.js";
import { StoreError, type WorldStore } from "../../db/contract/store.js";
import { type Clock, detach, type Random, sleep } from "../../db/runtime.js";
import { networkOf } from "../../plugins/limits/guests.js";
import { LiveError, problemOf, unavailable } from "../rules/problems.js";
import type { Backlog } from "./backlog.js";
import { Connection, type ConnectionPorts } from "./connection.js";
import { endWithError } from "./endings.js";
import { Close, pushFrame } from "./frame.js";
import { Agenda, TICK } from "./heartbeat.js";
import { Inflation } from "./incoming.js";
import { LoopTurns } from "./pace.js";
import { messageHandler, type MessagePorts } from "./requests.js";
import type { RefusedUpgrade } from "./upgrade.js";

/** Lower bound of the limit per network, for servers that accept few websockets. */
const MIN_SOCKETS = 100;

/** A websocket and its client's address. */
interface Addressed {
  readonly address: string;
}

/**
 * The websockets of a process that have not logged in, by their clients' networks. A login takes
 * milliseconds, so only a few websockets are waiting at a time, even when a whole venue connects
 * through one address.
 */
export class Waiting {
  readonly #most: number;
  readonly #sockets = new Set<Addressed>();
  readonly #counts = new Map<string, number>();

  /**
   * @param connections maximum number of websockets in the process; a single network may have a
   * tenth of that number waiting.
   */
  constructor(connections: number) {
    this.#most = Math.max(MIN_SOCKETS, Math.floor(connections / 10));
  }

  /** Whether another websocket from an address would exceed the limit. Clients on this machine are not limited. */
  isFull(address: string): boolean {
    const network = networkOf(address);
    return network !== undefined && this.#countOf(network) >= this.#most;
  }

  /** Adds a websocket that has opened. */
  add(socket: Addressed): void {
    this.#sockets.add(socket);
    this.#count(socket, 1);
  }

  /** Removes a websocket that has logged in or closed. Idempotent. */
  delete(socket: Addressed): void {
    if (this.#sockets.delete(socket)) this.#count(socket, -1);
  }

  #countOf(network: string): number {
    return this.#counts.get(network) ?? 0;
  }

  #count({ address }: Addressed, by: 1 | -1): void {
    const network = networkOf(address);
    if (network === undefined) return;
    const count = this.#countOf(network) + by;
    if (count > 0) this.#counts.set(network, count);
    else this.#counts.delete(network);
  }
}

/** How long a client has to read the error after a server fault, in milliseconds. */
const FATAL_DELAY_MS = 500;

const problemFrame = (error: LiveError): Buffer => pushFrame("error", problemOf(error));

/** The ports of connections to the other layers. */
interface SocketPorts extends MessagePorts {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: FastifyBaseLogger;
  readonly limits: LiveLimits;
  readonly store: { readonly worlds: WorldStore };
  /** Every open socket, logged in or not, by the id of its connection. */
  readonly sockets: Map<string, Connection>;
  readonly flushQueue: ConnectionPorts["flushQueue"];
  readonly backlog: Backlog;
  /** Whether people are logged in to a world. */
  readonly hasPeople: (world: string) => boolean;
  /** Called when a connection no longer handles messages or receives pushes. */
  readonly leave: (connection: Connection) => void;
  /** Runs an action, and retries it while the store fails. Never rejects. */
  readonly persist: (
    act: () => Promise<unknown>,
    options: { isOver: () => boolean },
  ) => Promise<void>;
  /** Called when a connection in a world is dropped because its client did not read the sent data. */
  readonly onSlow: (world: string) => void;
  readonly metrics:
    | (NonNullable<MessagePorts["metrics"]> & {
        received(): void;
        sent(frames: number): void;
        dropped(): void;
      })
    | undefined;
}

/** Opens connections for sockets, and supervises them. */
export class Sockets {
  readonly #ports: SocketPorts;
  readonly #connectionPorts: ConnectionPorts;
  readonly #checks = new Agenda<Connection>();
  readonly #waiting: Waiting;
  #stopTicks = () => {};
  /** The difference between the system clock and the monotonic clock at the last full check, in milliseconds. */
  #ahead: number;

  constructor(ports: SocketPorts) {
    this.#ports = ports;
    const { clock, random, flushQueue, backlog, limits, metrics, log } = ports;
    this.#ahead = clock.date() - clock.now();
    this.#waiting = new Waiting(limits.maxConnections);
    this.#connectionPorts = {
      clock,
      random,
      flushQueue,
      backlog,
      limits,
      metrics,
      turns: new LoopTurns(clock),
      handle: messageHandler({
        ...ports,
        logIn: async (connection, payload) => {
          const answer = await ports.logIn(connection, payload);
          this.#waiting.delete(connection);
          return answer;
        },
      }),
      onEnd(connection, code) {
        ports.leave(connection);
        log.debug({ connection: connection.id, code }, "websocket ended");
      },
      lookAt: (connection, at) => this.#checks.add(connection, at),
      onClosed: (connection) => {
        ports.sockets.delete(connection.id);
        this.#waiting.delete(connection);
      },
      onSlow(connection) {
        metrics?.dropped();
        ports.onSlow(connection.world);
        log.debug({ connection: connection.id }, "websocket too slow");
      },
      onFault: (connection, error) => this.#fail(connection, error),
    };
    this.#tickLater();
  }

  /**
   * Returns the response with which websockets from an address are currently refused, or undefined
   * if websockets from that address are accepted.
   */
  refusalOf(address: string): RefusedUpgrade | undefined {
    if (this.#ports.sockets.size >= this.#ports.limits.maxConnections) {
      return { status: 503, detail: "Too many websockets are open." };
    }
    return this.#waiting.isFull(address)
      ? { status: 429, detail: "Too many websockets wait for a login." }
      : undefined;
  }

  /**
   * Opens a connection.
   * @param world the world id in the request URL.
   * @param address the client's address.
   * @param deflates whether the client negotiated compression.
   * @param base the URL by which the client reached the server.
   */
  open(
    world: string,
    ws: WebSocket,
    socket: Duplex,
    address: string,
    deflates = false,
    base?: string,
  ): void {
    const inflation = deflates ? new Inflation(this.#ports.limits.maxFrame) : undefined;
    inflation?.attach(ws);
    const connection = new Connection(
      world,
      ws,
      socket,
      address,
      this.#connectionPorts,
      inflation,
      base,
    );
    const { id } = connection;
    const { sockets, log, store, hasPeople, persist } = this.#ports;
    sockets.set(id, connection);
    this.#waiting.add(connection);
    this.#checks.add(connection, connection.nextLook);
    log.debug({ connection: id, world }, "websocket opened");
    // If people are in the world, the check can wait for the login.
    if (hasPeople(world)) return;
    const look = async () => {
      const found = await store.worlds.get(world);
      if (!found) endWithError(connection, "world.unknown_world");
    };
    detach(persist(look, { isOver: () => connection.ended }));
  }

  #fail(connection: Connection, error: unknown): void {
    const { log } = this.#ports;
    const about = { err: error, connection: connection.id };
    if (error instanceof StoreError && error.problem === "unusable") {
      log.warn(about, "the store cannot be used");
      // The client reconnects, perhaps to another server behind a load balancer.
      connection.finish(problemFrame(unavailable()), Close.tryAgainLater);
    } else {
      log.error(about, "a command failed");
      const fatal = new LiveError("server.fatal");
      connection.finish(problemFrame(fatal), Close.fault, FATAL_DELAY_MS);
    }
  }

  #tickLater(): void {
    const { clock, sockets, backlog } = this.#ports;
    this.#stopTicks = clock.after(TICK, () => {
      this.#tickLater();
      const now = clock.now();
      const ahead = clock.date() - now;
      // The system clock was changed, so any token may have expired.
      const wasSet = Math.abs(ahead - this.#ahead) > TICK;
      if (wasSet) this.#ahead = ahead;
      const due = this.#checks.take(now);
      for (const connection of wasSet ? [...sockets.values()] : due) {
        // If a connection's check was brought forward, its old entry is still in the agenda.
        const isDue = wasSet || connection.nextLook <= now;
        if (!isDue || !sockets.has(connection.id)) continue;
        const reason = connection.tick(now);
        if (reason) endWithError(connection, reason);
        this.#checks.add(connection, connection.nextLook);
      }
      backlog.look();
    });
  }

  /** Drops all connections. */
  close(): void {
    this.#stopTicks();
    for (const connection of this.#ports.sockets.values()) connection.drop();
  }
}

/** Number of steps in which websockets are closed. */
const CLOSE_STEPS = 30;

/** Maximum total duration of the steps, in milliseconds, if another process can accept the clients. */
const CLOSE_SPREAD_MS = 3000;
/**
 * Maximum total duration of the steps, in milliseconds, if no other process can accept the clients
 * and they only wait for the next server.
 */
const CLOSE_SPREAD_ALONE_MS = 300;

/**
 * Closes all websockets in steps, each with a closing handshake. Clients reconnect to another
 * process, or to this address once the next server listens. If all clients reconnected
 * simultaneously, they would overload the process that accepts them.
 * @param sockets the open websockets, by connection id.
 * @param isAlone whether there is no other process.
 * @param timeout how long the server waits before it stops, in milliseconds. Part of that time is
 * used for the steps, and another part for waiting for clients that do not respond.
 */
export async function closeAll(
  clock: Clock,
  sockets: ReadonlyMap<string, Connection>,
  timeout: number,
  isAlone: boolean,
): Promise<void> {
  const within = Math.min(isAlone ? CLOSE_SPREAD_ALONE_MS : CLOSE_SPREAD_MS, 0.3 * timeout);
  const open = [...sockets.values()];
  const step = Math.ceil(open.length / CLOSE_STEPS);
  for (let i = 0; i < open.length; i += step) {
    for (const connection of open.slice(i, i + step)) {
      connection.closeAfterAnswer(Close.restart);
    }
    if (step > 1) await sleep(clock, within / CLOSE_STEPS);
  }
  const deadline = clock.now() + Math.min(2000, 0.3 * timeout);
  while (sockets.size > 0 && clock.now() < deadline) {
    await sleep(clock, 20);
  }
  for (const connection of sockets.values()) connection.drop();
}
