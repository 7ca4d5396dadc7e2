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
import { throwOut } from "./endings.js";
import { Close, pushFrame } from "./frame.js";
import { Agenda, TICK } from "./heartbeat.js";
import { Inflation } from "./incoming.js";
import { Turns } from "./pace.js";
import { messageHandler, type MessagePorts } from "./requests.js";
import type { Refused } from "./upgrade.js";

/** The least bound, for servers that take few websockets. */
const MIN_SOCKETS = 100;

/** A websocket, with the address of its client. */
interface Addressed {
  readonly address: string;
}

/**
 * The websockets of a process that have not logged in, by the network of their client. A login
 * takes milliseconds, so few wait, also when a whole venue comes through one address at once.
 */
export class Waiting {
  readonly #most: number;
  readonly #sockets = new Set<Addressed>();
  readonly #counts = new Map<string, number>();

  /** @param connections how many websockets the process takes; one network has a tenth of them. */
  constructor(connections: number) {
    this.#most = Math.max(MIN_SOCKETS, Math.floor(connections / 10));
  }

  /** Whether no other websocket from an address may wait. This machine has no bound. */
  isFull(address: string): boolean {
    const network = networkOf(address);
    return network !== undefined && this.#countOf(network) >= this.#most;
  }

  /** A websocket has opened. */
  add(socket: Addressed): void {
    this.#sockets.add(socket);
    this.#count(socket, 1);
  }

  /** A websocket has logged in or closed; afterwards, calls with it change nothing. */
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

/** How long a client may take to read about a fault of the server, in milliseconds. */
const FATAL_DELAY_MS = 500;

const problemFrame = (error: LiveError): Buffer => pushFrame("error", problemOf(error));

/** The ports of connections to the other floors. */
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
  /** A connection takes no messages and gets no pushes any more. */
  readonly leave: (connection: Connection) => void;
  /** Does something, and repeats it while the store fails. It never rejects. */
  readonly persist: (
    act: () => Promise<unknown>,
    options: { isOver: () => boolean },
  ) => Promise<void>;
  /** A connection of a world was dropped, because it did not read. */
  readonly onSlow: (world: string) => void;
  readonly metrics:
    | (NonNullable<MessagePorts["metrics"]> & {
        received(): void;
        sent(frames: number): void;
        dropped(): void;
      })
    | undefined;
}

/** Gives sockets to the live layer, and looks after the connections over them. */
export class Sockets {
  readonly #ports: SocketPorts;
  readonly #around: ConnectionPorts;
  readonly #looks = new Agenda<Connection>();
  readonly #waiting: Waiting;
  #stopTicks = () => {};
  /** By how much the date was ahead of the clock that nothing sets, when all were looked at. */
  #ahead: number;

  constructor(ports: SocketPorts) {
    this.#ports = ports;
    const { clock, random, flushQueue, backlog, limits, metrics, log } = ports;
    this.#ahead = clock.date() - clock.now();
    this.#waiting = new Waiting(limits.maxConnections);
    this.#around = {
      clock,
      random,
      flushQueue,
      backlog,
      limits,
      metrics,
      turns: new Turns(clock),
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
      lookAt: (connection, at) => this.#looks.add(connection, at),
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

  /** Why no websocket from an address is taken now; undefined if it is. */
  refusalOf(address: string): Refused | undefined {
    if (this.#ports.sockets.size >= this.#ports.limits.maxConnections) {
      return { status: 503, detail: "Too many websockets are open." };
    }
    return this.#waiting.isFull(address)
      ? { status: 429, detail: "Too many websockets wait for a login." }
      : undefined;
  }

  /**
   * Opens a connection.
   * @param world the id that its address names.
   * @param address of the client.
   * @param deflates whether it negotiated compression.
   * @param base the URL of the server as the client reached it.
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
    const connection = new Connection(world, ws, socket, address, this.#around, inflation, base);
    const { id } = connection;
    const { sockets, log, store, hasPeople, persist } = this.#ports;
    sockets.set(id, connection);
    this.#waiting.add(connection);
    this.#looks.add(connection, connection.nextLook);
    log.debug({ connection: id, world }, "websocket opened");
    // A login looks at the world in any case.
    if (hasPeople(world)) return;
    const look = async () => {
      const found = await store.worlds.get(world);
      if (!found) throwOut(connection, "world.unknown_world");
    };
    detach(persist(look, { isOver: () => connection.ended }));
  }

  #fail(connection: Connection, error: unknown): void {
    const { log } = this.#ports;
    const about = { err: error, connection: connection.id };
    if (error instanceof StoreError && error.problem === "unusable") {
      log.warn(about, "the store cannot be used");
      // The client comes back, to another server if a load balancer knows one.
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
      // The system has set its date, so any token may have expired.
      const wasSet = Math.abs(ahead - this.#ahead) > TICK;
      if (wasSet) this.#ahead = ahead;
      const due = this.#looks.take(now);
      for (const connection of wasSet ? [...sockets.values()] : due) {
        // A look that was brought forward has another entry.
        const isDue = wasSet || connection.nextLook <= now;
        if (!isDue || !sockets.has(connection.id)) continue;
        const reason = connection.tick(now);
        if (reason) throwOut(connection, reason);
        this.#looks.add(connection, connection.nextLook);
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

/** In how many steps websockets are closed. */
const CLOSE_STEPS = 30;

/** How long the steps take at most, in milliseconds. */
const CLOSE_SPREAD_MS = 3000;
/** The same where no other process takes the clients: they only wait for the next server. */
const CLOSE_SPREAD_ALONE_MS = 300;

/**
 * Closes all websockets in steps, each by the closing handshake. Clients connect
 * again elsewhere, or here when the next server listens. If all came at once, they
 * would overload another process.
 * @param sockets the open ones.
 * @param isAlone whether there is no other process.
 * @param timeout how long the server waits before it stops, in milliseconds. The
 *   steps take a part of it, and so does the wait for clients that do not answer.
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
