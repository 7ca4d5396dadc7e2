import type { Clock } from "../../../../db/log/clock.js";
import type { FastifyBaseLogger } from "fastify";
import type { ChatStore } from "../../../../db/contract/chat.js";
import type { Replica } from "../../../people/replica/replica.js";
import { LiveError } from "../../../rules/problems.js";
import type { Gone } from "../../../people/replica/copies.js";
import type { ForeignItem, Topic } from "../../../people/replica/topic.js";
import { guardianIn } from "./guardian.js";
import { MarkWriter } from "./mark-writer.js";
import {
  isTold,
  keyOf,
  type Made,
  madeOf,
  MarkMap,
  type Told,
  toldOf,
} from "./mark.js";

/** After how many milliseconds marks are reported to other processes, together. */
const REPORT_DELAY = 20;

/**
 * How long other processes can get a mark after it was written, in milliseconds. Messages
 * may be lost, and users have to see what they read elsewhere.
 */
const TOLD_TIME = 5000;

/** How many marks may wait when the store does not take any. Then marking is refused. */
const MAX_PENDING = 200_000;

/** The ports of marks. */
export interface MarkPorts {
  readonly clock: Clock;
  readonly log: FastifyBaseLogger;
  readonly replica: Replica;
  readonly store: { readonly chat: ChatStore };
}

/**
 * Read marks that are not written yet. A room full of people marks every message, so marks
 * stay in memory, and the last one of each user in each channel is written ten seconds
 * later, or when the user leaves. Other processes with people in the world get a mark at once. If there are none, one
 * other process does, so that it can write the mark if this one ends.
 */
export class Marks {
  readonly #ports: MarkPorts;
  readonly #onForeign: (mark: Made) => void;
  readonly #own = new MarkMap();
  /** The written marks that other processes can still get. */
  readonly #written = new MarkMap();
  readonly #topic: Topic<Told>;
  /** The marks that other processes will write, by their names and scopes. */
  readonly #foreign = new Map<string, MarkMap>();
  /** The processes that got marks of worlds in which they have no people. */
  readonly #guardians = new Set<string>();
  #lastAt = 0;
  readonly #writer: MarkWriter;

