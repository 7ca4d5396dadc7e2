import type { FastifyReply, FastifyRequest } from "fastify";
import fp from "fastify-plugin";
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from "prom-client";
import type { SharedHealth } from "../db/contract/engines.js";
import type { StoreCounts } from "../db/contract/store.js";
import { version } from "../schemas/plain/version.js";
import type { Gather } from "./gather.js";

/** The metrics of one application. */
export interface Metrics {
  /** The metrics of this process. */
  readonly registry: Registry;
  /** Counts a stored file. */
  uploaded(bytes: number): void;
  /** Returns all metrics in the Prometheus text format. */
  text(): Promise<string>;
}

declare module "fastify" {
  interface FastifyInstance {
    /** The application's metrics; undefined unless metrics are served. */
    metrics?: Metrics;
  }
}

/** Buckets for request durations, in seconds: from a response served from memory to an upload or a slow disk. */
const BUCKETS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10, 60];

/** The store's counts, by metric name. */
const gauges: Record<string, [count: keyof StoreCounts, help: string]> = {
  foyer_worlds: ["worlds", "Worlds."],
  foyer_rooms: ["rooms", "Rooms of all worlds."],
  foyer_users: ["users", "Users of all worlds, without those erased."],
  foyer_file_bytes: ["fileBytes", "Bytes of all uploaded files that are kept."],
  foyer_database_bytes: ["databaseBytes", "Bytes of the database on the disk."],
  foyer_oldest_erasure_seconds: [
    "erasureAge",
    "How long something that was deleted has been in the database's files, in seconds; 0 if nothing is.",
  ],
};

/** Registers metrics about the servers shared by several machines. */
function sharedGauges(registry: Registry, health: () => SharedHealth): void {
  const registers = [registry];
  new Gauge({
    name: "foyer_database_connections",
    help: "Connections to PostgreSQL for statements, by state; and requests that wait for one.",
    labelNames: ["state"] as const,
    registers,
    collect() {
      const { idle, used, waiting } = health().database;
      for (const [state, count] of Object.entries({ idle, used, waiting })) {
        this.set({ state }, count);
      }
    },
  });
  /** Creates a gauge that is 1 if something is up. Across processes, the gauge has the worst value. */
  const up = (name: string, help: string, isUp: () => boolean) =>
    new Gauge({
      name,
      help,
      registers,
      aggregator: "min",
      collect() {
        this.set(Number(isUp()));
      },
    });
  up("foyer_database_up", "Whether PostgreSQL can be reached.", () => health().database.isUp);
  if (health().isValkeyUp === undefined) return;
  up(
    "foyer_valkey_up",
    "Whether events reach other nodes through Valkey.",
    () => health().isValkeyUp === true,
  );
}

/** Provides the application's counters and gauges. */
export default fp<{ gather?: Gather }>(
  async (app, { gather = (own) => own.metrics() }) => {
    const registry = new Registry();
    const registers = [registry];
    collectDefaultMetrics({ register: registry });

    const durations = new Histogram({
      name: "foyer_http_request_duration_seconds",
      help: "Requests by the pattern of their route and by status, and how long each took.",
      labelNames: ["method", "route", "status"] as const,
      buckets: BUCKETS,
      registers,
    });
    const uploads = new Counter({
      name: "foyer_uploads_total",
      help: "Files that were uploaded and stored.",
      registers,
    });
    const uploadBytes = new Counter({
      name: "foyer_upload_bytes_total",
      help: "Bytes of the files that were uploaded and stored.",
      registers,
    });

    const events = new Counter({
      name: "foyer_events_total",
      help: "Events that this process published or received, by their type.",
      labelNames: ["type"] as const,
      registers,
    });
    app.events.subscribe(({ type }) => events.inc({ type }));
    new Counter({
      name: "foyer_log_entries_read_total",
      help: "Entries of followed worlds that this process read from the log, because no message about them came in time.",
      registers,
      collect() {
        this.reset();
        this.inc(app.events.caughtUp);
      },
    });

    new Gauge({
      name: "foyer_build_info",
      help: "The version of Foyer and of Node.js, as labels; always 1.",
      labelNames: ["version", "node"] as const,
      registers,
      aggregator: "first",
    }).set({ version, node: process.versions.node }, 1);
    if (app.sharedHealth) sharedGauges(registry, app.sharedHealth);

    // A scrape collects all gauges concurrently, so they share one call to the store.
    let looking: Promise<StoreCounts> | undefined;
    const look = () => (looking ??= app.store.counts().finally(() => (looking = undefined)));
    for (const [name, [count, help]] of Object.entries(gauges)) {
      new Gauge({
        name,
        help,
        registers,
        // All processes share the same store.
        aggregator: "first",
        async collect() {
          this.set((await look())[count]);
        },
      });
    }

    // Looking up a histogram by its labels costs more than observing a value.
    const found = new Map<string, { observe(seconds: number): void }>();
    function durationsOf({ method, routeOptions }: FastifyRequest, status: number) {
      const route = routeOptions.url ?? "none";
      const key = `${method} ${status} ${route}`;
      let child = found.get(key);
      if (!child) {
        child = durations.labels({ method, route, status });
        found.set(key, child);
      }
      return child;
    }

    app.addHook(
      "onResponse",
      function measure(request: FastifyRequest, reply: FastifyReply, done: () => void) {
        durationsOf(request, reply.statusCode).observe(reply.elapsedTime / 1000);
        done();
      },
    );

    app.decorate("metrics", {
      registry,
      uploaded(bytes) {
        uploads.inc();
        uploadBytes.inc(bytes);
      },
      text: () => gather(registry),
    } satisfies Metrics);
  },
  { name: "metrics", dependencies: ["engines"] },
);
