import type { LiveMessage } from "../../db/bus/bus.js";
import type { Events } from "../../db/events.js";
import { type Clock, processClock } from "../../db/log/clock.js";
import type { Shape } from "../../schemas/plain/shapes.js";
import { Copies, type Gone, TIME_TO_LIVE } from "./copies.js";
import { isReport, type Report } from "./messages.js";
import { Part } from "./part.js";
import { type Told, Teller } from "./teller.js";

/** The scope that every process follows. */
export const EVERYWHERE = "";

const TOPIC = "replica";

/** How often this process looks whether others are silent, or it is, in milliseconds. */
const TICK = 250;

/** After this time without a word in a scope, a process says that it lives, in milliseconds. */
const BEAT = 750;

/** How much time one tick counts for at most, in milliseconds: a process may have slept. */
const LONGEST_TICK = 1000;

/** For how long a scope is still followed that was left, in milliseconds. */
const LINGER = 5000;

/** For how long an empty part stays, so that all learn that it is empty, in milliseconds. */
const EMPTY_TIME = 2 * TIME_TO_LIVE;

/** An item of another process. */
export interface ForeignItem {
  readonly process: string;
  readonly scope: string;
  readonly key: string;
}

/** What processes share under one name. The functions may not throw. */
export interface TopicParts<V> {
  /** Without spaces. */
  readonly name: string;
  /** After how many milliseconds changes are published, together. */
  readonly delay: number;
  /** Whether something that another process sent is a value. */
  readonly isValue: Shape;
  /** Another process put an item. The value may be the same as before. */
  put(item: ForeignItem, value: V): void;
  gone(item: ForeignItem, why: Gone): void;
}

/** Changes what this process shares under one name. */
export interface Topic<V> {
  put(scope: string, key: string, value: V): void;
  delete(scope: string, key: string): void;
}

/** What a {@link Replica} needs of the events. */
export type ReplicaBus = Pick<
  Events,
  "process" | "publish" | "subscribe" | "join" | "leave"
>;

/** A scope that this process follows. */
interface Followed {
  holders: number;
  /** When it was first followed, or last left. */
  since: number;
  readonly copies: Copies;
}

/** A scope in which this process tells what it has. */
interface Own {
  readonly teller: Teller;
  saidAt: number;
}

/**
 * Soft state between processes. Each process owns items in some scopes, such as worlds, and
 * every process that follows a scope has copies of all items in it. They go with their owner.
 *
 * The bus may lose, double, delay and reorder messages. Each owner numbers its changes, and
 * says every second how far they go. A process that lacks some asks the owner for them.
 */
export class Replica {
  readonly #bus: ReplicaBus;
  readonly #clock: Clock;
  readonly #topics = new Map<string, TopicParts<unknown>>();
  readonly #followed = new Map<string, Followed>();
  readonly #own = new Map<string, Own>();
  readonly #unsubscribe: () => void;
  #stopTick = () => {};
  /** The version of the last change in any scope. */
  #version = 0;
  /** For how many milliseconds this process has run, without the time for which it slept. */
  #time = 0;
  #tickedAt: number;
  #closed = false;

