import cluster from "node:cluster";
import type { Worker } from "node:cluster";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { AggregatorRegistry } from "prom-client";
import type { Config } from "./config.js";
import { relayMessages } from "./db/bus/cluster.js";
import { createLogger } from "./plugins/logging.js";
import type { Gather } from "./plugins/gather.js";
import type { SetupKey } from "./plugins/setup.js";
import { startLine } from "./plugins/start-line.js";
import { Failure } from "./schemas/plain/failure.js";
import { isCount, isKindOf, isRecord, isText, type Shape } from "./schemas/plain/shapes.js";
import { startServer } from "./server.js";

// Several processes on one port. The primary serves no requests: it starts workers, replaces
// workers that die, and stops all workers on shutdown. Workers don't know about each other: they
// share the store, and the primary relays messages between them.

// Each worker accepts connections itself. By default, the primary would accept connections and hand
// them over. If a worker died during a handover, the connection would stay open, and its client
// would wait forever.
cluster.schedulingPolicy = cluster.SCHED_NONE;

/** Delay before a worker is restarted, in milliseconds. It doubles with each restart, up to a maximum. */
const FIRST_RESTART_DELAY_MS = 100;
const MAX_RESTART_DELAY_MS = 30_000;

/** Uptime after which a worker counts as healthy and the restart delay is reset, in milliseconds. */
const HEALTHY_AFTER_MS = 60_000;

/** Timeout after which a stopping worker is killed, in milliseconds. Workers should stop within ten seconds. */
const STOP_TIMEOUT_MS = 15_000;

/** The environment variables that hold the name of a worker's group, and the worker's own name. */
const WORKERS = "FOYER_WORKERS";
const WORKER = "FOYER_WORKER";
/** The environment variable that holds the key of the first event's setup link, as JSON. */
const SETUP = "FOYER_SETUP";

/** A message from a worker to the primary. */
type WorkerMessage =
  | { foyer: "serving"; address: string }
  | { foyer: "failed"; reason: string }
  /** Requests all workers' metrics, as a single string. */
  | { foyer: "gather"; id: number };

/** A message from the primary to a worker. */
type PrimaryMessage = { foyer: "stop" } | { foyer: "gathered"; id: number; text?: string };

const isNews = isKindOf("foyer", {
  serving: isRecord({ address: isText }),
  failed: isRecord({ reason: isText }),
  gather: isRecord({ id: isCount }),
});

const isOrder = isKindOf("foyer", {
  stop: isRecord({}),
  gathered: isRecord({ id: isCount }, { text: isText }),
});

/** Handles messages of one shape. Ignores all other messages on the channel, such as bus messages. */
const messageHandler =
  <T>(isOne: Shape, hear: (message: T) => void) =>
  (message: unknown): void => {
    if (isOne(message)) hear(message as T);
  };

/** Thrown if no worker could start. The message states the reason in one line. */
export class ClusterError extends Failure {}

/** The workers, as seen by the primary. */
export interface Cluster {
  /** The URL that the workers listen on. */
  address: string;
  worlds: number;
  /** Drains the requests in flight, and resolves when all workers have exited. */
  stop(): Promise<void>;
}

/**
 * Starts the workers.
 * @param worlds the number of worlds, for the log.
 * @param setup the key of the first event's setup link.
 * @throws {ClusterError} if all workers exit before any worker serves.
 */
