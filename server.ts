import type { AddressInfo } from "node:net";
import type { FastifyInstance } from "fastify";
import { createApp, createMetricsApp } from "./app.js";
import type { Config } from "./config.js";
import { openEngines } from "./db/open.js";
import { Failure } from "./failure.js";
import { createLogger } from "./plugins/logging.js";
import type { Gather } from "./plugins/metrics.js";

export interface Server {
  app: FastifyInstance;
  /** Where it listens, for links. */
  address: string;
  /** Finishes what is in flight, for at most `config.patience.stop`, and lets go of everything. */
  stop(): Promise<void>;
}

/** What ties a server to others that serve the same worlds. */
export interface Siblings {
  /** Names all workers of one primary; see {@link EngineOptions.workers}. */
  workers: string;
  /** Where its metrics become one with those of other processes. */
  gather: Gather;
}

/**
 * Opens the engines and listens.
 * @param siblings if there are others.
 * @throws {StoreError} or an error of the listening socket, with one line that says why.
 */
export async function startServer(
  config: Config,
  siblings?: Siblings,
): Promise<Server> {
  const logger = await createLogger(config.logLevel);
  const engines = await openEngines({
    dataDir: config.dataDir,
    log: (line) => logger.info(line),
    onFault: (error) => logger.error(error),
    ...(siblings && { workers: siblings.workers }),
  });
  const app = createApp({
    config,
    engines,
    logger,
    ...(siblings && { gather: siblings.gather }),
  });
  try {
    await listen(app, config, "HOST and PORT");
    await listenForMetrics(app, config.metrics);
  } catch (error) {
    await app.close();
    throw error;
  }
  return { app, address: addressOf(app), stop: () => stop(app, config) };
}

/** Opens the port of the metrics, if there is to be one; it closes with the application. */
async function listenForMetrics(
  app: FastifyInstance,
  { host, port, token }: Config["metrics"],
): Promise<void> {
  if (port === undefined) return;
  const metrics = createMetricsApp(app, token);
  await listen(metrics, { host, port }, "METRICS_HOST and METRICS_PORT");
  // Until the end: how a stop goes is worth seeing, too.
  app.server.once("close", () => void metrics.close());
  app.log.info(`metrics at ${addressOf(metrics)}/metrics`);
}

/** @param variables that say where, for the one line if it cannot. */
async function listen(
  app: FastifyInstance,
  { host, port }: { host: string; port: number },
  variables: string,
): Promise<void> {
  try {
    await app.listen({ host, port });
  } catch (error) {
    const { code = "", message } = error as NodeJS.ErrnoException;
    const advice = ADVICE[code];
    throw new Failure(
      `cannot listen at ${variables}: ${message}${advice ? `; ${advice}` : ""}`,
    );
  }
}

const ADVICE: Record<string, string> = {
  EADDRINUSE: "another process has this port",
  EADDRNOTAVAIL: "it is no address of this machine",
  EACCES: "ports below 1024 are not for everybody",
  ENOTFOUND: "no machine has this name",
};

function addressOf(app: FastifyInstance): string {
  const { address, family, port } = app.server.address() as AddressInfo;
  // Nobody can go to "every interface".
  if (/^(0\.0\.0\.0|::)$/.test(address)) return `http://localhost:${port}`;
  return `http://${family === "IPv6" ? `[${address}]` : address}:${port}`;
}

async function stop(app: FastifyInstance, { patience }: Config): Promise<void> {
  app.log.info("stopping");
  await app.drain(patience.stop);
  await app.close();
  app.log.info("stopped");
}
