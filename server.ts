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
  /** The URL that the server listens on. */
  address: string;
  /** The number of worlds at startup. */
  worlds: number;
  /**
   * Ends the preparation. Call this once everything started by `prepare` is done, even if the
   * server has already started.
   */
  prepared(): void;
  /**
   * Drains requests in flight, for at most `config.drainTimeoutsMs.stop`, and then closes the
   * application and its engines.
   */
  stop(): Promise<void>;
}

/** Connects a server to other processes that serve the same worlds. */
export interface Siblings {
  worker: WorkerNames;
  /** Merges the server's metrics with the metrics of the other processes. */
  gather: Gather;
}

/**
 * Opens the engines and starts listening.
 * @param siblings set if there are other processes.
 * @param prepare runs before the first request. It returns the key of the first event's setup link,
 * or undefined if there is no such link.
 * @throws {StoreError} or {Failure}, with a one-line reason.
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
    // With several processes, the primary logs this.
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

/** Opens the metrics port, if one is configured. The port is closed along with the application. */
async function listenForMetrics(
  app: FastifyInstance,
  { host, port, token }: Config["metrics"],
): Promise<void> {
  if (port === undefined) return;
  const metrics = createMetricsApp(app, token);
  await listen(metrics, { host, port }, "METRICS_HOST and METRICS_PORT");
  // The metrics port closes last, so that the metrics also cover the shutdown.
  app.server.once("close", () => detach(metrics.close()));
  app.log.info(`metrics at ${addressOf(metrics)}/metrics`);
}

/**
 * Size of the listen backlog. With Node.js's default of 511, a crowd that reconnects simultaneously
 * after a restart overflows the queue, and clients that were dropped retry only after 1, 3 or 7
 * seconds. Linux caps the backlog at `net.core.somaxconn`, which is 4096 by default.
 */
const BACKLOG = 4096;

/** @param variables the names of the environment variables that set the address, for error messages. */
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
    throw new Failure(`cannot listen on ${variables}: ${message}${advice ? `; ${advice}` : ""}`);
  }
}

const ADVICE: Record<string, string> = {
  EADDRINUSE: "another process uses this port",
  EADDRNOTAVAIL: "this machine does not have this address",
  EACCES: "ports below 1024 require privileges",
  ENOTFOUND: "no such host",
};

function addressOf(app: FastifyInstance): string {
  const { address, family, port } = app.server.address() as AddressInfo;
  // Clients cannot connect to a wildcard address.
  if (/^(0\.0\.0\.0|::)$/.test(address)) return `http://localhost:${port}`;
  return `http://${family === "IPv6" ? `[${address}]` : address}:${port}`;
}

async function stop(app: FastifyInstance, { drainTimeoutsMs }: Config): Promise<void> {
  app.log.info("stopping");
  await app.drain(drainTimeoutsMs.stop);
  await app.close();
  app.log.info("stopped");
}
