import { randomUUID } from "node:crypto";
import { detach } from "../detach.js";
import type { AnyEvent, Counted, Events, Listener } from "../events.js";
import { LocalEvents, type OnFault } from "../bus/local.js";
import { StoreError } from "../store.js";
import { Condition } from "./condition.js";
import { Counts } from "./counts.js";
import { Identity } from "./identity.js";
import { Link, reasonOf } from "./link.js";
import { eventsOf, type Message, messageOf, textOf } from "./messages.js";
import { Outbox } from "./outbox.js";
import { Peers, SILENCE } from "./peers.js";
import { Proof } from "./proof.js";
import { Throttle } from "../throttle.js";

/** How long the first connection may take, in milliseconds. */
const OPEN_TIMEOUT = 5000;

/** How long the others may take to answer a process that begins, in milliseconds. */
const GREETING = 1200;

/** How often silence is looked for, in milliseconds. */
const TICK = 250;

/** After how many ticks a process says that it lives. */
const BEAT = 4;

/** How much time one tick counts for at most, in milliseconds. */
const LONGEST_TICK = 1000;

/** How often listeners are told at most that events were missed, in milliseconds. */
const MISSED_PAUSE = 1000;

/** How long the last message may take, in milliseconds. */
const CLOSE_TIMEOUT = 1000;

interface ValkeyOptions {
  /** The address: `redis:`, `rediss:`, `valkey:` or `valkeys:`. */
  url: string;
  /** What nobody else uses who shares this Valkey: every key and channel begins with it. */
  namespace: string;
  onFault: OnFault;
  /** Gets one line when Valkey is lost, and when it is back. */
  log?: ((line: string) => void) | undefined;
}

/**
 * Events between processes on any machine, by publish and subscribe of Valkey or Redis.
 * These deliver a message once or never, so messages have numbers, and each process
 * says every second that it lives and which number was its last. Whoever has not heard
 * a message is told that events were missed. While Valkey is away, events reach the
 * listeners of this process only.
 */
