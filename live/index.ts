import fp from "fastify-plugin";
import { WebSocketServer } from "ws";
import type { LiveLimits } from "../config.js";
import { processClock, processRandom } from "../db/runtime.js";
import { sealReport } from "../plugins/auth/sealed.js";
import { Refusal } from "../plugins/http/errors.js";
import { commands } from "./commands.js";
import { composeLive, type LiveLayer } from "./compose.js";
import { MAX_FRAME } from "./socket/connection.js";
import { ACCEPTED, offersDeflate } from "./socket/incoming.js";
import { closeAll } from "./socket/sockets.js";
import { acceptUpgrades, socketBase } from "./socket/upgrade.js";

declare module "fastify" {
  interface FastifyInstance {
    /** The websockets of this process. */
    readonly live: LiveLayer;
  }
}

/** Timeout for a client to confirm the close of its websocket, in milliseconds. */
const CLOSE_TIMEOUT_MS = 3000;

/** Maximum number of fragments, and of packets, in one message. */
const MAX_PIECES = 2048;

/** The websocket for attendees, at `/ws/world/<id>`. */
export default fp<{ limits: LiveLimits; publicUrl?: string | undefined }>(
  async (app, { limits, publicUrl }) => {
    const registry = app.metrics?.registry;
    const metrics =
      registry &&
      // Loaded on demand, because few servers expose metrics.
      (await import("./live-metrics.js")).liveMetrics(registry, commands, () => ({
        sockets: live.sockets,
        due: live.flushQueue.waiting,
        unsent: live.backlog.size,
        subscriptions: live.chat.channels.subscriptions.count,
        pendingMarks: live.chat.readStates.pending,
      }));
    const live: LiveLayer = composeLive({
      clock: processClock,
      random: processRandom,
      store: app.store,
      events: app.events,
      guests: app.guests,
      identify: app.identify,
      limits,
      log: app.log,
      metrics,
      pushKey: app.pushKey,
      addressFault: (url) => app.outbound.faultOf(url),
      sealReport,
      callEngines: app.callEngines,
    });
    app.addHook("onReady", async () => {
      live.calls.start();
      live.polls.start();
    });
    app.decorate("live", live);

    const options = {
      noServer: true,
      clientTracking: false,
      // `socket/frame.ts` compresses each frame once for all its recipients.
      perMessageDeflate: false,
      // Connections answer pings themselves, so that a flood of pings does not cause a pong for
      // each ping.
      autoPong: false,
      // The declared type lacks `closeTimeout`, so these options cannot be an inline literal.
      closeTimeout: CLOSE_TIMEOUT_MS,
      // Every fragment of a message costs extra memory.
      maxFragments: MAX_PIECES,
      maxBufferedChunks: MAX_PIECES,
      maxPayload: Math.max(MAX_FRAME, limits.maxFrame),
      // Invalid UTF-8 fails a single message, not the connection.
      skipUTF8Validation: true,
    };
    const sockets = new WebSocketServer(options);

    sockets.on("headers", (headers, request) => {
      if (!offersDeflate(request)) return;
      headers.push(`Sec-WebSocket-Extensions: ${ACCEPTED}`);
    });

    acceptUpgrades(app.server, {
      sockets,
      refuse: (request) =>
        app.draining
          ? { status: 503, detail: "The server is stopping." }
          : live.refusalOf(app.guests.addressOf(request)),
      onOpen: (ws, socket, world, request) =>
        live.open(
          world,
          ws,
          socket,
          app.guests.addressOf(request),
          offersDeflate(request),
          publicUrl ?? socketBase(request, app.guests.isProxied(request)),
        ),
    });

    app.get("/ws/world/:world_id", { config: { requires: "public" } }, async () => {
      throw new Refusal(426, "Connect with a websocket.", {
        upgrade: "websocket",
        connection: "upgrade",
      });
    });

    app.whenDraining((timeout) =>
      closeAll(processClock, live.sockets, timeout, app.events.isAlone),
    );

    app.addHook("onClose", async () => {
      await live.close();
    });
  },
  { name: "live", dependencies: ["engines", "auth", "guests", "http", "outbound", "push"] },
);
