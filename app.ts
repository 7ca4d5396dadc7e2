import { randomUUID } from "node:crypto";
import type { Server } from "node:http";
import Fastify, {
  type FastifyBaseLogger,
  type FastifyHttpOptions,
  type FastifyInstance,
  type FastifyPluginCallback,
} from "fastify";
import fp from "fastify-plugin";
import { loadConfig, type Config } from "./config.js";
import { type Engines, openEngines } from "./db/open.js";
import address from "./plugins/address.js";
import { guardBodyLimits } from "./plugins/body-limits.js";
import expectContinue from "./plugins/expect-continue.js";
import auth from "./plugins/auth.js";
import cors from "./plugins/cors.js";
import enginesPlugin from "./plugins/engines.js";
import docs from "./plugins/docs.js";
import draining from "./plugins/draining.js";
import errors, { answerError } from "./plugins/errors.js";
import logging, { QuietRequests } from "./plugins/logging.js";
import type { Gather } from "./plugins/metrics.js";
import openapi from "./plugins/openapi/index.js";
import permissions, { guardRoutes } from "./plugins/permissions.js";
import pipelining from "./plugins/pipelining.js";
import pressure from "./plugins/pressure.js";
import rateLimit from "./plugins/rate-limit.js";
import serialization from "./plugins/serialization.js";
import storage from "./plugins/storage.js";
import unrouted from "./plugins/unrouted.js";
import uploaders from "./plugins/uploaders.js";
import validation from "./plugins/validation.js";
import replies from "./plugins/replies.js";
import wire, { answerClientError, originForm } from "./plugins/wire.js";
import filesRoute from "./routes/files.js";
import health from "./routes/health.js";
import home from "./routes/home.js";
import openapiRoute from "./routes/openapi.js";
import media from "./routes/media.js";
import rooms from "./routes/rooms.js";
import uploads from "./routes/uploads.js";
import users from "./routes/users.js";
import worlds from "./routes/worlds.js";

// For those who embed it: what they may give, and what the application gives.
export * from "./db/open.js";
export type * from "./db/events.js";
export type * from "./db/files.js";
export type * from "./db/store.js";
export type * from "./plugins/engines.js";

/** Within how many milliseconds the headers of a request have to come. */
const HEADERS_TIMEOUT = 20_000;

/** After how many milliseconds without a byte in either direction a connection ends. */
const STALLED = 300_000;

/** What the application is made of; whatever is not given is what `foyer serve` would take. */
export interface FoyerOptions {
  config?: Partial<Config>;
  /** Opened in `config.dataDir` otherwise. They are closed with the application. */
  engines?: Engines;
  /** Where its metrics become one with those of other processes. */
  gather?: Gather;
}

/**
 * The application as a Fastify plugin: its plugins, then its routes. For those
 * who embed it; their instance wants {@link fastifyOptions}.
 */
export const foyer: FastifyPluginCallback<FoyerOptions> = fp<FoyerOptions>(
  async (app, options) => {
    const config = { ...loadConfig({}), ...options.config };
    const { publicUrl, dataDir, corsOrigins, load, metrics, patience } = config;
    const engines =
      options.engines ??
      (await openEngines({
        dataDir,
        onFault: (error) => app.log.error(error),
      }));

    guardRoutes(app);
    guardBodyLimits(app);
    // First: it has to know of a request before the parser goes on to the next.
    app.register(wire);
    app.register(errors);
    app.register(pipelining);
    if (corsOrigins) app.register(cors, { origins: corsOrigins });
    app.register(unrouted);
    app.register(logging);
    app.register(draining, { patience: patience.close });
    app.register(expectContinue);
    app.register(serialization);
    app.register(enginesPlugin, { engines });
    app.register(address, { publicUrl });
    app.register(openapi, { publicUrl });
    app.register(auth);
    if (load.perMinute) {
      app.register(rateLimit, { perMinute: load.perMinute });
    }
    app.register(permissions);
    app.register(validation);
    app.register(pressure, { limits: load });
    app.register(uploaders);
    app.register(replies);
    app.register(docs);
    app.register(storage);
    const { port, token } = metrics;
    if (port !== undefined || token !== undefined) {
      const { gather } = options;
      // Loaded here: what is off costs no time to start.
      app.register(import("./plugins/metrics.js"), {
        ...(gather && { gather }),
      });
      // Otherwise server.ts opens a port for them.
      if (port === undefined) {
        app.register(import("./routes/metrics.js"), { of: app, token });
      }
    }

    app.register(health);
    app.register(home);
    app.register(worlds);
    app.register(rooms);
    app.register(users);
    app.register(filesRoute);
    app.register(uploads, { config: config.uploads });
    app.register(media);
    app.register(openapiRoute);
  },
  { name: "foyer", fastify: "5.x" },
);