export async function startCluster(
  config: Config,
  worlds: number,
  setup?: SetupKey,
): Promise<Cluster> {
  const log = await createLogger(config.logLevel);
  log.info(...startLine(config, worlds));
  const registry = new AggregatorRegistry();
  const workers = randomUUID();
  const pauses = new Set<NodeJS.Timeout>();
  let resolve: (address: string) => void;
  let reject: (error: ClusterError) => void;
  const address = new Promise<string>((...settle) => ([resolve, reject] = settle));
  let hasServed = false;
  let stopping = false;
  /**
   * The number of workers that exited before any worker served. These workers are restarted only
   * after another worker serves, because all workers may fail for the same reason.
   */
  let missing = 0;
  let reason = "no worker could start";
  let nextPause = FIRST_RESTART_DELAY_MS;

  function start(): void {
    const started = performance.now();
    const name = randomUUID();
    const worker = cluster.fork({
      [WORKERS]: workers,
      [WORKER]: name,
      ...(setup && { [SETUP]: JSON.stringify(setup) }),
    });
    relayMessages(worker.process, name, () => living().map((other) => other.process));
    const hear = messageHandler(isNews, (news: WorkerMessage) => {
      if (news.foyer === "serving") onServing(news.address);
      if (news.foyer === "failed") reason = news.reason;
      if (news.foyer === "gather") {
        gather(worker, news.id).catch((error: unknown) => log.error(error));
      }
    });
    worker.on("message", hear);
    worker.once("exit", (code, signal) => {
      if (stopping) return;
      if (!hasServed) {
        if (++missing === config.workers) reject(new ClusterError(reason));
        return;
      }
      if (performance.now() - started > HEALTHY_AFTER_MS) nextPause = FIRST_RESTART_DELAY_MS;
      log.warn(
        `worker ${worker.process.pid} exited (${signal ?? code}); restarting it in ${nextPause} ms`,
      );
      replace();
    });
  }

  function replace(): void {
    const pause = setTimeout(() => {
      pauses.delete(pause);
      start();
    }, nextPause);
    pauses.add(pause);
    nextPause = Math.min(2 * nextPause, MAX_RESTART_DELAY_MS);
  }

  function onServing(address: string): void {
    hasServed = true;
    resolve(address);
    for (; missing > 0; missing--) replace();
  }

  async function gather(worker: Worker, id: number): Promise<void> {
    // If a worker does not respond, only this scrape fails.
    const text = await registry.clusterMetrics().catch(() => undefined);
    send(worker, { foyer: "gathered", id, ...(text && { text }) });
  }

  for (let count = 0; count < config.workers; count++) start();
  return {
    address: await address,
    worlds,
    async stop() {
      stopping = true;
      pauses.forEach(clearTimeout);
      const ended = Promise.all(living().map(stopWorker));
      log.info("stopping the workers");
      await ended;
    },
  };
}

const living = () => Object.values(cluster.workers ?? {}) as Worker[];

async function stopWorker(worker: Worker): Promise<void> {
  if (worker.isDead()) return;
  const ended = once(worker, "exit");
  // Workers are stopped with a message, not with a signal: a service manager may signal the workers
  // as well, and a second signal would kill them.
  send(worker, { foyer: "stop" });
  const kill = setTimeout(() => worker.process.kill("SIGKILL"), STOP_TIMEOUT_MS);
  await ended;
  clearTimeout(kill);
}

function send(worker: Worker, order: PrimaryMessage): void {
  // Ignore workers that have already exited.
  if (worker.isConnected()) worker.send(order, () => {});
}

/**
 * Runs this process as a worker until the primary stops it.
 * @param signalled resolves on a stop signal. The primary may send a stop message instead.
 */
export async function runWorker(config: Config, signalled: Promise<void>): Promise<void> {
  // Created for its side effect: it sends this process's metrics when the primary requests them.
  new AggregatorRegistry();
  const stop = Promise.race([signalled, orderedToStop()]);
  try {
    const setup = process.env[SETUP];
    const server = await startServer(
      config,
      {
        worker: { group: process.env[WORKERS]!, process: process.env[WORKER]! },
        gather: gatherAll(),
      },
      async () => (setup === undefined ? undefined : (JSON.parse(setup) as SetupKey)),
    );
    server.prepared();
    const { metrics } = server.app;
    if (metrics) AggregatorRegistry.setRegistries([metrics.registry]);
    await report({ foyer: "serving", address: server.address });
    await stop;
    await server.stop();
  } catch (error) {
    // The primary reports the failure once for all workers.
    await report({ foyer: "failed", reason: (error as Error).message });
  }
  process.disconnect();
}

function orderedToStop(): Promise<void> {
  return new Promise((resolve) => {
    const hear = messageHandler(isOrder, (order: PrimaryMessage) => {
      if (order.foyer === "stop") resolve();
    });
    process.on("message", hear);
  });
}

const report = (news: WorkerMessage): Promise<void> =>
  new Promise((resolve) => void process.send!(news, () => resolve()));

/** Only the primary can query all workers, so the scraped worker asks the primary. */
function gatherAll(): Gather {
  const asked = new Map<number, (text: string | undefined) => void>();
  let lastId = 0;
  const hear = messageHandler(isOrder, (order: PrimaryMessage) => {
    if (order.foyer !== "gathered") return;
    asked.get(order.id)?.(order.text);
    asked.delete(order.id);
  });
  process.on("message", hear);
  return async () => {
    const id = ++lastId;
    const text = await new Promise<string | undefined>((resolve, reject) => {
      asked.set(id, resolve);
      report({ foyer: "gather", id }).catch(reject);
    });
    if (text === undefined) throw new Error("A worker did not report its metrics.");
    return text;
  };
}
