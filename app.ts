import { randomUUID } from "node:crypto";
import type { Socket } from "node:net";
import Fastify, {
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyServerOptions,
} from "fastify";
import fp from "fastify-plugin";
import { loadConfig, type Config } from "./config.js";
import { LocalFiles } from "./db/local-files.js";
import { openSqliteStore } from "./db/sqlite/index.js";
import type { Store } from "./db/store.js";
import address from "./plugins/address.js";
import expectContinue from "./plugins/expect-continue.js";
import auth from "./plugins/auth.js";
import docs from "./plugins/docs.js";
import draining from "./plugins/draining.js";
import errors, { answerError } from "./plugins/errors.js";
import logging from "./plugins/logging.js";
import openapi from "./plugins/openapi/index.js";
import permissions, { guardRoutes } from "./plugins/permissions.js";
import storage from "./plugins/storage.js";
import storePlugin from "./plugins/store.js";
import uploaders from "./plugins/uploaders.js";
import validation from "./plugins/validation.js";
import versions from "./plugins/versions.js";
import health from "./routes/health.js";
import openapiRoute from "./routes/openapi.js";
import media from "./routes/media.js";
import rooms from "./routes/rooms.js";
import uploads from "./routes/uploads.js";
import users from "./routes/users.js";
import worlds from "./routes/worlds.js";

/** What the application is made of; whatever is not given is what `foyer serve` would take. */
export interface FoyerOptions {
  config?: Partial<Config>;
  /** Opened in `config.dataDir` otherwise. Closed with the application, like the files. */
  store?: Store;
  files?: LocalFiles;
}

/**
 * The application as a Fastify plugin: its plugins, then its routes. For those
 * who embed it; their instance wants {@link fastifyOptions}.
 */
export const foyer = fp<FoyerOptions>(
  async (app, options) => {
    const config = { ...loadConfig({}), ...options.config };
    const { publicUrl, dataDir } = config;
    const store = options.store ?? openSqliteStore(dataDir);
    const files = options.files ?? new LocalFiles(dataDir);

    guardRoutes(app);
    app.register(errors);
    app.register(logging);
    app.register(draining);
    app.register(expectContinue);
    app.register(validation);
    app.register(storePlugin, { store });
    app.register(address, { publicUrl });
    app.register(openapi, { publicUrl });
    app.register(auth);
    app.register(permissions);
    app.register(uploaders);
    app.register(versions);
    app.register(docs);
    app.register(storage, { files });

    app.register(health);
    app.register(worlds);
    app.register(rooms);
    app.register(users);
    app.register(uploads, { config: config.uploads });
    app.register(media);
    app.register(openapiRoute);
  },
  { name: "foyer", fastify: "5.x" },
);

/** How a Fastify instance is made on which the interface holds to the letter. */
export function fastifyOptions({
  trustProxy = false,
}: Partial<Config> = {}): FastifyServerOptions {
  return {
    // Instead, plugins/logging.ts writes one line where it is asked for.
    logController: new Fastify.LogController({ disableRequestLogging: true }),
    genReqId: () => randomUUID(),
    bodyLimit: 1024 * 1024,
    trustProxy,
    // A request that comes while the server stops gets an answer in our words.
    return503OnClosing: false,
    routerOptions: {
      ignoreTrailingSlash: true,
      // A path as long as a header may be: an odd id names nothing, and is no other error.
      maxParamLength: 16 * 1024,
    },
    frameworkErrors: (...failed) => void answerError(...failed),
    clientErrorHandler: answerClientError,
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
    ...(logger && { loggerInstance: logger }),
  });
  guardRoutes(app);
  app.register(foyer, options);
  return app;
}

/** What is not even HTTP gets its error in the shape of all others. */
function answerClientError(
  error: Error & { code?: string },
  socket: Socket,
): void {
  if (error.code === "ECONNRESET" || !socket.writable) {
    socket.destroy();
    return;
  }
  const status =
    error.code === "HPE_HEADER_OVERFLOW"
      ? "431 Request Header Fields Too Large"
      : error.code === "ERR_HTTP_REQUEST_TIMEOUT"
        ? "408 Request Timeout"
        : "400 Bad Request";
  const body = JSON.stringify({ detail: `${status.slice(4)}.` });
  socket.end(
    `HTTP/1.1 ${status}\r\nContent-Type: application/json; charset=utf-8\r\n` +
      `Content-Length: ${body.length}\r\nX-Request-Id: ${randomUUID()}\r\n` +
      `Connection: close\r\n\r\n${body}`,
  );
}