/** How a Fastify instance is made on which the interface holds to the letter. */
export function fastifyOptions({
  trustProxy = false,
  requestTimeout = STALLED,
}: Partial<Config> = {}): FastifyHttpOptions<Server> {
  return {
    // Instead, plugins/logging.ts writes one line where it is asked for.
    logController: new QuietRequests(),
    genReqId: requestIds(),
    bodyLimit: 1024 * 1024,
    trustProxy,
    // A request that comes while the server stops gets an answer in our words.
    return503OnClosing: false,
    requestTimeout,
    // Of somebody who no longer reads the answer, either.
    connectionTimeout: STALLED,
    // Longer than proxies keep one, so that none sends into a closing connection.
    keepAliveTimeout: 72_000,
    http: {
      // plugins/wire.ts says it in our words.
      requireHostHeader: false,
      headersTimeout: Math.min(HEADERS_TIMEOUT, requestTimeout),
      connectionsCheckingInterval: Math.min(5000, requestTimeout / 4),
    },
    routerOptions: {
      ignoreTrailingSlash: true,
      // A path as long as a header may be: an odd id names nothing, and is no other error.
      maxParamLength: 16 * 1024,
    },
    rewriteUrl: originForm,
    frameworkErrors: (...failed) => void answerError(...failed),
    clientErrorHandler: answerClientError,
  };
}

/** The digits that count within one part of a name. */
const LAST = Array.from({ length: 16 ** 3 }, (_, n) =>
  n.toString(16).padStart(3, "0"),
);

/**
 * Names requests with UUIDs: a random part for each few thousand, and one that
 * counts, as to draw or to write out a number for each would take longer.
 */
function requestIds(): () => string {
  let first = "";
  let count = 0;
  return () => {
    if (count === 0) first = randomUUID().slice(0, -3);
    const last = LAST[count]!;
    count = (count + 1) % LAST.length;
    return first + last;
  };
}

/**
 * The application in an instance of its own. It listens nowhere.
 * @param options.logger where it logs; nowhere by default.
 */
export function createApp({
  logger,
  ...options
}: FoyerOptions & { logger?: FastifyBaseLogger } = {}): FastifyInstance {
  const app = Fastify({
    ...fastifyOptions(options.config),
    // Given as what it is, it would cost each request a child of it and two
    // listeners, to log less than plugins/logging.ts does.
    ...(logger && { childLoggerFactory: () => logger }),
  });
  if (logger) app.log = logger;
  guardRoutes(app);
  guardBodyLimits(app);
  app.register(foyer, options);
  return app;
}

/** Serves the metrics of an application and nothing else, for a port of its own. */
export function createMetricsApp(
  of: FastifyInstance,
  token: string | undefined,
): FastifyInstance {
  const app = Fastify({
    genReqId: requestIds(),
    clientErrorHandler: answerClientError,
    http: { requireHostHeader: false },
  });
  app.register(wire);
  app.register(errors);
  app.register(unrouted);
  app.register(draining, { patience: loadConfig({}).patience.close });
  app.register(import("./routes/metrics.js"), { of, token });
  return app;
}
