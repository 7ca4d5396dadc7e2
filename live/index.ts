import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import fp from "fastify-plugin";
import { type WebSocket, WebSocketServer } from "ws";
import { detach } from "../db/detach.js";
import type { LiveLimits } from "../config.js";
import { StoreError } from "../db/store.js";
import { Refusal } from "../plugins/http/errors.js";
import { announcements } from "./announcements.js";
import { chat } from "./chat/commands.js";
import { dispatcher } from "./commands.js";
import {
  Close,
  Connection,
  MAX_FRAME,
  type Surroundings,
} from "./connection.js";
import { throwOut } from "./endings.js";
import { pushFrame } from "./frame.js";
import { Live, TICK } from "./live.js";
import { messageHandler } from "./messages.js";
import { liveMetrics } from "./metrics.js";
import { LiveError, problemOf, unavailable } from "./problems.js";
import { polls } from "./polls/commands.js";
import { questions } from "./questions/commands.js";
import { rooms } from "./rooms.js";
import { closeAll } from "./stop.js";
import { Turns } from "./turns.js";
import { acceptUpgrades } from "./upgrade.js";
import { users } from "./users.js";
import { world } from "./world.js";

declare module "fastify" {
  interface FastifyInstance {
    /** The websockets of this process. */
    readonly live: Live;
  }
}

/** How long a client may take to read about a fault of the server, in milliseconds. */
const FATAL_DELAY = 500;

/** How long a client may take to confirm that a websocket closes, in milliseconds. */
const CLOSE_TIMEOUT = 3000;

/** Of how many fragments, and of how many packets, one message may consist. */
const MAX_PIECES = 2048;

/** Every command, with what it asks for. */
export const commands = {
  ...users,
  ...world,
  ...rooms,
  ...announcements,
  ...chat,
  ...questions,
  ...polls,
};

const problemFrame = (error: LiveError): Buffer =>
  pushFrame("error", problemOf(error));

/** The websocket for the people who attend, at `/ws/world/<id>`. */
export default fp<{ limits: LiveLimits }>(
  async (app, { limits }) => {
    const registry = app.metrics?.registry;
    const metrics =
      registry && liveMetrics(registry, commands, (): Live => live);
    const live: Live = new Live({
      store: app.store,
      events: app.events,
      guests: app.guests,
      identify: app.identify,
      limits,
      log: app.log,
      metrics,
    });
    app.decorate("live", live);
    const handle = messageHandler(live, dispatcher(commands));

    const around: Surroundings = {
      pump: live.pump,
      backlog: live.backlog,
      turns: new Turns(),
      limits,
      handle,
      onReceived: () => metrics?.received(),
      onSent: (frames) => metrics?.sent(frames),
      onEnd(connection, code) {
        live.leaveWorld(connection);
        app.log.debug({ connection: connection.id, code }, "websocket ended");
      },
      onClosed: (connection) => void live.sockets.delete(connection.id),
      onSlow(connection) {
        metrics?.dropped();
        live.activity.count(connection.world, "slowReaders");
        app.log.debug({ connection: connection.id }, "websocket too slow");
      },
      onFault(connection, error) {
        const about = { err: error, connection: connection.id };
        const isAway =
          error instanceof StoreError && error.problem === "unusable";
        if (isAway) {
          app.log.warn(about, "the store cannot be used");
          // The client comes back, to another server if a load balancer knows one.
          connection.finish(problemFrame(unavailable()), Close.tryAgainLater);
        } else {
          app.log.error(about, "a command failed");
          const fatal = new LiveError("server.fatal", "Fatal Server Error");
          connection.finish(problemFrame(fatal), Close.fault, FATAL_DELAY);
        }
      },
    };

    const options = {
      noServer: true,
      clientTracking: false,
      perMessageDeflate: false,
      // A connection answers pings itself, not each of a thousand.
      autoPong: false,
      // Its declared type lacks this option, so it cannot be part of a literal.
      closeTimeout: CLOSE_TIMEOUT,
      // Of a message in pieces, each piece costs memory of its own.
      maxFragments: MAX_PIECES,
      maxBufferedChunks: MAX_PIECES,
      maxPayload: Math.max(MAX_FRAME, limits.maxFrame),
      // Text that is no UTF-8 is an error of one message, and not of the connection.
      skipUTF8Validation: true,
    };
    const sockets = new WebSocketServer(options);

    function open(
      ws: WebSocket,
      socket: Duplex,
      worldId: string,
      request: IncomingMessage,
    ): void {
      const address = app.guests.addressOf(request);
      const connection = new Connection(worldId, ws, socket, address, around);
      live.sockets.set(connection.id, connection);
      app.log.debug(
        { connection: connection.id, world: worldId },
        "websocket opened",
      );
      const look = async () => {
        const found = await app.store.worlds.get(worldId);
        if (!found) throwOut(connection, "world.unknown_world");
      };
      detach(live.effects.persist(look, { isOver: () => connection.ended }));
    }

    acceptUpgrades(app.server, {
      sockets,
      refuse() {
        if (app.draining) return "The server is stopping.";
        return live.sockets.size >= limits.maxConnections
          ? "Too many websockets are open."
          : undefined;
      },
      onOpen: open,
    });

    app.get(
      "/ws/world/:world_id",
      { config: { requires: "public" } },
      async () => {
        throw new Refusal(426, "Connect with a websocket.", {
          upgrade: "websocket",
          connection: "upgrade",
        });
      },
    );

    const ticker = setInterval(() => {
      const now = performance.now();
      for (const connection of live.sockets.values()) {
        const reason = connection.tick(now);
        if (reason) throwOut(connection, reason);
      }
      live.backlog.look();
    }, TICK).unref();

    app.whenDraining((patience) => closeAll(live, patience));

    app.addHook("onClose", async () => {
      clearInterval(ticker);
      for (const connection of live.sockets.values()) connection.drop();
      live.close();
      await live.chat.close();
    });
  },
  { name: "live", dependencies: ["engines", "auth", "guests", "http"] },
);
