import type { Duplex } from "node:stream";
import type { WebSocket } from "ws";
import { detach } from "../../db/detach.js";
import { StoreError } from "../../db/contract/store.js";
import type { dispatcher } from "../dispatch.js";
import { Close, Connection, type Surroundings } from "./connection.js";
import { throwOut } from "../people/endings.js";
import { pushFrame } from "./frame.js";
import { type Live, TICK } from "../live.js";
import { messageHandler } from "./messages.js";
import { LiveError, problemOf, unavailable } from "../rules/problems.js";
import { Turns } from "./turns.js";

/** How long a client may take to read about a fault of the server, in milliseconds. */
const FATAL_DELAY = 500;

const problemFrame = (error: LiveError): Buffer =>
  pushFrame("error", problemOf(error));

/** Gives sockets to the live layer, and looks after the connections over them. */
export class Sockets {
  readonly #live: Live;
  readonly #around: Surroundings;
  #stopTicks = () => {};

  /** @param dispatch carries out the commands of people who logged in. */
  constructor(live: Live, dispatch: ReturnType<typeof dispatcher>) {
    this.#live = live;
    const { clock, random, pump, backlog, limits, metrics, log } = live;
    this.#around = {
      ...{ clock, random, pump, backlog, limits },
      turns: new Turns(clock),
      handle: messageHandler(live, dispatch),
      onReceived: () => metrics?.received(),
      onSent: (frames) => metrics?.sent(frames),
      onEnd(connection, code) {
        live.leaveWorld(connection);
        log.debug({ connection: connection.id, code }, "websocket ended");
      },
      onClosed: (connection) => void live.sockets.delete(connection.id),
      onSlow(connection) {
        metrics?.dropped();
        live.activity.count(connection.world, "slowReaders");
        log.debug({ connection: connection.id }, "websocket too slow");
      },
      onFault: (connection, error) => this.#fail(connection, error),
    };
    this.#tickLater();
  }

  /**
   * Opens a connection.
   * @param world the id that its address names.
   * @param address of the client.
   */
  open(world: string, ws: WebSocket, socket: Duplex, address: string): void {
    const live = this.#live;
    const connection = new Connection(world, ws, socket, address, this.#around);
    const { id } = connection;
    live.sockets.set(id, connection);
    live.log.debug({ connection: id, world }, "websocket opened");
    const look = async () => {
      const found = await live.store.worlds.get(world);
      if (!found) throwOut(connection, "world.unknown_world");
    };
    detach(live.effects.persist(look, { isOver: () => connection.ended }));
  }

  #fail(connection: Connection, error: unknown): void {
    const { log } = this.#live;
    const about = { err: error, connection: connection.id };
    if (error instanceof StoreError && error.problem === "unusable") {
      log.warn(about, "the store cannot be used");
      // The client comes back, to another server if a load balancer knows one.
      connection.finish(problemFrame(unavailable()), Close.tryAgainLater);
    } else {
      log.error(about, "a command failed");
      const fatal = new LiveError("server.fatal", "Fatal Server Error");
      connection.finish(problemFrame(fatal), Close.fault, FATAL_DELAY);
    }
  }

  #tickLater(): void {
    const { clock, sockets, backlog } = this.#live;
    this.#stopTicks = clock.after(TICK, () => {
      this.#tickLater();
      const now = clock.now();
      for (const connection of sockets.values()) {
        const reason = connection.tick(now);
        if (reason) throwOut(connection, reason);
      }
      backlog.look();
    });
  }

  /** Drops all connections. */
  close(): void {
    this.#stopTicks();
    for (const connection of this.#live.sockets.values()) connection.drop();
  }
}
