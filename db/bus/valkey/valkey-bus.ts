import { randomUUID } from "node:crypto";
import { StoreError } from "../../contract/store.js";
import { detach } from "../../runtime.js";
import {
  type Bus,
  type BusListener,
  type HintMessage,
  LocalBus,
  type OnFault,
  type SnapshotMessage,
} from "../bus.js";
import { Channels, type Envelope, envelopeOf, messagesOf, textOf } from "./messages.js";
import { Outbox } from "./outbox.js";
import { type Client, Link, reasonOf, SILENT } from "./valkey-link.js";

/**
 * Names a Valkey: it is the same for all processes with this key, and another one on
 * another Valkey. It is kept there, and put back if Valkey has lost its data.
 */
export class Identity {
  readonly #key: string;
  #value = "";

  constructor(key: string) {
    this.#key = key;
  }

  /** Empty until the first connection. */
  get value(): string {
    return this.#value;
  }

  /**
   * Reads or sets the identity on the first connection, and restores it on later ones.
   * @throws an error if Valkey does not keep written values, and the errors of the client.
   */
  async meet(client: Client): Promise<void> {
    if (this.#value) {
      // Messages need no writes, so nothing depends on this one.
      await client.set(this.#key, this.#value).catch(() => {});
      return;
    }
    await client.set(this.#key, randomUUID(), { condition: "NX" });
    const value = await client.get(this.#key);
    if (!value) throw new Error("It does not keep written values.");
    this.#value = value;
  }

  putBack(client: Client): void {
    client.set(this.#key, this.#value, { condition: "NX" }).catch(() => {});
  }
}

/** How long a process may be silent until it counts as ended. */
export const SILENCE_TIMEOUT_MS = 4000;

/** How many other processes are tracked at most. Further ones have no beginning and no end. */
const MAX_PEERS = 10_000;

interface PeersParts {
  onBegan: (process: string) => void;
  onEnded: (process: string) => void;
}

class Peers {
  readonly #parts: PeersParts;
  readonly #heard = new Map<string, number>();

  constructor(parts: PeersParts) {
    this.#parts = parts;
  }

  /** Another process is alive. @param now in milliseconds. */
  hear(process: string, now: number): void {
    const isNew = !this.#heard.has(process);
    if (isNew && this.#heard.size >= MAX_PEERS) return;
    this.#heard.set(process, now);
    if (isNew) this.#parts.onBegan(process);
  }

  end(process: string): void {
    if (this.#heard.delete(process)) this.#parts.onEnded(process);
  }

  endSilent(now: number): void {
    for (const [process, at] of this.#heard) {
      if (now - at > SILENCE_TIMEOUT_MS) this.end(process);
    }
  }
}

/** After how long a first connection that has failed is given up. */
const OPEN_TIMEOUT_MS = 5000;

/** How often that time begins again while nothing has failed: a busy machine is slow to load the client. */
const OPEN_ROUNDS = 4;

/** How often silent processes are looked for. */
const TICK_INTERVAL_MS = 250;

/** The number of ticks between two heartbeats of a process. */
const TICKS_PER_HEARTBEAT = 4;

/** How much time one tick counts for at most. */
const LONGEST_TICK_MS = 1000;

/** How long the last message may take. */
const CLOSE_TIMEOUT_MS = 1000;

interface ValkeyOptions {
  /** The address: `redis:`, `rediss:`, `valkey:` or `valkeys:`. */
  url: string;
  /** The prefix of every key and channel, unique among the installations that share this Valkey. */
  namespace: string;
  onFault: OnFault;
  /** Gets one line when Valkey is lost, and when it is back. */
  log?: ((line: string) => void) | undefined;
}

/**
 * The bus between processes on any machine, by publish and subscribe of Valkey or Redis. Each
 * world has a channel, so a process gets only the messages of the worlds that it has joined. A
 * message comes once or never, and messages of one process through one channel keep their order.
 * While Valkey is away, messages reach the listeners of this process only.
 */
export class ValkeyBus implements Bus {
  readonly process = randomUUID();
  readonly isAlone = false;
  readonly #local: LocalBus;
  readonly #log: (line: string) => void;
  readonly #channels: Channels;
  readonly #identity: Identity;
  readonly #link: Link;
  readonly #outbox: Outbox;
  readonly #peers: Peers;
  readonly #ticker: NodeJS.Timeout;
  #connected = false;
  /** Called when a message of this process has come back for the first time. */
  #onConnected = () => {};
  /** The state of Valkey that was last logged; undefined before the first connection. */
  #isLogged: boolean | undefined;
  #closed = false;
  /**
   * For how many milliseconds this process has run. It does not count while the process
   * is suspended, as the silence of the others means nothing then.
   */
  #time = 0;
  #tickedAt = performance.now();
  #ticks = 0;
  /** When a message of this process last came back. */
  #echoedAt = 0;
  /** Answers processes that have begun, which do not know this one yet. */
  #answer: NodeJS.Immediate | undefined;

  private constructor({ url, namespace, onFault, log }: ValkeyOptions) {
    this.#log = log ?? (() => {});
    this.#local = new LocalBus(onFault, this.process);
    this.#peers = new Peers({
      onBegan: (process) => {
        this.#answer ??= setImmediate(() => this.#sendAlive());
        this.#local.publish({ type: "process.began", process });
      },
      onEnded: (process) => this.#local.publish({ type: "process.ended", process }),
    });
    const prefix = `foyer:${namespace}:`;
    this.#channels = new Channels({
      prefix,
      onMessage: (text, world) => this.#receive(text, world),
      onRefused: (error) => this.#link.cut(error),
    });
    this.#identity = new Identity(`${prefix}identity`);
    this.#link = new Link({
      url,
      prepare: async (client) => {
        await this.#identity.meet(client);
        await this.#channels.begin(client);
      },
      onUp: () => {
        this.#connected = false;
        this.#echoedAt = this.#time;
        this.#sendAlive();
      },
    });
    this.#outbox = new Outbox((channel, body) => this.#send(channel, "messages", body));
    this.#ticker = setInterval(() => this.#tick(), TICK_INTERVAL_MS).unref();
  }

