import cluster, { type Worker } from "node:cluster";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { AggregatorRegistry } from "prom-client";
import type { Config } from "./config.js";
import { relayEvents } from "./db/workers/events.js";
import { Failure } from "./failure.js";
import { createLogger } from "./plugins/logging.js";
import type { Gather } from "./plugins/metrics.js";
import { startServer } from "./server.js";

// Several processes on one port. The primary serves nothing: it starts workers,
// replaces those that die, and passes on that it is time to stop. The workers
// need not know of each other, as all they share is in the store.

// Each worker takes connections from the port itself. By default the primary
// would take them and hand them on; one that is on its way to a worker that dies
// would then stay open, and its client wait for an answer without end.
cluster.schedulingPolicy = cluster.SCHED_NONE;

/** The pause before a worker is replaced, in milliseconds; it doubles with each that dies soon. */
const FIRST_PAUSE = 100;
const LONGEST_PAUSE = 30_000;

/** After how many milliseconds a worker counts as sound, and the next pause as a first one. */
const SOUND = 60_000;

/** After how many milliseconds a worker that was told to stop is ended: it stops within ten seconds. */
const STOP_PATIENCE = 15_000;

/** The variable that names all workers of one primary to each of them. */
const WORKERS = "FOYER_WORKERS";

/** What a worker tells the primary. */
type News =
  | { foyer: "serving"; address: string }
  | { foyer: "failed"; reason: string }
  /** It wants the metrics of all workers as one text. */
  | { foyer: "gather"; id: number };

/** What the primary tells a worker. */
type Order =
  { foyer: "stop" } | { foyer: "gathered"; id: number; text?: string };

/** No worker could serve; the message is one line that says why. */
export class ClusterError extends Failure {}

/** The workers, seen from the primary. */
export interface Cluster {
  /** Where they listen, for links. */
  address: string;
  /** Lets them finish what is in flight, and ends when all have ended. */
  stop(): Promise<void>;
}

/**
 * Starts the workers.
 * @throws {ClusterError} when all of them end before one serves.
 */
export async function startCluster(config: Config): Promise<Cluster> {
  const log = await createLogger(config.logLevel);
  const registry = new AggregatorRegistry();
  const workers = randomUUID();
  const pauses = new Set<NodeJS.Timeout>();
  let resolve: (address: string) => void;
  let reject: (error: ClusterError) => void;
  const address = new Promise<string>(
    (...settle) => ([resolve, reject] = settle),
  );
  let hasServed = false;
  let stopping = false;
  /** Workers that ended before any served; what ended them may end all. */
  let missing = 0;
  let reason = "no worker could start";
  let nextPause = FIRST_PAUSE;

  function start(): void {
    const started = performance.now();
    const worker = cluster.fork({ [WORKERS]: workers });
    relayEvents(worker.process, () => living().map((other) => other.process));
    worker.on("message", (news: News) => {
      if (news.foyer === "serving") onServing(news.address);
      if (news.foyer === "failed") reason = news.reason;
      if (news.foyer === "gather") void gather(worker, news.id);
    });
    worker.once("exit", (code, signal) => {
      if (stopping) return;
      if (!hasServed) {
        if (++missing === config.workers) reject(new ClusterError(reason));
        return;
      }
      if (performance.now() - started > SOUND) nextPause = FIRST_PAUSE;
      log.warn(
        `worker ${worker.process.pid} ended (${signal ?? code}); another starts in ${nextPause} ms`,
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
    nextPause = Math.min(2 * nextPause, LONGEST_PAUSE);
  }

  function onServing(address: string): void {
    hasServed = true;
    resolve(address);
    for (; missing > 0; missing--) replace();
  }

  async function gather(worker: Worker, id: number): Promise<void> {
    // A worker that does not answer costs a scrape, and not the service.
    const text = await registry.clusterMetrics().catch(() => undefined);
    send(worker, { foyer: "gathered", id, ...(text && { text }) });
  }

  for (let count = 0; count < config.workers; count++) start();
  return {
    address: await address,
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
  // By a message: a service manager sends its signal to workers as well, and a
  // second one would end them where they are.
  send(worker, { foyer: "stop" });
  const kill = setTimeout(() => worker.process.kill("SIGKILL"), STOP_PATIENCE);
  await ended;
  clearTimeout(kill);
}

function send(worker: Worker, order: Order): void {
  // One that has just died takes no orders, and needs none.
  if (worker.isConnected()) worker.send(order, () => {});
}

/**
 * Serves as one of the workers, until it is told to stop.
 * @param signalled resolves when a signal says so; the primary may, too.
 */
export async function runWorker(
  config: Config,
  signalled: Promise<void>,
): Promise<void> {
  // Makes this process answer when the primary asks for its metrics.
  new AggregatorRegistry();
  const stop = Promise.race([signalled, orderedToStop()]);
  try {
    const server = await startServer(config, {
      workers: process.env[WORKERS]!,
      gather: gatherAll(),
    });
    const { metrics } = server.app;
    if (metrics) AggregatorRegistry.setRegistries([metrics.registry]);
    await tell({ foyer: "serving", address: server.address });
    await stop;
    await server.stop();
  } catch (error) {
    // The primary says it once, for all.
    await tell({ foyer: "failed", reason: (error as Error).message });
  }
  process.disconnect();
}

function orderedToStop(): Promise<void> {
  return new Promise((resolve) => {
    process.on("message", (order: Order) => {
      if (order.foyer === "stop") resolve();
    });
  });
}

const tell = (news: News): Promise<void> =>
  new Promise((resolve) => void process.send!(news, () => resolve()));

/** Only the primary can ask all workers: whichever is scraped lets it do so. */
function gatherAll(): Gather {
  const asked = new Map<number, (text: string | undefined) => void>();
  let lastId = 0;
  process.on("message", (order: Order) => {
    if (order.foyer !== "gathered") return;
    asked.get(order.id)?.(order.text);
    asked.delete(order.id);
  });
  return async () => {
    const id = ++lastId;
    const text = await new Promise<string | undefined>((resolve) => {
      asked.set(id, resolve);
      void tell({ foyer: "gather", id });
    });
    if (text === undefined)
      throw new Error("A worker did not tell its metrics.");
    return text;
  };
}
