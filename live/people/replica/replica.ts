import type { LiveMessage } from "../../../db/bus/bus.js";
import type { Events } from "../../../db/contract/events.js";
import type { Clock } from "../../../db/log/clock.js";
import { Copies, type Gone, TIME_TO_LIVE } from "./copies.js";
import { Followed } from "./followed.js";
import { isReport, type Report } from "./messages.js";
import { Part, Teller, type Told } from "./part.js";
import {
  EVERYWHERE,
  type ForeignItem,
  type Topic,
  type TopicParts,
} from "./topic.js";

const TOPIC = "replica";

/** How often this process looks whether others are silent, or it is, in milliseconds. */
const TICK = 250;

/** The longest silence in a scope before a process sends a heartbeat, in milliseconds. */
const BEAT = 750;

/** How much time one tick counts for at most, in milliseconds: a process may have slept. */
const LONGEST_TICK = 1000;

/** For how long a scope is still followed that was left, in milliseconds. */
const LINGER = 10_000;

/** How long an empty part stays, so that all processes see it empty, in milliseconds. */
const EMPTY_TIME = 2 * TIME_TO_LIVE;

/** A topic of a process that is always alone. */
const unshared: Topic<unknown> = {
  put() {},
  delete() {},
  has: () => false,
};

/** The part of the events that a {@link Replica} uses. */
export type ReplicaBus = Pick<
  Events,
  "process" | "isAlone" | "publish" | "subscribe" | "join" | "leave"
>;

/** A scope in which this process owns items. */
interface Own {
  readonly teller: Teller;
  saidAt: number;
}

/**
 * Soft state between processes. Each process owns items in some scopes, such as worlds, and
 * every process that follows a scope has copies of all items in it. They end with their owner.
 *
 * The bus may lose, double, delay and reorder messages. Each owner numbers its changes, and
 * publishes its highest number every second. A process that lacks changes asks the owner for
 * them.
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

  constructor(bus: ReplicaBus, clock: Clock) {
    this.#bus = bus;
    this.#clock = clock;
    this.#tickedAt = clock.now();
    this.#unsubscribe = bus.subscribe((event) => {
      if (event.type === "live") this.#hear(event);
      else if (event.type === "process.ended") this.#end(event.process);
    });
    this.#hold(EVERYWHERE);
    // The scope for messages to this process alone.
    this.#hold(bus.process);
    this.#tickLater();
  }

  /** The name of this process. */
  get process(): string {
    return this.#bus.process;
  }

  /** Whether there can never be another process. Then there is nothing to share, nor to keep for it. */
  get isAlone(): boolean {
    return this.#bus.isAlone;
  }

  /** Begins to share items under a name. */
  topic<V>(parts: TopicParts<V>): Topic<V> {
    const { name, delay } = parts;
    this.#topics.set(name, parts);
    if (this.isAlone) return unshared;
    return {
      put: (scope, key, value, within = delay) => {
        const { teller } = this.#ownIn(scope);
        teller.part.put(`${name} ${key}`, value);
        teller.publishWithin(within);
      },
      delete: (scope, key) => {
        const own = this.#own.get(scope);
        if (!own?.teller.part.delete(`${name} ${key}`, this.#time)) return;
        own.teller.publishWithin(delay);
      },
      has: (scope, key) =>
        this.#own.get(scope)?.teller.part.has(`${name} ${key}`) ?? false,
    };
  }

  /**
   * Follows a scope, once more if it is followed already.
   * @returns when this process has copies of everything, or a process takes too long to
   *   send its items.
   */
  follow(scope: string): Promise<void> {
    return this.#hold(scope).ready;
  }

  /** Takes back one {@link follow}. After the last one, the scope is followed for some seconds more. */
  unfollow(scope: string): void {
    const followed = this.#followed.get(scope);
    if (followed && --followed.holders === 0) followed.since = this.#time;
  }

  /** The other processes that follow a scope that this one follows. */
  othersIn(scope: string): string[] {
    return [...(this.#followed.get(scope)?.copies.processes ?? [])];
  }

  /** Publishes the pending changes, and ends. */
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

  #hold(scope: string): Followed {
    const before = this.#followed.get(scope);
    if (before) {
      before.holders++;
      return before;
    }
    const followed = this.#begin(scope);
    this.#followed.set(scope, followed);
    if (scope !== EVERYWHERE) this.#bus.join(scope);
    if (scope === this.process) return followed;
    this.#ownIn(scope);
    // All answer, so that it is known when no answer is missing.
    this.#say(scope, { kind: "want", since: 0 }, EVERYWHERE);
    return followed;
  }

  #begin(scope: string): Followed {
    const copies = new Copies({
      clock: this.#clock,
      put: (process, key, value) => this.#put({ process, scope, key }, value),
      gone: (process, key, why) => this.#gone({ process, scope, key }, why),
      ask: (of, since) => this.#say(scope, { kind: "want", of, since }, of),
    });
    const others = scope === this.process ? [] : this.othersIn(EVERYWHERE);
    return new Followed(this.#clock, copies, this.#time, others);
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

  /** Whether no other process follows a scope. */
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
    said: Told | { kind: "want"; of?: string; since: number } | { kind: "bye" },
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
    const { process } = data;
    const followed = this.#followed.get(scope);
    followed?.copies.hear(data, this.#time);
    if (data.kind !== "want") {
      if (followed?.copies.isWhole(process)) followed.told(process);
      return;
    }
    const { of = this.process, since } = data;
    if (of !== this.process) return;
    const own = this.#own.get(scope);
    if (own) own.teller.answer(process, since);
    else this.#say(scope, { kind: "bye" }, process);
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
    for (const followed of this.#followed.values()) {
      followed.copies.end(process, "ended");
      followed.told(process);
    }
  }

  #leave(scope: string): void {
    const { copies } = this.#followed.get(scope)!;
    this.#followed.delete(scope);
    const isEmpty = this.#own.get(scope)?.teller.part.isEmpty ?? true;
    if (isEmpty) this.#say(scope, { kind: "bye" });
    this.#bus.leave(scope);
    copies.clear();
  }
}
