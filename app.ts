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
import callEngines from "./plugins/calls/call-engines-plugin.js";
import type { CallEngines } from "./plugins/calls/engine.js";
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
import mail from "./plugins/mail/mail-plugin.js";
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
import calls from "./routes/stage/calls.js";
import captions from "./routes/stage/captions.js";
import changes from "./routes/changes.js";
import filesRoute from "./routes/files.js";
import items from "./routes/items.js";
import login from "./routes/mail/login-links.js";
import mailStops from "./routes/mail/mail-stops.js";
import mails from "./routes/mail/mails.js";
import media from "./routes/media.js";
import messages from "./routes/messages.js";
import passkeys from "./routes/passkeys.js";
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
import shortLinks from "./routes/short-links.js";
import signIn from "./routes/sign-in.js";
import tokens from "./routes/tokens.js";
import uploads from "./routes/uploads.js";
import users from "./routes/users.js";
import invitationsRoute from "./routes/invitations.js";
import ways from "./routes/ways.js";
import webhooksRoute from "./routes/webhooks.js";
import worlds from "./routes/worlds.js";
export { default as Fastify } from "fastify";
export * from "./db/open.js";
export type * from "./db/domains/index.js";
export type * from "./db/contract/engines.js";
export type * from "./db/contract/events.js";
export type * from "./db/contract/file-store.js";
export type * from "./db/contract/store.js";
export type { Identity } from "./plugins/auth/identity.js";
export { type Admission, type RouteRequirement, routesRequire } from "./plugins/auth/guard.js";
export type * from "./plugins/calls/engine.js";
export type * from "./plugins/engines.js";

/**
 * Embedders should use the `Fastify` that this module exports. A program that installs Fastify
 * itself may load a second copy, which does not accept {@link fastifyOptions}.
 */

/** Timeout for receiving the headers of a request, in milliseconds. */
const HEADERS_TIMEOUT_MS = 20_000;

/** Timeout for a connection without traffic in either direction, in milliseconds. */
const CONNECTION_TIMEOUT_MS = 300_000;

/** Application options. An omitted option defaults to the value that `foyer serve` uses, unless noted otherwise. */
export interface FoyerOptions {
  config?: Partial<Config>;
  /** By default, the engines that `config` selects. Closing the application also closes its engines. */
  engines?: Engines;
  /** The media servers for calls. By default, the media servers that `config.calls` names. */
  callEngines?: CallEngines;
  /** Merges the application's metrics with those of other processes. */
  gather?: Gather;
  /** Permission keys for the embedder's own routes, such as `shop.orders`. */
  permissions?: readonly string[];
  /** The key in the link that sets up the first event. By default, there is no such link. */
  setup?: SetupKey;
}

/**
 * The application as a Fastify plugin, for embedders. The embedder's instance must use {@link
 * fastifyOptions}, and must not have any routes before this plugin is loaded.
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

    // Must run before the first route is added.
    composeRoutes(app);

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

    app.register(callEngines, { settings: config.calls, engines: options.callEngines });
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
    app.register(mail, { settings: config.mail, publicUrl });
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
      app.register(shortLinks);
      app.register(setup, { key: options.setup });
      app.register(setupRoute);
    }

    app.register(live, { limits: config.live, publicUrl });

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
    app.register(calls);
    app.register(captions);
    app.register(tokens);
    app.register(passkeys);
    app.register(ways);
    app.register(results);
    app.register(reports);
    const { adminToken } = config;
    if (adminToken !== undefined) app.register(serverRoutes, { adminToken });
    app.register(activity);
    app.register(changes);
    app.register(audit, { days: config.auditDays });
    app.register(invitationsRoute);
    app.register(webhooksRoute);
    app.register(mails);
    app.register(mailStops);
    app.register(filesRoute);
    app.register(uploads, { config: config.uploads });
    app.register(scheduleImport, { config: config.uploads });
    app.register(media);
    app.register(openapiRoute, { publicUrl });
    app.register(asyncapiRoute, { publicUrl });
    // If the metrics have their own port, server.ts serves the metrics on that port.
    if (metrics.token !== undefined && metrics.port === undefined) {
      const { token } = metrics;
      app.register(import("./routes/server/metrics-route.js"), { of: app, token });
    }
  },
  { name: "foyer", fastify: "5.x" },
);

/** Returns the Fastify options that the documented API requires. */
export function fastifyOptions({
  trustProxy = false,
  requestTimeout = CONNECTION_TIMEOUT_MS,
}: Partial<Config> = {}): FastifyHttpOptions<Server> {
  return {
    // plugins/logging.ts logs requests instead.
    logController: new QuietRequests(),
    genReqId: requestIds(),
    bodyLimit: 1024 * 1024,
    // Startup may have to wait for the upgrade of a large database, possibly by another node.
    pluginTimeout: 0,
    trustProxy,
    // plugins/http/connections.ts handles requests that arrive during shutdown.
    return503OnClosing: false,
    requestTimeout,
    // Also closes connections whose client has stopped reading.
    connectionTimeout: CONNECTION_TIMEOUT_MS,
    // Longer than proxies keep idle connections, so that no proxy sends a request on a connection
    // that is being closed.
    keepAliveTimeout: 72_000,
    http: {
      // plugins/http/protocol.ts checks the Host header.
      requireHostHeader: false,
      headersTimeout: Math.min(HEADERS_TIMEOUT_MS, requestTimeout),
      connectionsCheckingInterval: Math.min(5000, requestTimeout / 4),
      // Spread to avoid a type error: the type definitions describe a version of Node.js that lacks
      // this option.
      ...{ shouldUpgradeCallback: isTaken },
    },
    routerOptions: {
      ignoreTrailingSlash: true,
      // As large as the maximum size of the request headers, so that the response to an overlong id
      // is the same as the response to any unknown id.
      maxParamLength: 16 * 1024,
    },
    rewriteUrl: originForm,
    frameworkErrors: (...failed) => void answerError(...failed),
    clientErrorHandler: answerClientError,
  };
}

/**
 * Creates the application on its own Fastify instance, which does not listen yet.
 * @param options.logger the logger; without one, nothing is logged.
 */
export function createApp({
  logger,
  ...options
}: FoyerOptions & { logger?: FastifyBaseLogger } = {}): FastifyInstance {
  const app = Fastify({
    ...fastifyOptions(options.config),
    // Fastify's own `logger` option would cost each request a child logger and two listeners, and
    // would log less than plugins/logging.ts does.
    ...(logger && { childLoggerFactory: () => logger }),
  });
  if (logger) app.log = logger;
  declarePermissions(app, options.permissions);
  composeRoutes(app);
  app.register(foyer, options);
  return app;
}

/** Creates a Fastify instance that serves only an application's metrics. */
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
