import type { Logged, Position, Stretch } from "../../db/log/log.js";

/** An entry that knows the one before it, whatever became of their history. */
export interface SimulatedEntry extends Logged {
  readonly at: number;
  readonly parent: Position;
}

const BEGINNING: Position = { seq: 0, tag: 0 };

/** The logs of a database, which can go back to an earlier state. */
export class SimulatedLog {
  #tag = 0;
  readonly #worlds = new Map<string, SimulatedEntry[]>();
  /** Below which number no entry is given, by world. */
  readonly #floors = new Map<string, number>();

  head(world: string): Position {
    return this.#worlds.get(world)?.at(-1) ?? BEGINNING;
  }

  append(world: string, at: number): SimulatedEntry {
    const parent = this.head(world);
    const seq = Math.max(parent.seq, this.#floors.get(world) ?? 0) + 1;
    const { seq: before, tag } = parent;
    const entry = {
      ...{ world, seq, tag: ++this.#tag, at },
      parent: { seq: before, tag },
    };
    this.#worlds.set(world, [...(this.#worlds.get(world) ?? []), entry]);
    return entry;
  }

  since(world: string, seq: number, limit: number): Stretch<SimulatedEntry> {
    const all = this.#worlds.get(world) ?? [];
    const tag = seq === 0 ? 0 : all.find((entry) => entry.seq === seq)?.tag;
    const entries = all.filter((entry) => entry.seq > seq).slice(0, limit);
    return { tag, entries };
  }

  /** Everything that is committed after a time is lost. */
  goBackTo(at: number): void {
    for (const [world, entries] of this.#worlds) {
      const kept = entries.filter((entry) => entry.at <= at);
      this.#worlds.set(world, kept);
    }
  }

  /** No entry gets a number up to this one. */
  raise(world: string, seq: number): void {
    const floor = this.#floors.get(world) ?? 0;
    this.#floors.set(world, Math.max(floor, seq));
  }
}
