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
import { ValkeyChannels, type Envelope, envelopeOf, messagesOf, textOf } from "./messages.js";
import { Outbox } from "./outbox.js";
import { type Client, ValkeyLink, reasonOf, SILENT } from "./valkey-link.js";

/**
 * Identifies a Valkey server: all processes that use the same key read the same value, and a
 * different server has a different value. The value is stored in Valkey, and restored if Valkey
 * loses its data.
 */
export class ValkeyIdentity {
  readonly #key: string;
  #value = "";

  constructor(key: string) {
    this.#key = key;
  }

  /** The identity; empty until the first connection. */
  get value(): string {
    return this.#value;
  }

  /**
   * Reads or creates the identity on the first connection, and restores the identity on later
   * connections.
   * @throws an error if Valkey does not retain written values, or an error from the client.
   */
  async meet(client: Client): Promise<void> {
    if (this.#value) {
      // Sending messages requires no writes, so a failure here is harmless.
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

/** Duration of silence after which a process counts as ended. */
export const SILENCE_TIMEOUT_MS = 4000;

/**
 * Maximum number of other processes to track. Beyond this number, the start and stop of a process
 * are not announced.
 */
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

  /** Records that another process is alive. @param now in milliseconds. */
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

/** Interval at which to check whether the first connection has failed. */
const OPEN_TIMEOUT_MS = 5000;

/**
 * Maximum number of checks for a failed first connection before giving up. Loading the client is
 * slow on a busy machine.
 */
const OPEN_ROUNDS = 4;

/** The interval between checks for silent processes. */
const TICK_INTERVAL_MS = 250;

const TICKS_PER_HEARTBEAT = 4;

/** Maximum time that a single tick adds to the running time. */
const LONGEST_TICK_MS = 1000;

/** Timeout for sending the final messages. */
const CLOSE_TIMEOUT_MS = 1000;

interface ValkeyOptions {
  /** The URL, with the scheme `redis:`, `rediss:`, `valkey:` or `valkeys:`. */
  url: string;
  /** The prefix of every key and channel, unique to each installation that shares this Valkey. */
  namespace: string;
  onFault: OnFault;
  /** Called with one line when the connection to Valkey is lost, and when it is restored. */
  log?: ((line: string) => void) | undefined;
}

/**
 * The bus between processes on any number of machines, using the publish and subscribe commands of
 * Valkey or Redis. Each world has its own channel, so a process receives messages only for the
 * worlds that it has joined. A message arrives at most once, and messages that one process sends
 * through one channel arrive in order. While Valkey is unreachable, messages reach only the
 * listeners in this process.
 */
export class ValkeyBus implements Bus {
  readonly process = randomUUID();
  readonly isAlone = false;
  readonly #local: LocalBus;
  readonly #log: (line: string) => void;
  readonly #channels: ValkeyChannels;
  readonly #identity: ValkeyIdentity;
  readonly #link: ValkeyLink;
  readonly #outbox: Outbox;
  readonly #peers: Peers;
  readonly #ticker: NodeJS.Timeout;
  #connected = false;
  /** Called whenever this process receives one of its own messages. The first call confirms the connection. */
  #onConnected = () => {};
  /** The connection state that was last logged; undefined before the first connection. */
  #isLogged: boolean | undefined;
  #closed = false;
  /**
   * The time for which this process has been running, in milliseconds. Excludes time during which
   * the process was suspended, because messages from other processes could not arrive then.
   */
  #time = 0;
  #tickedAt = performance.now();
  #ticks = 0;
  /** The `#time` at which this process last received one of its own messages. */
  #echoedAt = 0;
  /** The pending announcement to newly started processes, which do not know this process yet. */
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
    this.#channels = new ValkeyChannels({
      prefix,
      onMessage: (text, world) => this.#receive(text, world),
      onRefused: (error) => this.#link.cut(error),
    });
    this.#identity = new ValkeyIdentity(`${prefix}identity`);
    this.#link = new ValkeyLink({
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
   * Connects to Valkey. Resolves once messages reach the other processes.
   * @throws {StoreError} `unusable`, with a one-line message for the operator.
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

  /** Identifies this Valkey server to all processes with the same namespace: see {@link ValkeyIdentity}. */
  get identity(): string {
    return this.#identity.value;
  }

  get others(): ReadonlySet<string> {
    return this.#local.others;
  }

  publish(message: SnapshotMessage | HintMessage): void {
    if (this.#closed) return;
    // Send to other processes first, because a local listener may publish the next message.
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

  /** Handles one of this process's own messages, which shows that Valkey is reachable in both directions. */
  #echoed(): void {
    this.#echoedAt = this.#time;
    this.#connected = true;
    this.#isLogged ??= true;
    this.#onConnected();
  }
}

/**
 * Returns the message that tells the operator that Valkey cannot be reached. The message names only
 * the host, because the URL may contain a password.
 */
function unreachable(url: string, fault: unknown): string {
  const { protocol, host } = new URL(url);
  return `VALKEY_URL: ${protocol}//${host} cannot be reached: ${reasonOf(fault)}`;
}
