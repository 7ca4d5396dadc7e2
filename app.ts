import type { Server } from "node:http";
import Fastify from "fastify";
import type {
  FastifyBaseLogger,
  FastifyHttpOptions,
  FastifyInstance,
  FastifyPluginCallback,
} from "fastify";
import fp from "fastify-plugin";
import { type Config, loadConfig } from "./config.js";
import type { Engines } from "./db/contract/engines.js";
import { openEngines } from "./db/open.js";
import { commands } from "./live/commands.js";
import { requirementsOf } from "./live/dispatch.js";
import live from "./live/index.js";
import { isTaken } from "./live/socket/upgrade.js";
import asyncapi from "./plugins/asyncapi/asyncapi-document.js";
import auth from "./plugins/auth/auth.js";
import docs from "./plugins/docs/docs.js";
import enginesPlugin from "./plugins/engines.js";
import feeds from "./plugins/feed/feeds.js";
import { answerClientError } from "./plugins/http/connections.js";
import { answerError } from "./plugins/http/error-handler.js";
import http from "./plugins/http/index.js";
import { composeRoutes } from "./plugins/http/index.js";
import { originForm, requestIds } from "./plugins/http/protocol.js";
import guests from "./plugins/limits/guests.js";
import { QuietRequests } from "./plugins/logging.js";
import mediaPlugin from "./plugins/media/stored-files.js";
import type { Gather } from "./plugins/gather.js";
import openapi from "./plugins/openapi/openapi-document.js";
import { declarePermissions, expectKnownOptions } from "./plugins/options.js";
import outbound from "./plugins/outbound/outbound.js";
import programs from "./plugins/program/programs.js";
import push from "./plugins/push/web-push.js";
import replies from "./plugins/replies.js";
import retention from "./plugins/retention.js";
import setup from "./plugins/setup.js";
import type { SetupKey } from "./plugins/setup.js";
import sheets from "./plugins/sheets/sheets.js";
import validation from "./plugins/validation.js";
import web from "./plugins/web/event-pages.js";
import webhooks from "./plugins/webhooks/webhook-plugin.js";
import announcements from "./routes/announcements.js";
import audit from "./routes/audit.js";
import changes from "./routes/changes.js";
import filesRoute from "./routes/files.js";
import items from "./routes/items.js";
import login from "./routes/login-links.js";
import media from "./routes/media.js";
import messages from "./routes/messages.js";
import programFeed from "./routes/program/program-feed.js";
import program from "./routes/program/program.js";
import scheduleImport from "./routes/program/schedule-import.js";
import sessions from "./routes/program/sessions.js";
import speakers from "./routes/program/speakers.js";
import activity from "./routes/results/activity.js";
import reports from "./routes/results/reports.js";
import results from "./routes/results/results.js";
import rooms from "./routes/rooms.js";
import asyncapiRoute from "./routes/server/asyncapi.js";
import health from "./routes/server/health.js";
import openapiRoute from "./routes/server/openapi.js";
import serverRoutes from "./routes/server/server.js";
import setupRoute from "./routes/server/setup-route.js";
import signIn from "./routes/sign-in.js";
import tokens from "./routes/tokens.js";
import uploads from "./routes/uploads.js";
import users from "./routes/users.js";
import webhooksRoute from "./routes/webhooks.js";
import worlds from "./routes/worlds.js";
export { default as Fastify } from "fastify";
export * from "./db/open.js";
export type * from "./db/contract/engines.js";
export type * from "./db/contract/events.js";
export type * from "./db/contract/file-store.js";
export type * from "./db/contract/store.js";
export type { Identity } from "./plugins/auth/identity.js";
export { type Admission, type Requirement, routesRequire } from "./plugins/auth/guard.js";
export type * from "./plugins/engines.js";

// For embedders: what they may pass in, and the types of what they get.
/**
 * The Fastify of which {@link foyer} is a plugin. A program that installs Fastify itself may get
 * another copy, which does not take {@link fastifyOptions}.
 */

/** How long the headers of a request may take, in milliseconds. */
const HEADERS_TIMEOUT_MS = 20_000;

/** After how many milliseconds without a byte in either direction a connection ends. */
const CONNECTION_TIMEOUT_MS = 300_000;

/** What the application is made of. Whatever is left out is as `foyer serve` has it. */
export interface FoyerOptions {
  config?: Partial<Config>;
  /** By default they are opened in `config.dataDir`. They close with the application. */
  engines?: Engines;
  /** Joins its metrics with the metrics of other processes. */
  gather?: Gather;
  /** The permission keys of your own routes, such as `shop.orders`. */
  permissions?: readonly string[];
  /** Of the link that sets up the first event; by default there is none. */
  setup?: SetupKey;
}

/**
 * The application as a Fastify plugin, for embedders. Their instance needs
 * {@link fastifyOptions}, and no route before this plugin is loaded.
 */
