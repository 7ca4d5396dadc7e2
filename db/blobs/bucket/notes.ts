import { randomUUID } from "node:crypto";
import { StoreError } from "../../contract/store.js";
import { detach } from "../../runtime.js";
import type { ObjectBucket } from "./bucket.js";
import type { ListedObject } from "./listing.js";

// Notes are small objects that name the keys about to be recorded or removed, so a single listing
// finds the leftovers of a crash without reading the whole bucket. A note for one key is stored at
// work/<life>/<key>.note, and a note for several keys at work/<life>/<id>.keys. A life is a period
// during which a process has notes. The process renews work/<life>/alive throughout its life. Once
// the renewals stop, other processes sweep the notes.

const WORK = "work/";
const ALIVE = "alive";
const NOTE = ".note";
const KEYS = ".keys";

const RENEWAL_INTERVAL_MS = 2000;

/** The age of a life's last heartbeat after which other processes sweep the notes of that life. */
const DEAD_AFTER_MS = 10_000;

/**
 * The age of the last renewal, in milliseconds, at which a process gives up its own life. The age
 * is well below {@link DEAD_AFTER_MS}, so that no process records a file that another process is
 * sweeping.
 */
const LAPSED_MS = 5000;

/** Whether a key belongs to a note or a heartbeat rather than to a stored file. */
export const isOfWork = (key: string): boolean => key.startsWith(WORK);

export interface Note {
  /** @throws {StoreError} `unusable` if other processes may consider this process dead. */
  confirm(): void;
  /**
   * Removes the note, because its keys are settled. Never fails: if the note cannot be removed, a
   * sweep removes it later.
   */
  settle(): Promise<void>;
  /** Leaves the note for a sweep. */
  leave(): void;
}

export class Notes {
  readonly #bucket: ObjectBucket;
  #life: Promise<NoteLease> | undefined;
  readonly #lives = new Set<NoteLease>();

  constructor(bucket: ObjectBucket) {
    this.#bucket = bucket;
  }

  ofKey(key: string): Promise<Note> {
    return this.#note(`${encodeURIComponent(key)}${NOTE}`, "");
  }

  ofKeys(keys: readonly string[]): Promise<Note> {
    return this.#note(`${randomUUID()}${KEYS}`, keys.join("\n"));
  }

  /** Stops the heartbeats. Remaining notes are left for a sweep. */
  async close(): Promise<void> {
    await this.#life?.catch(() => {});
    await Promise.all([...this.#lives].map((life) => life.end()));
  }

  async #note(name: string, text: string): Promise<Note> {
    const life = await this.#living();
    return life.note(name, text);
  }

  async #living(): Promise<NoteLease> {
    const known = this.#life;
    const life = await known?.catch(() => undefined);
    if (life?.isUsable) return life;
    // Another caller may already have begun a new life.
    if (this.#life === known) this.#life = this.#begin();
    return this.#life!;
  }

  async #begin(): Promise<NoteLease> {
    const life = await NoteLease.begin(this.#bucket, () => this.#lives.delete(life));
    this.#lives.add(life);
    return life;
  }
}

/** A period during which a process has notes. */
class NoteLease {
  readonly #bucket: ObjectBucket;
  readonly #folder = `${WORK}${randomUUID()}/`;
  readonly #ended: () => void;
  #timer: NodeJS.Timeout | undefined;
  #open = 0;
  /** Whether notes are left for a sweep. If so, no new notes are added to this life. */
  #hasRemains = false;
  #isOver = false;
  #hasLapsed = false;
  #renewed = clocks();

  private constructor(bucket: ObjectBucket, ended: () => void) {
    this.#bucket = bucket;
    this.#ended = ended;
  }

  /** Starts a life by writing the first heartbeat, which must precede the first note. */
  static async begin(bucket: ObjectBucket, ended: () => void): Promise<NoteLease> {
    const life = new NoteLease(bucket, ended);
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
      // The note may have been written despite the error.
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

  /** Ends this life. Removes the heartbeat unless notes are left for a sweep. */
  async end(): Promise<void> {
    if (this.#isOver) return;
    this.#isOver = true;
    clearInterval(this.#timer);
    if (this.#open === 0 && !this.#hasRemains) {
      await this.#bucket.remove(this.#folder + ALIVE).catch(() => {});
    }
    this.#ended();
  }

  /**
   * Sticky: once other processes consider this life dead, they may already be sweeping its notes,
   * so renewing the heartbeat would be too late.
   */
  #isLapsed(): boolean {
    const now = clocks();
    // The steady clock stops while the machine sleeps; the wall clock may be adjusted.
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
  /** The age of the last heartbeat, in milliseconds, according to the server's clock. */
  age: number;
  isOver: boolean;
  alive: string;
}

/** Lists the notes of all processes, with one request per thousand objects. */
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

/** Returns the time until other processes may consider a life over, in milliseconds. */
export const untilOver = ({ age }: NotesOfLife): number =>
  // The server's timestamps are in whole seconds.
  Math.max(0, DEAD_AFTER_MS - age) + 1000;

export async function keysOf(bucket: ObjectBucket, note: string): Promise<string[]> {
  if (note.endsWith(NOTE)) {
    const name = note.slice(note.lastIndexOf("/") + 1, -NOTE.length);
    try {
      return [decodeURIComponent(name)];
    } catch {
      // Foyer did not write this note.
      return [];
    }
  }
  if (!note.endsWith(KEYS)) return [];
  const text = await bucket.text(note);
  return (text ?? "").split("\n").filter((key) => key !== "");
}
