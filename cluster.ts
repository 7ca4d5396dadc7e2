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

// Several processes on one port. The primary serves nothing: it starts workers,
// replaces those that die, and tells them when to stop. The workers know nothing
// of each other: they share the store, and their messages pass through the primary.

// Each worker accepts connections itself. By default the primary accepts them and
// hands them on. If a worker died while one was on its way, that connection would
// stay open, and its client would wait forever.
cluster.schedulingPolicy = cluster.SCHED_NONE;

/** The pause before a worker is replaced, in milliseconds. It doubles with each one that dies early. */
const FIRST_RESTART_DELAY_MS = 100;
const MAX_RESTART_DELAY_MS = 30_000;

/** After how many milliseconds a worker counts as healthy, and the pause starts over. */
const HEALTHY_AFTER_MS = 60_000;

/** After how many milliseconds a stopping worker is killed. It should stop within ten seconds. */
const STOP_TIMEOUT_MS = 15_000;

/** The variables that give each worker the name of its group and its own. */
const WORKERS = "FOYER_WORKERS";
const WORKER = "FOYER_WORKER";
/** Gives the workers the link that sets up the first event, as JSON. */
const SETUP = "FOYER_SETUP";

/** A message of a worker to the primary. */
type News =
  | { foyer: "serving"; address: string }
  | { foyer: "failed"; reason: string }
  /** Asks for the metrics of all workers as one text. */
  | { foyer: "gather"; id: number };

/** A message of the primary to a worker. */
type Order = { foyer: "stop" } | { foyer: "gathered"; id: number; text?: string };

const isNews = isKindOf("foyer", {
  serving: isRecord({ address: isText }),
  failed: isRecord({ reason: isText }),
  gather: isRecord({ id: isCount }),
});

const isOrder = isKindOf("foyer", {
  stop: isRecord({}),
  gathered: isRecord({ id: isCount }, { text: isText }),
});

/** Handles messages of one shape, and ignores others on the channel, such as messages of the bus. */
const hearing =
  <T>(isOne: Shape, hear: (message: T) => void) =>
  (message: unknown): void => {
    if (isOne(message)) hear(message as T);
  };

/** No worker could serve; the message is one line that says why. */
export class ClusterError extends Failure {}

/** The workers, seen from the primary. */
export interface Cluster {
  /** The URL where they listen. */
  address: string;
  worlds: number;
  /** Lets them finish the requests in flight, and resolves when all have ended. */
  stop(): Promise<void>;
}

/**
 * Starts the workers.
 * @param worlds how many there are.
 * @param setup of the link that sets up the first event.
 * @throws {ClusterError} if all of them end before one serves.
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
  /** How many workers ended before any served: the cause may end all of them. */
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
    const hear = hearing(isNews, (news: News) => {
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
    nextPause = Math.min(2 * nextPause, MAX_RESTART_DELAY_MS);
  }

  function onServing(address: string): void {
    hasServed = true;
    resolve(address);
    for (; missing > 0; missing--) replace();
  }

  async function gather(worker: Worker, id: number): Promise<void> {
    // If a worker does not answer, only this scrape fails.
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
  // By a message, as a service manager signals the workers, too, and a second
  // signal would kill them.
  send(worker, { foyer: "stop" });
  const kill = setTimeout(() => worker.process.kill("SIGKILL"), STOP_TIMEOUT_MS);
  await ended;
  clearTimeout(kill);
}

function send(worker: Worker, order: Order): void {
  // A worker that has just died cannot be told, and need not be.
  if (worker.isConnected()) worker.send(order, () => {});
}

/**
 * Serves as one of the workers until the primary stops it.
 * @param signalled resolves on a signal to stop; the primary may send an order, too.
 */
export async function runWorker(config: Config, signalled: Promise<void>): Promise<void> {
  // The registry sends the metrics of this process when the primary asks for them.
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
    // The primary reports it, once for all workers.
    await report({ foyer: "failed", reason: (error as Error).message });
  }
  process.disconnect();
}

function orderedToStop(): Promise<void> {
  return new Promise((resolve) => {
    const hear = hearing(isOrder, (order: Order) => {
      if (order.foyer === "stop") resolve();
    });
    process.on("message", hear);
  });
}

const report = (news: News): Promise<void> =>
  new Promise((resolve) => void process.send!(news, () => resolve()));

/** Only the primary can ask all workers, so the worker that is scraped asks the primary. */
function gatherAll(): Gather {
  const asked = new Map<number, (text: string | undefined) => void>();
  let lastId = 0;
  const hear = hearing(isOrder, (order: Order) => {
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
