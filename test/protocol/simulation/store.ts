import { type Store, StoreError } from "../../../db/contract/store.js";
import type { BatchReport, WriteCall } from "../../../db/engines/sqlite/engine/write-calls.js";
import type { StartRunner } from "../../../db/engines/sqlite/engine/write-runner.js";
import { openSqliteStore } from "../../../db/engines/sqlite/index.js";
import type { OnAppended, Position } from "../../../db/log/entries.js";
import type { Random } from "./random.js";
import type { Cluster, ProcessTime } from "./timeline.js";

/** How the calls of a store fail, each as a probability. */
export interface StoreFaults {
  /** A read or a write fails, and nothing is done. */
  failed: number;
  /** A write fails, and may have been done. */
  doubtful: number;
  /** A call takes up to a second. */
  slow: number;
}

/** What a process gives its store. */
interface StoreParts {
  readonly time: ProcessTime;
  readonly onAppended: OnAppended;
  /** The last entries that this process has seen. */
  readonly seen: () => ReadonlyMap<string, Position>;
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
 * The store of one process, as that of a server that all processes share: each read takes time,
 * and so does each transaction. Both may fail, and the process may end between a commit and its
 * answer.
 */
export function simulatedStore(cluster: Cluster, { time, seen, onAppended }: StoreParts): Store {
  const { database, timeline, random } = cluster;
  let losses = database.losses;

  /** A process that lost the database compares before it goes on. */
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
    // The state that a read sees may be as old as the call, or as young as the answer.
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
    // The connection was lost with the database.
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
  // Without what only a store in the same process has: reads at once, and a number of its state.
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
