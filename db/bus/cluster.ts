import type { ChildProcess } from "node:child_process";
import { isId, isKindOf, isRecord } from "../../schemas/plain/shapes.js";
import {
  type Bus,
  type BusListener,
  type HintMessage,
  LocalBus,
  type OnFault,
  type SnapshotMessage,
} from "./bus.js";
import { received } from "./shapes.js";

/**
 * Maximum number of queued letters. If the primary or a worker is this far behind, it hangs or will
 * not catch up, so the worker is terminated and its clients reconnect to another worker.
 */
const MAX_UNREAD = 20_000;

/** A message from a worker to the primary. */
type Letter =
  /** The worker has started and has not joined any world. */
  | { bus: "hello" }
  | { bus: "join" | "leave"; world: string }
  | { bus: "message"; message: unknown };

/** A message from the primary to a worker. */
type Relayed =
  | { bus: "message"; message: unknown }
  /** Another worker has started or ended. */
  | { bus: "began" | "ended"; process: string };

const ofMessage = isRecord({ message: () => true });
const ofWorld = isRecord({ world: isId });
const ofProcess = isRecord({ process: isId });
const isLetter = isKindOf("bus", {
  hello: isRecord({}),
  join: ofWorld,
  leave: ofWorld,
  message: ofMessage,
});
const isRelayed = isKindOf("bus", { message: ofMessage, began: ofProcess, ended: ofProcess });

/**
 * The bus between the workers on one machine. To publish a message, a worker calls its own
 * listeners and sends the message to the primary process, which relays the message to the other
 * interested workers (see {@link relayMessages}).
 */
export class ClusterBus implements Bus {
  readonly isAlone = false;
  readonly #local: LocalBus;
  readonly #primary: NodeJS.Process;
  /** Joins minus leaves, by world. */
  readonly #worlds = new Map<string, number>();
  #closed = false;
  /** Number of letters queued for the primary. */
  #unread = 0;

  /**
   * @param primary this process, whose IPC channel leads to the primary.
   * @param name the name under which the primary announces this process to the other workers.
   */
  constructor(primary: NodeJS.Process, onFault: OnFault, name: string) {
    this.#local = new LocalBus(onFault, name);
    this.#primary = primary;
    primary.on("message", this.#receive);
    this.#send({ bus: "hello" });
  }

  get process(): string {
    return this.#local.process;
  }

  get others(): ReadonlySet<string> {
    return this.#local.others;
  }

  publish(message: SnapshotMessage | HintMessage): void {
    if (this.#closed) return;
    // Send to other processes first, because a local listener may publish the next message.
    this.#send({ bus: "message", message });
    this.#local.publish(message);
  }

  subscribe(listener: BusListener): () => void {
    return this.#local.subscribe(listener);
  }

  join(world: string): void {
    const holders = this.#worlds.get(world) ?? 0;
    this.#worlds.set(world, holders + 1);
    if (holders === 0) this.#send({ bus: "join", world });
  }

  leave(world: string): void {
    const holders = this.#worlds.get(world) ?? 0;
    if (holders > 1) this.#worlds.set(world, holders - 1);
    else if (this.#worlds.delete(world)) this.#send({ bus: "leave", world });
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#primary.off("message", this.#receive);
    await this.#local.close();
  }

  #send(letter: Letter): void {
    // If the primary is gone, this worker and all others are about to exit.
    if (!this.#primary.connected) return;
    if (this.#unread >= MAX_UNREAD) return this.#primary.exit(1);
    this.#unread++;
    const read = () => void this.#unread--;
    this.#primary.send!(letter, undefined, undefined, read);
  }

  readonly #receive = (value: unknown): void => {
    if (!isRelayed(value)) return;
    const letter = value as Relayed;
    if (letter.bus !== "message") {
      const { bus, process } = letter;
      return this.#local.publish({ type: `process.${bus}`, process });
    }
    for (const message of received(letter.message)) {
      const { world } = message;
      // This worker may have left the world while the message was in flight.
      if (world !== undefined && !this.#worlds.has(world)) continue;
      this.#local.publish(message);
    }
  };
}

/** What the primary knows about a worker. */
interface Member {
  readonly name: string;
  readonly worlds: Set<string>;
  /** Number of letters queued for the worker. */
  unread: number;
}

const members = new WeakMap<ChildProcess, Member>();

function sendTo(worker: ChildProcess, letter: Relayed): void {
  const member = members.get(worker);
  // Ignore workers that have already exited.
  if (!member || !worker.connected) return;
  // A hanging worker would not handle any other signal.
  if (member.unread >= MAX_UNREAD) return void worker.kill("SIGKILL");
  member.unread++;
  worker.send(letter, () => void member.unread--);
}

/** Returns the world of a message that has not been validated, or undefined if the message has none. */
const worldOf = (message: unknown): unknown => (message as Partial<SnapshotMessage> | null)?.world;

/**
 * Relays one worker's messages to the other interested workers, and announces when that worker
 * starts and ends. Runs in the primary.
 * @param name the worker's name.
 * @param workers returns all live workers.
 */
export function relayMessages(
  from: ChildProcess,
  name: string,
  workers: () => Iterable<ChildProcess>,
): void {
  const others = () => [...workers()].filter((worker) => worker !== from);

  function greet(): void {
    const known = members.get(from);
    if (known) return known.worlds.clear();
    members.set(from, { name, worlds: new Set(), unread: 0 });
    for (const other of others()) {
      const member = members.get(other);
      if (!member) continue;
      sendTo(from, { bus: "began", process: member.name });
      sendTo(other, { bus: "began", process: name });
    }
  }

  function relay(message: unknown): void {
    const world = worldOf(message);
    for (const other of others()) {
      const isWanted = typeof world !== "string" || members.get(other)?.worlds.has(world);
      if (isWanted) sendTo(other, { bus: "message", message });
    }
  }

  from.on("message", (value: unknown) => {
    if (!isLetter(value)) return;
    const letter = value as Letter;
    const worlds = members.get(from)?.worlds;
    if (letter.bus === "hello") greet();
    else if (letter.bus === "message") relay(letter.message);
    else if (letter.bus === "join") worlds?.add(letter.world);
    else worlds?.delete(letter.world);
  });
  // A process may exit before its last messages are read, and its channel closes after they are
  // read. Wait for both events.
  let isPartlyOver = false;
  const onOver = () => {
    if (isPartlyOver && members.delete(from)) {
      const ended: Relayed = { bus: "ended", process: name };
      for (const other of others()) sendTo(other, ended);
    }
    isPartlyOver = true;
  };
  from.once("exit", onOver).once("disconnect", onOver);
}
