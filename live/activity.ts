import type { Events } from "../db/events.js";
import {
  isCount,
  isId,
  isKindOf,
  isListOf,
  isNumber,
  isRecord,
  isTupleOf,
} from "../schemas/plain/shapes.js";

/** What is counted of one world since its server started. */
export interface Totals {
  /** Chat messages that were sent, without edits. */
  messages: number;
  /** Websockets that were dropped because they did not read. */
  slowReaders: number;
}

/** What one process has counted. Its numbers only grow. */
interface Tally {
  /** When it began, in milliseconds since 1970. */
  readonly since: number;
  readonly worlds: Map<string, Totals>;
}

/** A tally as processes send it. */
interface SentTally {
  process: string;
  since: number;
  worlds: [world: string, totals: Totals][];
  /** In the {@link FOLDED} tally: the names of its processes. */
  folded?: string[];
}

/** The name of the tally of all processes that ended long ago. */
const FOLDED = "ended";

/** How many processes that ended keep their own tallies, as reports of them may come late. */
const MAX_ENDED = 16;

/** How many names of folded processes are kept. */
const MAX_FOLDED = 1000;

/** What processes tell each other. */
type Report =
  | /** A process tells what it has counted, and asks for what the others know. */ {
      report: "hello";
      tally: SentTally;
    }
  | { report: "tallies"; tallies: SentTally[] };

const isTally = isRecord(
  {
    process: isId,
    since: isNumber,
    worlds: isListOf(
      isTupleOf(isId, isRecord({ messages: isCount, slowReaders: isCount })),
    ),
  },
  { folded: isListOf(isId) },
);

const isReport = isKindOf("report", {
  hello: isRecord({ tally: isTally }),
  tallies: isRecord({ tallies: isListOf(isTally) }),
});

const TOPIC = "activity";

/** After how many milliseconds other processes are told, together. */
const REPORT_DELAY = 500;

/**
 * Counts what happens in each world, in all processes that share events. Each process
 * keeps what every process has counted, also after one has ended. To count is one
 * lookup and one addition.
 */
export class Activity {
  readonly #events: Events;
  readonly #own: Tally = { since: Date.now(), worlds: new Map() };
  /** By the name of a process. */
  readonly #tallies: Map<string, Tally>;
  /** The worlds that other processes are to be told of. */
  readonly #changed = new Set<string>();
  /** The processes that ended and have tallies; the first to end come first. */
  readonly #ended = new Set<string>();
  /** The processes whose tallies are part of the {@link FOLDED} one. */
  readonly #folded = new Set<string>();
  readonly #unsubscribe: () => void;
  #timer: NodeJS.Timeout | undefined;

  constructor(events: Events) {
    this.#events = events;
    this.#tallies = new Map([[events.process, this.#own]]);
    this.#unsubscribe = events.subscribe((event) => {
      if (event.type === "process.began") {
        this.#ended.delete(event.process);
        this.#greet();
      } else if (event.type === "events.missed") this.#greet();
      else if (event.type === "process.ended") this.#end(event.process);
      else if (event.type === "world.deleted") this.#forget(event.world);
      else if (event.type === "live" && event.topic === TOPIC) {
        if (isReport(event.data)) this.#receive(event.data as Report);
      }
    });
    this.#greet();
  }

  /** Counts one more. */
  count(world: string, what: keyof Totals): void {
    this.#totalsOf(this.#own, world)[what]++;
    this.#changed.add(world);
    this.#timer ??= setTimeout(this.#report, REPORT_DELAY).unref();
  }

  /** What all processes have counted, and when the first of them began. */
  of(world: string): Totals & { since: number } {
    const sum = { messages: 0, slowReaders: 0, since: this.#own.since };
    for (const { since, worlds } of this.#tallies.values()) {
      sum.since = Math.min(sum.since, since);
      const totals = worlds.get(world);
      sum.messages += totals?.messages ?? 0;
      sum.slowReaders += totals?.slowReaders ?? 0;
    }
    return sum;
  }

  close(): void {
    clearTimeout(this.#timer);
    this.#unsubscribe();
  }

  #totalsOf({ worlds }: Tally, world: string): Totals {
    let totals = worlds.get(world);
    if (!totals) worlds.set(world, (totals = { messages: 0, slowReaders: 0 }));
    return totals;
  }

  #greet(): void {
    this.#send({ report: "hello", tally: this.#sent(this.#events.process) });
  }

  readonly #report = (): void => {
    this.#timer = undefined;
    const worlds = [...this.#changed];
    this.#changed.clear();
    const tallies = [this.#sent(this.#events.process, worlds)];
    this.#send({ report: "tallies", tallies });
  };

  #sent(process: string, only?: string[]): SentTally {
    const { since, worlds } = this.#tallies.get(process)!;
    const ids = only ?? [...worlds.keys()];
    return {
      process,
      since,
      worlds: ids.flatMap((id) => {
        const totals = worlds.get(id);
        return totals ? [[id, totals] as [string, Totals]] : [];
      }),
      ...(process === FOLDED && { folded: [...this.#folded] }),
    };
  }

  #forget(world: string): void {
    for (const { worlds } of this.#tallies.values()) worlds.delete(world);
  }

  #end(process: string): void {
    if (!this.#tallies.has(process)) return;
    this.#ended.add(process);
    if (this.#ended.size <= MAX_ENDED) return;
    const [oldest] = this.#ended;
    const { since, worlds } = this.#tallies.get(oldest!)!;
    const all = this.#tallyOf(FOLDED, since);
    for (const [world, { messages, slowReaders }] of worlds) {
      const totals = this.#totalsOf(all, world);
      totals.messages += messages;
      totals.slowReaders += slowReaders;
    }
    this.#fold(oldest!);
  }

  /** The tally of a process is now part of the {@link FOLDED} one. */
  #fold(process: string): void {
    this.#ended.delete(process);
    this.#tallies.delete(process);
    this.#folded.add(process);
    if (this.#folded.size <= MAX_FOLDED) return;
    const [oldest] = this.#folded;
    this.#folded.delete(oldest!);
  }

  #tallyOf(process: string, since: number): Tally {
    let tally = this.#tallies.get(process);
    if (!tally) {
      this.#tallies.set(process, (tally = { since, worlds: new Map() }));
    }
    return tally;
  }

  #send(data: Report): void {
    this.#events.publish({ type: "live", topic: TOPIC, data });
  }

  #receive(report: Report): void {
    if (report.report === "tallies") {
      for (const tally of report.tallies) this.#take(tally);
      return;
    }
    if (report.tally.process === this.#events.process) return;
    this.#take(report.tally);
    // Also what those counted that have ended: nobody else can tell it.
    const tallies = [...this.#tallies.keys()].map((name) => this.#sent(name));
    this.#send({ report: "tallies", tallies });
  }

  /** Reports may come twice, and late: of each number, the largest is the latest. */
  #take({ process, since, worlds, folded = [] }: SentTally): void {
    const own = this.#events.process;
    if (process === own || this.#folded.has(process)) return;
    for (const one of folded) if (one !== own) this.#fold(one);
    const tally = this.#tallyOf(process, since);
    for (const [world, { messages, slowReaders }] of worlds) {
      const totals = this.#totalsOf(tally, world);
      totals.messages = Math.max(totals.messages, messages);
      totals.slowReaders = Math.max(totals.slowReaders, slowReaders);
    }
  }
}
