import { type Store, StoreError } from "../../../db/contract/store.js";
import type { BatchReport, WriteCall } from "../../../db/engines/sqlite/engine/write-calls.js";
import type { StartRunner } from "../../../db/engines/sqlite/engine/write-runner.js";
import { openSqliteStore } from "../../../db/engines/sqlite/index.js";
import type { OnAppended, LogPosition } from "../../../db/log/entries.js";
import type { Random } from "./random.js";
import type { Cluster, ProcessTime } from "./timeline.js";

/** Faults of store calls, each as a probability. */
export interface StoreFaults {
  /** A read or a write fails without any effect. */
  failed: number;
  /** A write fails, but may have been applied. */
  doubtful: number;
  /** A call takes up to a second. */
  slow: number;
}

/** The parts of a process that its store uses. */
interface StoreParts {
  readonly time: ProcessTime;
  readonly onAppended: OnAppended;
  /** Returns the last entries that this process has seen. */
  readonly seen: () => ReadonlyMap<string, LogPosition>;
}

const READS: ReadonlySet<string> = new Set([
  "get",
  "find",
  "getMany",
  "blocked",
  "all",
  "list",
  "heads",
  "since",
  "lastId",
  "channel",
  "events",
  "event",
  "deliveries",
  "isMember",
  "members",
  "memberships",
  "unread",
  "seen",
  "ofUser",
  "ballots",
  "voters",
  "favorites",
]);

type Method = (...args: unknown[]) => Promise<unknown>;

/**
 * Returns the store of one process. It simulates a database server shared by all processes: each
 * read and each transaction takes time. Either may fail, and the process may end between a commit
 * and its answer.
 */
export function simulatedStore(cluster: Cluster, { time, seen, onAppended }: StoreParts): Store {
  const { database, timeline, random } = cluster;
  let losses = database.losses;

  /** Raises lost sequence numbers if the database has gone back since the last call. */
  function reconnect(): void {
    if (losses === database.losses) return;
    losses = database.losses;
    database.raiseLost(seen());
  }

  const endOfCall = () =>
    timeline.now + random.next() * (random.chance(cluster.faults.slow) ? 1_000 : 4);

  function readLater(read: () => Promise<unknown>): Promise<unknown> {
    reconnect();
    const before = losses;
    const fails = random.chance(cluster.faults.failed);
    const end = endOfCall();
    // A read may see the state at the time of either the call or the answer.
    const early = random.chance(0.5) ? read() : undefined;
    early?.catch(() => {});
    return new Promise((resolve, reject) => {
      timeline.at(end, () => {
        const lost = before === database.losses ? undefined : failure("unusable");
        const error = fails ? failureBy(random) : lost;
        const found = error ? Promise.reject(error) : (early ?? read());
        found.then(
          (value) => time.whenAwake(() => resolve(value)),
          (fault: Error) => time.whenAwake(() => reject(fault)),
        );
      });
    });
  }

  async function write(calls: readonly WriteCall[], before: number): Promise<BatchReport> {
    if (random.chance(cluster.faults.failed)) return failed(calls, failureBy(random));
    // The connection was lost along with the database.
    if (before !== database.losses) return failed(calls, failure("doubtful"));
    const isDoubtful = random.chance(cluster.faults.doubtful);
    if (isDoubtful && random.chance(0.5)) return failed(calls, failure("doubtful"));
    const report = await database.run(calls);
    return isDoubtful ? failed(calls, failure("doubtful")) : report;
  }

  const runner: StartRunner = (_, { onReport }) => ({
    post(calls) {
      if (!Array.isArray(calls)) return;
      reconnect();
      const before = losses;
      timeline.at(endOfCall(), () => {
        void write(calls, before).then((report) => time.whenAwake(() => onReport(report)));
      });
    },
  });

  const store = openSqliteStore(database.connection, { clock: time, runner, onAppended });
  // Omits what only an in-process store has: immediate reads, and a number for its state.
  const made = Object.fromEntries(
    Object.entries(store).map(([part, methods]) => {
      const own = Object.entries(methods as unknown as Record<string, Method>).map(
        ([name, method]): [string, Method] =>
          READS.has(name) ? [name, (...args) => readLater(() => method(...args))] : [name, method],
      );
      return [part, Object.fromEntries(own.filter(([name]) => name !== "state"))];
    }),
  ) as Partial<Store> as Store;
  const history = async () => {
    const name = await readLater(async () => String(database.losses));
    return { name: name as string, isKept: false };
  };
  return { ...made, log: { ...made.log, history } };
}

const failure = (problem: "busy" | "unusable" | "doubtful") =>
  new StoreError(problem, "Simulated.");

const failureBy = (random: Random) => failure(random.chance(0.7) ? "busy" : "unusable");

const failed = (calls: readonly WriteCall[], { problem, message }: StoreError): BatchReport => ({
  answers: calls.map(([id]) => [id, undefined, { problem, message }]),
  hints: [],
  erased: false,
});
