import { randomUUID } from "node:crypto";
import { StoreError } from "../../contract/store.js";
import { detach } from "../../runtime.js";
import type { ObjectBucket } from "./bucket.js";
import type { ListedObject } from "./listing.js";

// Notes are small objects. They name the keys that are about to be recorded or removed, so
// that one list request finds the remains of a crash, without reading the whole bucket:
// work/<life>/<key>.note for one key, and work/<life>/<id>.keys for several. A life is a
// time in which a process has notes. During it, the process renews work/<life>/alive. Once
// the renewals stop, the notes are remains.

const WORK = "work/";
const ALIVE = "alive";
const NOTE = ".note";
const KEYS = ".keys";

/** The time between two renewals. */
const RENEWAL_INTERVAL_MS = 2000;

/** The age of the last heartbeat at which other processes sweep. */
const DEAD_AFTER_MS = 10_000;

/**
 * The age of the last renewal, in milliseconds, at which a process gives its own life up. It
 * is well below {@link DEAD_AFTER_MS}, so that no process records a file that another one sweeps.
 */
const LAPSED_MS = 5000;

/** Whether a key is of this file and not of a stored file. */
export const isOfWork = (key: string): boolean => key.startsWith(WORK);

export interface Note {
  /** @throws {StoreError} `unusable` if others may take its process for dead. */
  confirm(): void;
  /** Removes it: the keys are settled. It never fails; a sweep removes leftovers. */
  settle(): Promise<void>;
  /** Leaves it to a sweep. */
  leave(): void;
}

export class Notes {
  readonly #bucket: ObjectBucket;
  #life: Promise<Life> | undefined;
  readonly #lives = new Set<Life>();

  constructor(bucket: ObjectBucket) {
    this.#bucket = bucket;
  }

  ofKey(key: string): Promise<Note> {
    return this.#note(`${encodeURIComponent(key)}${NOTE}`, "");
  }

  ofKeys(keys: readonly string[]): Promise<Note> {
    return this.#note(`${randomUUID()}${KEYS}`, keys.join("\n"));
  }

  /** Ends the signs of life. Notes that are left are for a sweep. */
  async close(): Promise<void> {
    await this.#life?.catch(() => {});
    await Promise.all([...this.#lives].map((life) => life.end()));
  }

  async #note(name: string, text: string): Promise<Note> {
    const life = await this.#living();
    return life.note(name, text);
  }

  async #living(): Promise<Life> {
    const known = this.#life;
    const life = await known?.catch(() => undefined);
    if (life?.isUsable) return life;
    // Another caller may have begun a new one meanwhile.
    if (this.#life === known) this.#life = this.#begin();
    return this.#life!;
  }

  async #begin(): Promise<Life> {
    const life = await Life.begin(this.#bucket, () => this.#lives.delete(life));
    this.#lives.add(life);
    return life;
  }
}

/** A time in which a process has notes. */
class Life {
  readonly #bucket: ObjectBucket;
  readonly #folder = `${WORK}${randomUUID()}/`;
  readonly #ended: () => void;
  #timer: NodeJS.Timeout | undefined;
  #open = 0;
  /** Whether notes are left for a sweep; then nothing new is noted. */
  #hasRemains = false;
  #isOver = false;
  #hasLapsed = false;
  #renewed = clocks();

  private constructor(bucket: ObjectBucket, ended: () => void) {
    this.#bucket = bucket;
    this.#ended = ended;
  }

  /** Writes the first heartbeat before the first note. */
  static async begin(bucket: ObjectBucket, ended: () => void): Promise<Life> {
    const life = new Life(bucket, ended);
    await bucket.write(life.#folder + ALIVE, "");
    life.#timer = setInterval(() => detach(life.#renew()), RENEWAL_INTERVAL_MS).unref();
    return life;
  }

  get isUsable(): boolean {
    return !this.#isOver && !this.#hasRemains && !this.#isLapsed();
  }

  async note(name: string, text: string): Promise<Note> {
    const path = this.#folder + name;
    this.#open++;
    let isOpen = true;
    const close = () => {
      if (isOpen) this.#open--;
      isOpen = false;
    };
    const leave = () => {
      this.#hasRemains = true;
      close();
    };
    try {
      await this.#bucket.write(path, text);
    } catch (error) {
      // It may have been written all the same.
      leave();
      throw error;
    }
    return {
      confirm: () => {
        if (!this.#isLapsed()) return;
        throw new StoreError("unusable", "the bucket was away for too long");
      },
      settle: async () => {
        try {
          await this.#bucket.remove(path);
          close();
        } catch {
          leave();
        }
      },
      leave,
    };
  }

  /** Ends it. Without remains, it leaves nothing behind. */
  async end(): Promise<void> {
    if (this.#isOver) return;
    this.#isOver = true;
    clearInterval(this.#timer);
    if (this.#open === 0 && !this.#hasRemains) {
      await this.#bucket.remove(this.#folder + ALIVE).catch(() => {});
    }
    this.#ended();
  }

  /** Once others may take it for dead, a renewal does not help: they may be at it. */
  #isLapsed(): boolean {
    const now = clocks();
    // One of them stands still while a machine sleeps, the other one is set at times.
    const age = Math.max(now.steady - this.#renewed.steady, now.wall - this.#renewed.wall);
    this.#hasLapsed ||= age >= LAPSED_MS;
    return this.#hasLapsed;
  }

  async #renew(): Promise<void> {
    if (this.#open === 0) return this.end();
    const now = clocks();
    try {
      await this.#bucket.write(this.#folder + ALIVE, "");
    } catch {
      return;
    }
    if (!this.#isLapsed()) this.#renewed = now;
  }
}

const clocks = () => ({ steady: performance.now(), wall: Date.now() });

interface NotesOfLife {
  notes: string[];
  /** The age of its last heartbeat, in milliseconds, by the clock of the server. */
  age: number;
  isOver: boolean;
  alive: string;
}

/** The notes of all processes. It is one request, unless there are a thousand. */
export async function allNotes(bucket: ObjectBucket): Promise<NotesOfLife[]> {
  const lives = new Map<string, ListedObject[]>();
  let now = new Date(0);
  for await (const page of bucket.list(WORK)) {
    now = page.now;
    for (const object of page.objects) {
      const folder = object.key.slice(0, object.key.lastIndexOf("/") + 1);
      const found = lives.get(folder);
      if (found) found.push(object);
      else lives.set(folder, [object]);
    }
  }
  return [...lives].map(([folder, objects]) => {
    const alive = folder + ALIVE;
    const last = Math.max(...objects.map(({ modified }) => modified.getTime()));
    const age = now.getTime() - last;
    const notes = objects.map(({ key }) => key).filter((key) => key !== alive);
    return { notes, age, isOver: age > DEAD_AFTER_MS, alive };
  });
}

/** In how many milliseconds a life that is not over may be. */
export const untilOver = ({ age }: NotesOfLife): number =>
  // Servers report the time in whole seconds.
  Math.max(0, DEAD_AFTER_MS - age) + 1000;

export async function keysOf(bucket: ObjectBucket, note: string): Promise<string[]> {
  if (note.endsWith(NOTE)) {
    const name = note.slice(note.lastIndexOf("/") + 1, -NOTE.length);
    try {
      return [decodeURIComponent(name)];
    } catch {
      // No Foyer has written it.
      return [];
    }
  }
  if (!note.endsWith(KEYS)) return [];
  const text = await bucket.text(note);
  return (text ?? "").split("\n").filter((key) => key !== "");
}
