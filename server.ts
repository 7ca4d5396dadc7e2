import type { AddressInfo } from "node:net";
import type { FastifyInstance } from "fastify";
import { createApp, createMetricsApp } from "./app.js";
import type { Config } from "./config.js";
import type { WorkerNames } from "./db/contract/engines.js";
import type { Store } from "./db/contract/store.js";
import { detach } from "./db/runtime.js";
import { openEngines } from "./db/open.js";
import { openControl } from "./live/control.js";
import { createLogger } from "./plugins/logging.js";
import type { Gather } from "./plugins/gather.js";
import type { SetupKey } from "./plugins/setup.js";
import { startLine } from "./plugins/start-line.js";
import { Failure } from "./schemas/plain/failure.js";

export interface Server {
  app: FastifyInstance;
  /** The URL where it listens. */
  address: string;
  /** How many worlds there were when it started. */
  worlds: number;
  /** Ends the preparations. Call it when all of a `prepare` is done, also after the start. */
  prepared(): void;
  /** Finishes the requests in flight, for at most `config.drainTimeoutsMs.stop`, and closes everything. */
  stop(): Promise<void>;
}

/** What a server shares with other processes that serve the same worlds. */
export interface Siblings {
  worker: WorkerNames;
  /** Joins its metrics with the metrics of other processes. */
  gather: Gather;
}

/**
 * Opens the engines and listens.
 * @param siblings if there are other processes.
 * @param prepare runs before there are requests. It returns the link that sets up the first
 *   event; undefined for none.
 * @throws {StoreError} or {Failure}, with one line that says why.
 */
export async function startServer(
  config: Config,
  siblings?: Siblings,
  prepare?: (store: Store) => Promise<SetupKey | undefined>,
): Promise<Server> {
  const logger = await createLogger(config.logLevel);
  const engines = await openEngines({
    dataDir: config.dataDir,
    ...config.engines,
    audits: config.auditDays > 0,
    prepares: prepare !== undefined,
    log: (line) => logger.info(line),
    warn: (line) => logger.warn(line),
    maintenance: logger,
    onFault: (error) => logger.error(error),
    ...(siblings && { worker: siblings.worker }),
  });
  const setup = await prepare?.(engines.store).catch(async (error) => {
    await engines.close();
    throw error;
  });
  const app = createApp({
    config,
    engines,
    logger,
    ...(siblings && { gather: siblings.gather }),
    ...(setup && { setup }),
  });
  let worlds = 0;
  try {
    // Of several, the primary says it.
    if (!siblings) {
      ({ worlds } = await engines.store.counts());
      logger.info(...startLine(config, worlds));
    }
    await listen(app, config, "HOST and PORT");
    await listenForMetrics(app, config.metrics);
    const closeControl = await openControl(app.live.sockets, config.dataDir, app.log);
    app.server.once("close", closeControl);
  } catch (error) {
    await app.close();
    throw error;
  }
  const address = addressOf(app);
  return {
    app,
    address,
    worlds,
    prepared: () => engines.prepared?.(),
    stop: () => stop(app, config),
  };
}

/** Opens the port of the metrics, if one is configured. It closes with the application. */
async function listenForMetrics(
  app: FastifyInstance,
  { host, port, token }: Config["metrics"],
): Promise<void> {
  if (port === undefined) return;
  const metrics = createMetricsApp(app, token);
  await listen(metrics, { host, port }, "METRICS_HOST and METRICS_PORT");
  // It closes last, so that the metrics also show how a stop goes.
  app.server.once("close", () => detach(metrics.close()));
  app.log.info(`metrics at ${addressOf(metrics)}/metrics`);
}

/**
 * How many connections may wait until the process takes them. With the default of
 * Node.js, 511, a crowd that comes back at once after a restart overflows the queue,
 * and who does not get in tries again only after 1, 3 or 7 seconds. Linux bounds it by
 * `net.core.somaxconn`, which is 4096 by default.
 */
const BACKLOG = 4096;

/** @param variables names the variables of the address, for an error message. */
async function listen(
  app: FastifyInstance,
  { host, port }: { host: string; port: number },
  variables: string,
): Promise<void> {
  try {
    await app.listen({ host, port, backlog: BACKLOG });
  } catch (error) {
    const { code = "", message } = error as NodeJS.ErrnoException;
    const advice = ADVICE[code];
    throw new Failure(`cannot listen at ${variables}: ${message}${advice ? `; ${advice}` : ""}`);
  }
}

const ADVICE: Record<string, string> = {
  EADDRINUSE: "another process has this port",
  EADDRNOTAVAIL: "not an address of this machine",
  EACCES: "ports below 1024 need a privilege",
  ENOTFOUND: "no machine has this name",
};

function addressOf(app: FastifyInstance): string {
  const { address, family, port } = app.server.address() as AddressInfo;
  // "Every interface" is no address that a client could use.
  if (/^(0\.0\.0\.0|::)$/.test(address)) return `http://localhost:${port}`;
  return `http://${family === "IPv6" ? `[${address}]` : address}:${port}`;
}

async function stop(app: FastifyInstance, { drainTimeoutsMs }: Config): Promise<void> {
  app.log.info("stopping");
  await app.drain(drainTimeoutsMs.stop);
  await app.close();
  app.log.info("stopped");
}