  /**
   * Connects, and resolves when messages reach the other processes.
   * @throws {StoreError} `unusable`, with one line for the operator.
   */
  static async open(options: ValkeyOptions): Promise<ValkeyBus> {
    const bus = new ValkeyBus(options);
    const isUp = await new Promise<boolean>((resolve) => {
      let rounds = 0;
      const timer = setInterval(() => {
        const isSlow = bus.#link.fault === undefined;
        if (++rounds === OPEN_ROUNDS || !isSlow) end(false);
      }, OPEN_TIMEOUT_MS);
      const end = (isUp: boolean) => {
        clearInterval(timer);
        resolve(isUp);
      };
      bus.#onConnected = () => end(true);
    });
    if (isUp) return bus;
    const { fault } = bus.#link;
    await bus.close();
    throw new StoreError("unusable", unreachable(options.url, fault));
  }

  get connected(): boolean {
    return this.#connected && this.#link.client !== undefined;
  }

  /** Names this Valkey for all processes with this namespace: see {@link Identity}. */
  get identity(): string {
    return this.#identity.value;
  }

  get others(): ReadonlySet<string> {
    return this.#local.others;
  }

  publish(message: SnapshotMessage | HintMessage): void {
    if (this.#closed) return;
    // The others first: a listener here may publish the next message.
    this.#outbox.add(this.#channels.nameOf(message.world), message);
    this.#local.publish(message);
  }

  subscribe(listener: BusListener): () => void {
    return this.#local.subscribe(listener);
  }

  join(world: string): void {
    this.#channels.join(world);
  }

  leave(world: string): void {
    this.#channels.leave(world);
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    clearInterval(this.#ticker);
    clearImmediate(this.#answer);
    this.#outbox.flush();
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise((resolve) => {
      timer = setTimeout(resolve, CLOSE_TIMEOUT_MS);
    });
    await Promise.race([this.#broadcast("bye"), late]);
    clearTimeout(timer);
    this.#link.close();
    await this.#local.close();
  }

  #tick(): void {
    const now = performance.now();
    this.#time += Math.min(now - this.#tickedAt, LONGEST_TICK_MS);
    this.#tickedAt = now;
    if (++this.#ticks % TICKS_PER_HEARTBEAT === 0) this.#heartbeat();
    this.#peers.endSilent(this.#time);
    if (this.#link.client && this.#time - this.#echoedAt > SILENCE_TIMEOUT_MS) {
      this.#connected = false;
      this.#link.cut(new Error(SILENT));
    }
    this.#logState();
  }

  #logState(): void {
    const { connected } = this;
    if (this.#isLogged === undefined || this.#isLogged === connected) return;
    this.#isLogged = connected;
    this.#log(
      connected
        ? "Valkey is back: messages reach other nodes again"
        : `Valkey is lost: ${reasonOf(this.#link.fault)}; messages reach this node only`,
    );
  }

  #heartbeat(): void {
    this.#sendAlive();
    this.#channels.sweep();
    const { client } = this.#link;
    if (client) this.#identity.putBack(client);
  }

  #sendAlive(): void {
    clearImmediate(this.#answer);
    this.#answer = undefined;
    detach(this.#broadcast("alive"));
  }

  /** Sends a message to all processes. Never rejects. */
  async #broadcast(kind: "alive" | "bye"): Promise<void> {
    const all = this.#channels.nameOf(undefined);
    await this.#send(all, kind)?.catch(() => {});
  }

  /** @returns undefined while there is no connection. */
  #send(channel: string, kind: Envelope["kind"], body = ""): Promise<unknown> | undefined {
    const text = textOf({ process: this.process, kind, body });
    return this.#link.client?.publish(channel, text);
  }

  #receive(text: string, world: string | undefined): void {
    const envelope = envelopeOf(text);
    if (!envelope || this.#closed) return;
    const { process, kind } = envelope;
    if (process === this.process) return this.#echoed();
    if (kind === "bye") return this.#peers.end(process);
    this.#peers.hear(process, this.#time);
    if (kind === "alive") return;
    for (const message of messagesOf(envelope, world)) {
      this.#local.publish(message);
    }
  }

  /** A message of this process has come back: both ways work. */
  #echoed(): void {
    this.#echoedAt = this.#time;
    this.#connected = true;
    this.#isLogged ??= true;
    this.#onConnected();
  }
}

/** The message for the operator. It names only the host, as an address may have a password. */
function unreachable(url: string, fault: unknown): string {
  const { protocol, host } = new URL(url);
  return `VALKEY_URL: ${protocol}//${host} cannot be reached: ${reasonOf(fault)}`;
}
