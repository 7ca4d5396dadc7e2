import type { AttendanceStore } from "../../../db/contract/attendance.js";
import type { Entry, LogStore, OnAppended } from "../../../db/log/entries.js";
import type { Position } from "../../../db/log/log.js";
import { type Store, StoreError } from "../../../db/contract/store.js";
import type { Random } from "../random.js";
import type { ProcessTime, Timeline } from "../timeline.js";
import { chatStore } from "./chat.js";
import type { Database } from "./database.js";
import { pollStore } from "./polls.js";
import { questionStore } from "./questions.js";
import { programStore } from "./program.js";
import { announcementStore, roomStore, worldStore } from "./places.js";
import type { Sync } from "./sync.js";
import type { Transaction } from "./transaction.js";
import { userStore } from "./users.js";

/** How the calls of a store fail, each as a probability. */
export interface StoreFaults {
  /** A read or a write fails, and nothing is done. */
  failed: number;
  /** A write fails, and may have been done. */
  doubtful: number;
  /** A call takes up to a second. */
  slow: number;
}

/** What the simulated store of one process is made of. */
export interface StoreParts {
  readonly database: Database;
  readonly timeline: Timeline;
  readonly time: ProcessTime;
  readonly random: Random;
  readonly faults: () => StoreFaults;
  readonly onAppended: OnAppended;
  /** The last entries that this process has seen. */
  readonly seen: () => ReadonlyMap<string, Position>;
}

const logStore: Sync<Omit<LogStore, "prune">> = {
  heads: ({ tables: { heads } }, worlds) =>
    worlds.map((world) => heads.get(world) ?? { seq: 0, tag: 0 }),
  since({ tables }, world, seq, limit) {
    const all: readonly Entry[] = tables.log.get(world) ?? [];
    const tag = seq === 0 ? 0 : all.find((it) => it.seq === seq)?.tag;
    const entries = all.filter((it) => it.seq > seq).slice(0, limit);
    return { tag, entries };
  },
};

/** No push follows from attendance, so a simulation keeps none. */
const attendanceStore: Sync<Pick<AttendanceStore, "sample" | "note">> = {
  sample: () => undefined,
  note: () => undefined,
};

const parts = {
  worlds: worldStore,
  rooms: roomStore,
  users: userStore,
  announcements: announcementStore,
  chat: chatStore,
  questions: questionStore,
  polls: pollStore,
  program: programStore,
  attendance: attendanceStore,
  log: logStore,
};

const READS: ReadonlySet<string> = new Set([
  ...["get", "find", "getMany", "all", "list", "heads", "since"],
  ...[
    "lastId",
    "channel",
    "events",
    "event",
    "deliveries",
    "isMember",
    "members",
  ],
  ...[
    "memberships",
    "unread",
    "seen",
    "ofUser",
    "ballots",
    "voters",
    "favorites",
  ],
]);

/** A method of the simulated database. */
type Method = (tx: Transaction, ...args: never[]) => unknown;

/** The store of one process: each call takes time, and may fail. */
export function simulatedStore(own: StoreParts): Store {
  const call = caller(own);
  const store = Object.fromEntries(
    Object.entries(parts).map(([part, methods]) => [
      part,
      Object.fromEntries(
        Object.entries(methods).map(([name, method]) => [
          name,
          (...args: never[]) =>
            call(READS.has(name), (tx) => (method as Method)(tx, ...args)),
        ]),
      ),
    ]),
  );
  const made = store as unknown as Store;
  const history = () =>
    call(true, () => ({ name: String(own.database.losses), isKept: false }));
  return { ...made, log: { ...made.log, history } } as Store;
}

/** Makes the function that calls the database. */
function caller(own: StoreParts) {
  const { database, timeline, time, random, faults, seen } = own;
  let losses = database.losses;

  /** A process that lost the database compares before it goes on. */
  function reconnect(): void {
    if (losses === database.losses) return;
    losses = database.losses;
    database.raiseLost(seen());
  }

  /** @returns what makes the promise of a write resolve, once the process knows of the commit. */
  function write(act: (tx: Transaction) => unknown, isDoubtful: boolean) {
    const { result, hints } = database.write(act);
    if (isDoubtful) throw doubtful();
    return async () => {
      if (hints.length > 0) await own.onAppended(hints);
      return result;
    };
  }

  return (isRead: boolean, act: (tx: Transaction) => unknown) => {
    const { failed, doubtful: doubt, slow } = faults();
    const fails = random.chance(failed);
    const isDoubtful = !isRead && random.chance(doubt);
    const isDone = !isDoubtful || random.chance(0.5);
    const isSlow = random.chance(slow);
    const end = timeline.now + random.next() * (isSlow ? 1_000 : 4);
    // The state that a read sees may be as old as the call, or as young as the answer.
    const isEarly = isRead && random.chance(0.5);
    reconnect();
    const run = (): (() => unknown) => {
      if (fails) throw failure(random);
      // The connection was lost with the database.
      if (losses !== database.losses) throw isRead ? lost() : doubtful();
      if (!isDone) throw doubtful();
      if (!isRead) return write(act, isDoubtful);
      const found = act(database.begin());
      return () => found;
    };
    return new Promise<unknown>((resolve, reject) => {
      const settle = (attempt: () => () => unknown) => {
        try {
          const finish = attempt();
          time.whenAwake(() => resolve(finish()));
        } catch (error) {
          const fault = error as Error;
          time.whenAwake(() => reject(fault));
        }
      };
      const early = isEarly ? outcomeOf(run) : run;
      timeline.at(end, () => settle(early));
    });
  };
}

/** Does something now, and gives or throws the outcome later. */
function outcomeOf<T>(act: () => T): () => T {
  try {
    const found = act();
    return () => found;
  } catch (error) {
    return () => {
      throw error;
    };
  }
}

const failure = (random: Random) =>
  random.chance(0.7)
    ? new StoreError("busy", "Simulated.")
    : new StoreError("unusable", "Simulated.");

const lost = () => new StoreError("unusable", "The database is lost.");

const doubtful = () => new StoreError("doubtful", "Simulated.");