  constructor(bus: ReplicaBus, clock: Clock = processClock) {
    this.#bus = bus;
    this.#clock = clock;
    this.#tickedAt = clock.now();
    this.#unsubscribe = bus.subscribe((event) => {
      if (event.type === "live") this.#hear(event);
      else if (event.type === "process.ended") this.#end(event.process);
    });
    this.follow(EVERYWHERE);
    // What others say to this process alone.
    this.follow(bus.process);
    this.#tickLater();
  }

  /** The name of this process. */
  get process(): string {
    return this.#bus.process;
  }

  /** Begins to share items under a name. */
  topic<V>(parts: TopicParts<V>): Topic<V> {
    const { name, delay } = parts;
    this.#topics.set(name, parts as TopicParts<unknown>);
    return {
      put: (scope, key, value) => {
        const { teller } = this.#ownIn(scope);
        teller.part.put(`${name} ${key}`, value);
        teller.publishWithin(delay);
      },
      delete: (scope, key) => {
        const own = this.#own.get(scope);
        if (!own?.teller.part.delete(`${name} ${key}`, this.#time)) return;
        own.teller.publishWithin(delay);
      },
    };
  }

  /** Follows a scope, once more if it is followed already. */
  follow(scope: string): void {
    const followed = this.#followed.get(scope);
    if (followed) {
      followed.holders++;
      return;
    }
    const copies = new Copies({
      clock: this.#clock,
      put: (process, key, value) => this.#put({ process, scope, key }, value),
      gone: (process, key, why) => this.#gone({ process, scope, key }, why),
      ask: (of, since) => this.#say(scope, { kind: "want", of, since }, of),
    });
    this.#followed.set(scope, { holders: 1, since: this.#time, copies });
    if (scope !== EVERYWHERE) this.#bus.join(scope);
    if (scope === this.process) return;
    this.#ownIn(scope);
    this.#say(scope, { kind: "want", since: 0 });
  }

  /** Takes back one {@link follow}. After the last one, the scope is followed for some seconds more. */
  unfollow(scope: string): void {
    const followed = this.#followed.get(scope);
    if (followed && --followed.holders === 0) followed.since = this.#time;
  }

  /** Whether this process follows a scope. */
  follows(scope: string): boolean {
    return this.#followed.has(scope);
  }

  /** The other processes that follow a scope that this one follows. */
  othersIn(scope: string): string[] {
    return [...(this.#followed.get(scope)?.copies.processes ?? [])];
  }

  /** Publishes what waits, and ends. */
  close(): void {
    if (this.#closed) return;
    for (const { teller } of this.#own.values()) {
      teller.publish();
      teller.close();
    }
    this.#closed = true;
    this.#stopTick();
    this.#unsubscribe();
  }

  #ownIn(scope: string): Own {
    const before = this.#own.get(scope);
    if (before) return before;
    const teller = new Teller(new Part(() => ++this.#version, this.#time), {
      clock: this.#clock,
      say: (told, to) => this.#tell(scope, told, to),
      isAlone: () => this.#isAlone(scope),
    });
    const own = { teller, saidAt: this.#time };
    this.#own.set(scope, own);
    return own;
  }

  /** Whether no other process would hear what is said in a scope. */
  #isAlone(scope: string): boolean {
    const followed = this.#followed.get(scope);
    if (!followed || followed.copies.size > 0) return false;
    return this.#time - followed.since > TIME_TO_LIVE;
  }

  /** @param to by default all that follow the scope. */
  #tell(scope: string, told: Told, to?: string): void {
    const own = this.#own.get(scope);
    if (own && to === undefined) own.saidAt = this.#time;
    this.#say(scope, told, to);
  }

  #say(
    scope: string,
    said: Told | { kind: "want"; of?: string; since: number },
    to = scope,
  ): void {
    if (this.#closed) return;
    const data: Report = {
      process: this.process,
      ...(to !== scope && { in: scope }),
      ...said,
    };
    const world = to === EVERYWHERE ? {} : { world: to };
    this.#bus.publish({ type: "live", topic: TOPIC, ...world, data });
  }

  #hear({ topic, world = EVERYWHERE, data }: LiveMessage): void {
    if (topic !== TOPIC || !isReport(data)) return;
    if (data.process === this.process) return;
    const scope = data.in ?? world;
    this.#followed.get(scope)?.copies.hear(data, this.#time);
    if (data.kind !== "want") return;
    const { of = this.process, process, since } = data;
    if (of !== this.process) return;
    this.#own.get(scope)?.teller.answer(process, since);
  }

  #put({ process, scope, key }: ForeignItem, value: unknown): void {
    const [topic, rest] = this.#topicOf(key);
    // Another version of Foyer may share other things.
    if (!topic?.isValue(value)) return;
    topic.put({ process, scope, key: rest }, value);
  }

  #gone({ process, scope, key }: ForeignItem, why: Gone): void {
    const [topic, rest] = this.#topicOf(key);
    topic?.gone({ process, scope, key: rest }, why);
  }

  #topicOf(key: string): [TopicParts<unknown> | undefined, rest: string] {
    const end = key.indexOf(" ");
    return [this.#topics.get(key.slice(0, end)), key.slice(end + 1)];
  }

  #tickLater(): void {
    this.#stopTick = this.#clock.after(TICK, () => {
      this.#tick();
      this.#tickLater();
    });
  }

  #tick(): void {
    const now = this.#clock.now();
    this.#time += Math.min(now - this.#tickedAt, LONGEST_TICK);
    this.#tickedAt = now;
    for (const [scope, { copies, holders, since }] of this.#followed) {
      copies.endSilent(this.#time);
      if (holders === 0 && this.#time - since > LINGER) this.#leave(scope);
    }
    for (const [scope, own] of this.#own) {
      const { part } = own.teller;
      part.prune(this.#time);
      const isOver = part.isEmpty && this.#time - part.emptySince > EMPTY_TIME;
      if (isOver && !this.#followed.has(scope)) {
        own.teller.close();
        this.#own.delete(scope);
      } else if (this.#time - own.saidAt >= BEAT) {
        own.teller.beat();
      }
    }
  }

  /** A process has ended. If it has not, it will be heard again. */
  #end(process: string): void {
    for (const { copies } of this.#followed.values()) {
      copies.end(process, "ended");
    }
  }

  #leave(scope: string): void {
    const { copies } = this.#followed.get(scope)!;
    this.#followed.delete(scope);
    this.#bus.leave(scope);
    copies.clear();
  }
}
