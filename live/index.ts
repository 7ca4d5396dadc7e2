import type { Duplex } from "node:stream";
import { setTimeout } from "node:timers/promises";
import fp from "fastify-plugin";
import { type WebSocket, WebSocketServer } from "ws";
import type { LiveLimits } from "../config.js";
import { Refusal } from "../plugins/http/errors.js";
import { announcements } from "./announcements.js";
import { dispatcher } from "./commands.js";
import { Close, Connection, type Surroundings } from "./connection.js";
import { pushFrame } from "./frame.js";
import { Live } from "./live.js";
import { messageHandler } from "./messages.js";
import { liveMetrics } from "./metrics.js";
import { LiveError, problemOf } from "./problems.js";
import { rooms } from "./rooms.js";
import { acceptUpgrades } from "./upgrade.js";
import { users } from "./users.js";
import { world } from "./world.js";

declare module "fastify" {
  interface FastifyInstance {
    /** The websockets of this process. */
    readonly live: Live;
  }
}

/** The largest message of those who may update rooms or the world, in bytes. */
const MAX_FRAME = 1024 * 1024;

/** How often timeouts, expiries and pings are looked for, in milliseconds. */
const TICK = 250;

/** When the server stops, websockets are closed within this time, in milliseconds. */
const STOP_WITHIN = 3000;

/** In how many steps. */
const STOP_STEPS = 30;

/** How long a client may take to read about a fault of the server, in milliseconds. */
const FATAL_DELAY = 500;

/** Every command, with what it asks for. */
export const commands = { ...users, ...world, ...rooms, ...announcements };

/** The websocket for the people who attend, at `/ws/world/<id>`. */
export default fp<{ limits: LiveLimits }>(
  async (app, { limits }) => {
    const registry = app.metrics?.registry;
    const metrics =
      registry && liveMetrics(registry, commands, (): Live => live);
    const live: Live = new Live({
      store: app.store,
      events: app.events,
      identify: app.identify,
      limits,
      log: app.log,
      metrics,
    });
    app.decorate("live", live);
    const handle = messageHandler(live, dispatcher(commands));

    const around: Surroundings = {
      pump: live.pump,
      limits,
      handle,
      onReceived: () => metrics?.received(),
      onSent: (frames) => metrics?.sent(frames),
      onEnd(connection, code) {
        live.leaveWorld(connection);
        app.log.debug({ connection: connection.id, code }, "websocket ended");
      },
      onClosed: (connection) => void live.sockets.delete(connection),
      onSlow(connection) {
        metrics?.dropped();
        app.log.debug({ connection: connection.id }, "websocket too slow");
      },
      onFault(connection, error) {
        app.log.error(
          { err: error, connection: connection.id },
          "a command failed",
        );
        const fatal = new LiveError("server.fatal", "Fatal Server Error");
        const frame = pushFrame("error", problemOf(fatal));
        connection.finish(frame, 1011, FATAL_DELAY);
      },
    };

    const sockets = new WebSocketServer({
      noServer: true,
      clientTracking: false,
      perMessageDeflate: false,
      maxPayload: Math.max(MAX_FRAME, limits.maxFrame),
      // Text that is no UTF-8 is an error of one message, and not of the connection.
      skipUTF8Validation: true,
    });

    function open(ws: WebSocket, socket: Duplex, worldId: string): void {
      const connection = new Connection(worldId, ws, socket, around);
      live.sockets.add(connection);
      app.log.debug({ connection: connection.id, world: worldId }, "websocket");
      app.store.worlds.get(worldId).then(
        (found) => {
          if (!found) live.throwOut(connection, "world.unknown_world");
        },
        (error: unknown) => around.onFault(connection, error),
      );
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
      const now = Date.now();
      for (const connection of live.sockets) {
        const reason = connection.tick(now);
        if (reason) live.throwOut(connection, reason);
      }
    }, TICK).unref();

    // Clients reconnect elsewhere, or here when the next server listens. If all
    // did so at once, they would be a crowd at its door.
    app.whenDraining(async () => {
      const open = [...live.sockets];
      const step = Math.ceil(open.length / STOP_STEPS);
      for (let i = 0; i < open.length; i += step) {
        for (const connection of open.slice(i, i + step)) {
          connection.close(Close.restart);
        }
        if (step > 1) await setTimeout(STOP_WITHIN / STOP_STEPS);
      }
      await allClosed(live);
    });

    app.addHook("onClose", async () => {
      clearInterval(ticker);
      for (const connection of live.sockets) connection.drop();
      live.close();
    });
  },
  { name: "live", dependencies: ["engines", "auth", "http"] },
);

/** Waits until clients have answered that they close. */
async function allClosed(live: Live): Promise<void> {
  while (live.sockets.size > 0) await setTimeout(20, undefined, { ref: false });
}
