import type { Entry } from "../../../db/log/entries.js";
import type { Author } from "../../../db/contract/author.js";
import { SERVER } from "../../../db/contract/author.js";
import type { Hint, Position } from "../../../db/log/log.js";
import type { Random } from "../random.js";
import { Tables } from "./tables.js";
import { Transaction } from "./transaction.js";

/** How many numbers other processes may have seen that this one has not. */
const MARGIN = 1_000_000;

/** What rights depend on, as it was after a commit. */
export type Past = Pick<
  Tables,
  | "worlds"
  | "rooms"
  | "users"
  | "announcements"
  | "channels"
  | "members"
  | "questions"
  | "polls"
>;

const pastOf = (tables: Tables): Past => ({
  worlds: new Map(tables.worlds),
  rooms: new Map(tables.rooms),
  users: new Map(tables.users),
  announcements: new Map(tables.announcements),
  channels: new Map(tables.channels),
  members: new Map(tables.members),
  questions: new Map(tables.questions),
  polls: new Map(tables.polls),
});

/** The database that the processes of a simulation share. It can go back to an earlier state. */
export class Database {
  tables = new Tables();
  /** The states after each commit. To go back counts as a commit, too. */
  readonly past: Past[] = [pastOf(this.tables)];
  /** How often it went back. */
  losses = 0;
  /** Gets what each commit appended. */
  onCommit: (hints: readonly Hint<Entry>[]) => void = () => {};
  readonly #random: Random;
  readonly #date: () => number;
  /** The commits that appended the entries, by tag. */
  readonly #commits = new Map<number, number>();

  /** @param date the time of day, in milliseconds since 1970. */
  constructor(random: Random, date: () => number) {
    this.#random = random;
    this.#date = date;
  }

  /** The number of the last commit. */
  get commit(): number {
    return this.past.length - 1;
  }

  /** The commit that appended an entry; 0 for what was there in the beginning. */
  commitOf(tag: number): number {
    return this.#commits.get(tag) ?? 0;
  }

  /** Begins a transaction. */
  begin(): Transaction {
    return new Transaction(this.tables, this.#date(), this.#random);
  }

  /** Runs a write. @returns what it gives, and what it appended. */
  write<T>(act: (tx: Transaction) => T): {
    result: T;
    hints: readonly Hint<Entry>[];
  } {
    const tx = this.begin();
    const result = act(tx);
    const hints = tx.finish();
    if (hints.length > 0) {
      this.past.push(pastOf(this.tables));
      for (const { entry } of hints) this.#commits.set(entry.tag, this.commit);
      this.onCommit(hints);
    }
    return { result, hints };
  }

  /** Becomes an earlier state. */
  goBack(earlier: Tables): void {
    this.tables = earlier.copy();
    this.losses++;
    this.past.push(pastOf(this.tables));
  }

  /** Sees to it that no number of an entry is given twice, as PostgreSQL's engine does. */
  raiseLost(seen: ReadonlyMap<string, Position>, by: Author = SERVER): void {
    const { log, heads } = this.tables;
    for (const [world, { seq, tag }] of seen) {
      if (seq === 0 || heads.get(world)?.tag === tag) continue;
      const entries = log.get(world) ?? [];
      if (entries.some((entry) => entry.tag === tag)) continue;
      this.write((tx) => {
        const head = heads.get(world)?.seq ?? 0;
        tx.skip(world, Math.max(seq - head, 0) + MARGIN - 1);
        tx.append(world, { type: "world.raised" }, by);
      });
    }
  }
}