  /** @param onForeign gets each mark that was made in another process. */
  constructor(ports: MarkPorts, onForeign: (mark: Made) => void) {
    this.#ports = ports;
    this.#onForeign = onForeign;
    this.#writer = new MarkWriter(ports, this.#own, {
      wrote: (marks) => this.#wrote(marks),
      rested: () => this.#shareLeft(),
    });
    this.#topic = ports.replica.topic<Told>({
      name: "marks",
      delay: REPORT_DELAY,
      isValue: isTold,
      put: (item, told) => {
        const mark = madeOf(item.key, told);
        if (mark) this.#take(item, mark, told[4]);
      },
      gone: (item, why) => this.#lose(item, why),
    });
  }

  /** How many marks of this process are not written yet. */
  get pending(): number {
    return this.#own.size;
  }

  /**
   * Takes a mark of this moment.
   * @throws {LiveError} when the store has taken none for long.
   */
  make(mark: Omit<Made, "cleared" | "at">): Made {
    const { world, user, channel, pointer, listed } = mark;
    const before = this.#own.get(user, channel);
    if (!before && this.pending >= MAX_PENDING) {
      throw new LiveError("server.unavailable", "Try again later.");
    }
    const cleared = Math.max(before?.cleared ?? 0, pointer);
    const at = this.#now();
    const made = { world, user, channel, pointer, listed, cleared, at };
    this.#keep(made);
    return made;
  }

  /**
   * A user came onto or off an unread list by an event of the channel, which the store
   * knows. An earlier mark must not undo it.
   * @param listed as in {@link Mark}.
   */
  relist(user: string, channel: string, event: number, listed: number | null) {
    const mark = this.#own.get(user, channel);
    if (mark && (mark.listed ?? 0) < event) this.#own.set({ ...mark, listed });
  }

  /** The marks of a user that may not be written yet, by channel. */
  of(user: string): ReadonlyMap<string, Made> {
    const found = new Map<string, Made>();
    for (const marks of [this.#own, ...this.#foreign.values()]) {
      for (const mark of marks.of(user)) {
        const known = found.get(mark.channel);
        if (!known || mark.at > known.at) found.set(mark.channel, mark);
      }
    }
    return found;
  }

  #now(): number {
    const { clock } = this.#ports;
    const now = clock.origin + clock.now();
    return (this.#lastAt = Math.max(now, this.#lastAt + 0.001));
  }

  #keep(mark: Made): void {
    this.#own.set(mark);
    this.#share(mark);
    this.#writer.writeSoon();
  }

  /** Sends others a mark that they may have to write. */
  #share(mark: Made): void {
    const key = keyOf(mark);
    const guardian = guardianIn(mark.world, this.#ports.replica);
    const told = toldOf(mark, false);
    this.#topic.put(mark.world, key, told);
    if (guardian === undefined) return;
    this.#guardians.add(guardian);
    this.#topic.put(guardian, key, told);
  }

  /** Others need not write these marks. */
  #wrote(marks: readonly Made[]): void {
    for (const mark of marks) {
      const key = keyOf(mark);
      for (const guardian of this.#guardians) this.#topic.delete(guardian, key);
      this.#topic.put(mark.world, key, toldOf(mark, true));
      this.#written.set(mark);
    }
    this.#ports.clock.after(TOLD_TIME, () => {
      for (const mark of marks) {
        const isLast = this.#written.delete(mark);
        const isMarked = this.#own.get(mark.user, mark.channel) !== undefined;
        if (isLast && !isMarked) this.#topic.delete(mark.world, keyOf(mark));
      }
    });
  }

  /** Another process has a later mark. */
  #unshare(mark: Made): void {
    for (const scope of [mark.world, ...this.#guardians]) {
      this.#topic.delete(scope, keyOf(mark));
    }
  }

  /** Processes with copies of marks may have ended, while the store takes none. */
  #shareLeft(): void {
    if (this.pending === 0) return this.#guardians.clear();
    for (const mark of this.#own.all()) {
      const guardian =
        guardianIn(mark.world, this.#ports.replica) ?? mark.world;
      if (!this.#topic.has(guardian, keyOf(mark))) this.#share(mark);
    }
  }

  #take({ process, scope }: ForeignItem, mark: Made, isWritten: boolean) {
    const { user, channel } = mark;
    const name = `${process} ${scope}`;
    const before = this.#foreign.get(name)?.get(user, channel);
    let marks = this.#foreign.get(name);
    if (!marks) this.#foreign.set(name, (marks = new MarkMap()));
    marks.set(mark);
    if (isWritten) this.#forgetSoon(name, mark);
    if (before && before.at >= mark.at) return;
    // It may come twice: to all processes with people in the world, and to this one alone.
    const other =
      scope === mark.world ? this.#ports.replica.process : mark.world;
    const known = this.#foreign.get(`${process} ${other}`)?.get(user, channel);
    if (known && known.at >= mark.at) return;
    const own = this.#own.get(user, channel);
    if (own) {
      const isLater =
        mark.at > own.at ||
        (mark.at === own.at && process > this.#ports.replica.process);
      if (!isLater) {
        const cleared = Math.max(own.cleared, mark.cleared);
        this.#own.set({ ...own, cleared });
        return;
      }
      // Only the process with the last mark writes. It also removes the marks that the other one removes.
      this.#own.delete(own);
      this.#unshare(own);
    }
    this.#onForeign(mark);
  }

  /** Another process withdraws a mark. */
  #lose({ process, scope, key }: ForeignItem, why: Gone): void {
    const name = `${process} ${scope}`;
    const [user, channel] = key.split(" ");
    const mark = this.#foreign.get(name)?.get(user!, channel!);
    if (!mark) return;
    if (why === "deleted") return this.#forgetSoon(name, mark);
    this.#forget(name, mark);
    if (why === "ended") this.#adopt(mark);
  }

  /** A read of this turn may still see the store as it was before the mark was written. */
  #forgetSoon(name: string, mark: Made): void {
    this.#ports.clock.after(REPORT_DELAY, () => this.#forget(name, mark));
  }

  #forget(name: string, mark: Made): void {
    const marks = this.#foreign.get(name);
    marks?.delete(mark);
    if (marks?.size === 0) this.#foreign.delete(name);
  }

  /**
   * Takes over the unwritten marks of a process. Several processes may do so, with the same
   * result. A process that was only silent may have written later marks, which must not go
   * back.
   */
  #adopt(mark: Made): void {
    const own = this.#own.get(mark.user, mark.channel);
    if (!own || own.at < mark.at) this.#keep({ ...mark, forward: true });
  }

  /** The last connection of a user has left: the next one may be elsewhere. */
  leave(user: string): void {
    this.#writer.leave(user);
  }

  /** Writes everything. */
  close(): Promise<void> {
    return this.#writer.close();
  }
}