export class ValkeyEvents implements Events {
  readonly process = randomUUID();
  readonly lossy = true;
  readonly #prefix: string;
  readonly #local: LocalEvents;
  readonly #counts: Counts;
  readonly #identity: Identity;
  readonly #link: Link;
  readonly #outbox: Outbox;
  readonly #peers: Peers;
  readonly #ticker: NodeJS.Timeout;
  #connected = false;
  /** Whether the log says that Valkey is there; undefined until it was. */
  #isLogged: boolean | undefined;
  readonly #log: (line: string) => void;
  #closed = false;
  /**
   * For how many milliseconds this process has run. It does not count while the process
   * is suspended, as the silence of the others means nothing then.
   */
  #time = 0;
  #tickedAt = performance.now();
  #ticks = 0;
  /** When a message of this process came back last. */
  #echoedAt = 0;
  /** How many processes listened when this one began to. */
  #listeners = Infinity;
  /** What {@link #begin} waits for may have happened when it is checked. */
  readonly #news = new Condition();
  readonly #proof = new Proof((name) => this.#live(name));
  /** Tells the listeners that events were missed. */
  readonly #missed = new Throttle(
    () => this.tell({ type: "events.missed" }),
    MISSED_PAUSE,
  );

  private constructor({ url, namespace, onFault, log }: ValkeyOptions) {
    this.#log = log ?? (() => {});
    this.#prefix = `foyer:${namespace}:`;
    this.#local = new LocalEvents(onFault, this.process);
    this.#peers = new Peers({
      onBegan: (process) => this.tell({ type: "process.began", process }),
      onEnded: (process) => this.tell({ type: "process.ended", process }),
      onMissed: () => this.#missed.ask(),
    });
    this.#identity = new Identity(`${this.#prefix}identity`);
    const channel = `${this.#prefix}events`;
    this.#link = new Link({
      url,
      channel,
      prepare: (client) => this.#identity.meet(client),
      onUp: () => detach(this.#greet()),
      onMessage: (text) => this.#receive(text),
    });
    this.#counts = new Counts(`${this.#prefix}count:`, () =>
      this.connected ? this.#link.client : undefined,
    );
    this.#outbox = new Outbox({
      send: (text) => this.#link.client?.publish(channel, text),
      textOf: (number, events) =>
        textOf({ process: this.process, kind: "events", number, events }),
      // A new connection says so anyway.
      onDropped: () => this.connected && this.#missed.ask(),
    });
    this.#ticker = setInterval(() => this.#tick(), TICK).unref();
  }

  /**
   * Connects, takes part, and resolves when the other processes are known.
   * @throws {StoreError} `unusable`, with one line for the operator.
   */
  static async open(options: ValkeyOptions): Promise<ValkeyEvents> {
    const events = new ValkeyEvents(options);
    try {
      await events.#begin(options.url);
    } catch (error) {
      await events.close();
      throw error;
    }
    return events;
  }

  /** Whether events reach the others now. */
  get connected(): boolean {
    return this.#connected && this.#link.client !== undefined;
  }

  /** Names this Valkey for all processes with this namespace: see {@link Identity}. */
  get identity(): string {
    return this.#identity.value;
  }

  publish(event: AnyEvent): void {
    if (this.#closed) return;
    // The others first: a listener here may publish the next event.
    this.#outbox.add(event);
    this.#local.publish(event);
  }

  subscribe(listener: Listener): () => void {
    return this.#local.subscribe(listener);
  }

  /** @param act is called within a second, unless what others published before arrives. */
  unlessHeard(act: () => void): void {
    this.#proof.ask(act);
  }

  count(key: string, window: number): Promise<Counted> {
    return this.#counts.count(key, window);
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    clearInterval(this.#ticker);
    this.#missed.close();
    this.#outbox.flush();
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise((resolve) => {
      timer = setTimeout(resolve, CLOSE_TIMEOUT);
    });
    await Promise.race([this.#say("bye"), late]);
    clearTimeout(timer);
    this.#link.close();
    await this.#local.close();
  }

  async #begin(url: string): Promise<void> {
    if (!(await this.#news.until(() => this.connected, OPEN_TIMEOUT))) {
      throw new StoreError("unusable", unreachable(url, this.#link.fault));
    }
    this.#isLogged = true;
    // Those who listen and do not answer are suspended.
    await this.#news.until(
      () => this.#peers.size >= this.#listeners - 1,
      GREETING,
    );
  }

  /** This process listens now. */
  async #greet(): Promise<void> {
    this.#connected = false;
    this.#echoedAt = this.#time;
    this.#peers.doubt();
    this.#listeners = (await this.#say("hello")) ?? Infinity;
    this.#news.check();
  }

  #tick(): void {
    const now = performance.now();
    this.#time += Math.min(now - this.#tickedAt, LONGEST_TICK);
    this.#tickedAt = now;
    if (++this.#ticks % BEAT === 0) this.#beat();
    this.#peers.endSilent(this.#time);
    this.#proof.look();
    if (this.#link.client && this.#time - this.#echoedAt > SILENCE) {
      this.#connected = false;
      this.#link.cut();
      // Nothing has come for some time, and nobody knows when something will.
      this.#missed.ask();
    }
    this.#logState();
  }

  #logState(): void {
    const { connected } = this;
    if (this.#isLogged === undefined || this.#isLogged === connected) return;
    this.#isLogged = connected;
    this.#log(
      connected
        ? "Valkey is back: events reach other nodes again"
        : `Valkey is lost: ${reasonOf(this.#link.fault)}; events reach this node only`,
    );
  }

  #beat(): void {
    this.#live();
    const { client } = this.#link;
    if (client) this.#identity.putBack(client);
  }

  /** Says that this process lives. */
  #live(events?: string): void {
    detach(this.#say("alive", events));
  }

  /** @returns how many processes have got it; undefined if it was not sent. */
  async #say(
    kind: "alive" | "hello" | "bye",
    events = "",
  ): Promise<number | undefined> {
    this.#outbox.flush();
    const { number } = this.#outbox;
    const text = textOf({ process: this.process, kind, number, events });
    const sent = this.#link.client?.publish(`${this.#prefix}events`, text);
    return sent?.catch(() => undefined);
  }

  #receive(text: string): void {
    const message = messageOf(text);
    if (!message || this.#closed) return;
    if (message.process === this.process) this.#echoed(message);
    else this.#heard(message);
    this.#news.check();
  }

  /** A message of this process has come back: both ways work. */
  #echoed({ events }: Message): void {
    this.#echoedAt = this.#time;
    this.#proof.came(events);
    if (this.#connected) return;
    this.#connected = true;
    this.#missed.ask();
  }

  #heard(message: Message): void {
    const isNew = this.#peers.hear(message, this.#time);
    if (message.kind === "hello") this.#live();
    if (!isNew || message.kind !== "events") return;
    const { events, isWhole } = eventsOf(message);
    if (!isWhole) this.#missed.ask();
    for (const event of events) this.tell(event);
  }

  tell(event: AnyEvent): void {
    this.#local.publish(event);
  }
}

/** What the operator reads. An address may have a password. */
function unreachable(url: string, fault: unknown): string {
  const { protocol, host } = new URL(url);
  return `VALKEY_URL: ${protocol}//${host} cannot be reached: ${reasonOf(fault)}`;
}