export const foyer: FastifyPluginCallback<FoyerOptions> = fp<FoyerOptions>(
  async (app, options) => {
    expectKnownOptions(options);
    declarePermissions(app, options.permissions);
    const config = { ...loadConfig({}), ...options.config };
    const { publicUrl, dataDir, corsOrigins, load, metrics } = config;
    const closeTimeout = config.drainTimeoutsMs.close;
    const isMeasured = metrics.port !== undefined || metrics.token !== undefined;
    const { gather } = options;

    // Before the first route.
    composeRoutes(app);

    // Engines.
    const engines =
      options.engines ??
      (await openEngines({
        dataDir,
        ...config.engines,
        audits: config.auditDays > 0,
        onFault: (error) => app.log.error(error),
      }));
    app.register(enginesPlugin, { engines });
    app.register(outbound, { allow: config.webhookAllow });

    // What every request passes.
    app.register(http, {
      corsOrigins,
      publicUrl,
      closeTimeout,
      load,
      metrics: isMeasured ? { ...(gather && { gather }) } : undefined,
    });
    const { trustProxy, guestsPerMinute: perMinute } = config;
    app.register(guests, { trustProxy, perMinute });
    app.register(auth);

    // Capabilities.
    app.register(validation);
    app.register(replies);
    app.register(mediaPlugin);
    app.register(openapi, { publicUrl });
    app.register(asyncapi, { publicUrl, requirements: requirementsOf(commands) });
    app.register(docs);
    app.register(feeds);
    app.register(programs);
    app.register(sheets);
    app.register(webhooks);
    app.register(push, { publicUrl });
    app.register(retention, {
      logDays: config.logDays,
      auditDays: config.auditDays,
      attendanceDays: config.attendanceDays,
    });
    if (config.web.on) {
      const { web: pages, uploads } = config;
      app.register(web, { embedOrigins: pages.embedOrigins, uploads });
      app.register(signIn);
      app.register(login);
      app.register(setup, { key: options.setup });
      app.register(setupRoute);
    }

    // The websocket.
    app.register(live, { limits: config.live, publicUrl });

    // Routes.
    app.register(health);
    app.register(worlds);
    app.register(rooms);
    app.register(program);
    app.register(programFeed);
    app.register(sessions);
    app.register(speakers);
    app.register(users);
    app.register(announcements);
    app.register(messages);
    app.register(items);
    app.register(tokens);
    app.register(results);
    app.register(reports);
    const { adminToken } = config;
    if (adminToken !== undefined) app.register(serverRoutes, { adminToken });
    app.register(activity);
    app.register(changes);
    app.register(audit, { days: config.auditDays });
    app.register(webhooksRoute);
    app.register(filesRoute);
    app.register(uploads, { config: config.uploads });
    app.register(scheduleImport, { config: config.uploads });
    app.register(media);
    app.register(openapiRoute, { publicUrl });
    app.register(asyncapiRoute, { publicUrl });
    // With a port of their own, server.ts serves them there.
    if (metrics.token !== undefined && metrics.port === undefined) {
      const { token } = metrics;
      app.register(import("./routes/server/metrics-route.js"), { of: app, token });
    }
  },
  { name: "foyer", fastify: "5.x" },
);

/** The options of a Fastify instance that keeps to the interface exactly. */
export function fastifyOptions({
  trustProxy = false,
  requestTimeout = CONNECTION_TIMEOUT_MS,
}: Partial<Config> = {}): FastifyHttpOptions<Server> {
  return {
    // plugins/logging.ts logs requests instead.
    logController: new QuietRequests(),
    genReqId: requestIds(),
    bodyLimit: 1024 * 1024,
    // A start may have to wait while a large database is upgraded, also by another node.
    pluginTimeout: 0,
    trustProxy,
    // plugins/http/connections.ts answers requests that come while the server stops.
    return503OnClosing: false,
    requestTimeout,
    // It also ends connections whose client stopped reading.
    connectionTimeout: CONNECTION_TIMEOUT_MS,
    // Longer than proxies keep an idle connection, so that none sends into a closing one.
    keepAliveTimeout: 72_000,
    http: {
      // plugins/http/protocol.ts checks it.
      requireHostHeader: false,
      headersTimeout: Math.min(HEADERS_TIMEOUT_MS, requestTimeout),
      connectionsCheckingInterval: Math.min(5000, requestTimeout / 4),
      // Older versions of Node.js, whose types these are, do not know it.
      ...{ shouldUpgradeCallback: isTaken },
    },
    routerOptions: {
      ignoreTrailingSlash: true,
      // As long as a header may be: an overlong id names nothing, and is no other error.
      maxParamLength: 16 * 1024,
    },
    rewriteUrl: originForm,
    frameworkErrors: (...failed) => void answerError(...failed),
    clientErrorHandler: answerClientError,
  };
}

/**
 * The application on a Fastify instance of its own. It does not listen.
 * @param options.logger where it logs; nowhere by default.
 */
export function createApp({
  logger,
  ...options
}: FoyerOptions & { logger?: FastifyBaseLogger } = {}): FastifyInstance {
  const app = Fastify({
    ...fastifyOptions(options.config),
    // As Fastify's own `logger` it would cost each request a child logger and two
    // listeners, and log less than plugins/logging.ts does.
    ...(logger && { childLoggerFactory: () => logger }),
  });
  if (logger) app.log = logger;
  declarePermissions(app, options.permissions);
  composeRoutes(app);
  app.register(foyer, options);
  return app;
}

/** A Fastify instance that serves the metrics of an application and nothing else. */
export function createMetricsApp(of: FastifyInstance, token: string | undefined): FastifyInstance {
  const app = Fastify({
    genReqId: requestIds(),
    clientErrorHandler: answerClientError,
    http: { requireHostHeader: false },
  });
  composeRoutes(app);
  app.register(http, { bare: true, closeTimeout: loadConfig({}).drainTimeoutsMs.close });
  app.register(import("./routes/server/metrics-route.js"), { of, token });
  return app;
}
