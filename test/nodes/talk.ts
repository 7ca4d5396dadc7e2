import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import type { Test } from "tap";
import type { Live } from "../../client/index.js";
import { liveOf } from "../protocol/client/house.js";
import { Chatter, verify, writeUntil } from "../support/chatter.js";
import { keyOf, tokenOf } from "../support/helper.js";
import { startBalancer } from "../support/servers/proxy.js";
import { createRoom, type Node, SECONDS, within, WORLD } from "./kit.js";

// A conversation across several nodes: speakers who reconnect through a load balancer, this
// project's client, and a crowd of listeners.

/** The number of speakers and their pause between messages, in milliseconds: 20 messages a second. */
const SPEAKERS = 4;
const PAUSE = 200;

/** Connects this project's client, with a token. */
const liveAt = (t: Test, port: number, uid: string): Live =>
  liveOf(
    t,
    { baseUrl: `http://127.0.0.1:${port}` },
    {
      world: WORLD,
      token: tokenOf(keyOf(WORLD), { uid, profile: { display_name: uid } }),
      maxRetryDelay: 1000,
      timeout: 60_000,
    },
  );

export class Talk {
  /** The ids of the events that this project's client has received. */
  readonly heard: number[] = [];
  #isOver = false;
  #writing: Promise<void> | undefined;

  private constructor(
    readonly t: Test,
    readonly room: string,
    /** The port of the load balancer. */
    readonly port: number,
    readonly speakers: Chatter[],
    readonly crowd: Crowd,
    readonly size: number,
  ) {}

  /**
   * Starts speakers and a crowd of listeners.
   * @param nodes the crowd starts at the first; the others serve reconnecting users.
   */
  static async start(t: Test, nodes: readonly Node[], size: number): Promise<Talk> {
    const room = await createRoom(nodes[0]!);
    const ports = nodes.map(({ port }) => port);
    const port = await startBalancer(t, ports);
    const speakers = await Promise.all(
      Array.from({ length: SPEAKERS }, async (_, i) => {
        const name = `speaker-${i}`;
        const speaker = new Chatter(name, room, () =>
          nodes[0]!.logIn({ client_id: name }, `http://127.0.0.1:${port}`),
        );
        return (await speaker.join()).connect();
      }),
    );
    const crowd = await Crowd.join(t, {
      name: "guest",
      count: size,
      ports,
      world: WORLD,
      channel: room,
    });
    const talk = new Talk(t, room, port, speakers, crowd, size);
    await talk.#listen();
    return talk;
  }

  /** Starts the speakers. */
  begin(): void {
    this.#isOver = false;
    this.#writing = writeUntil(this.speakers, () => this.#isOver, PAUSE);
    // A test that fails does not await this promise.
    this.#writing.catch(() => {});
    this.t.teardown(() => (this.#isOver = true));
  }

  get acknowledged(): number {
    return this.speakers.reduce((sum, one) => sum + one.acknowledged.size, 0);
  }

  /** The id of the newest acknowledged message. */
  get last(): number {
    return Math.max(...this.speakers.flatMap(({ acknowledged }) => [...acknowledged.values()]));
  }

  /** Waits until this many more messages have been acknowledged. */
  async goOn(messages: number): Promise<void> {
    const goal = this.acknowledged + messages;
    const what = `${messages} more messages`;
    await within(120 * SECONDS, what, () => this.acknowledged >= goal);
  }

  /**
   * Waits until the whole crowd is subscribed and has received every message acknowledged so far.
   * @param limit in milliseconds, on an otherwise idle machine.
   * @param since the start of the wait, as returned by `performance.now()`; defaults to now.
   * @returns how long it took, in milliseconds.
   */
  async caughtUp(limit: number, since = performance.now()): Promise<number> {
    const { last, size } = this;
    let count = 0;
    const isSo = async () => (count = await this.crowd.count(last)) === size;
    return within(limit, "everybody has caught up", isSo, since).catch((error: unknown) => {
      throw new Error(`${String(error)}; ${count} of ${size} have`);
    });
  }

  /**
   * Kills a node mid-conversation, and waits until the whole crowd has received messages sent after
   * the kill.
   * @returns how long that took, in milliseconds.
   */
  async survives(node: Node, limit: number): Promise<number> {
    const killed = performance.now();
    node.signal("SIGKILL");
    // The first message of each speaker may have been sent before the kill.
    await this.goOn(2 * this.speakers.length);
    return this.caughtUp(limit, killed);
  }

  /** Ends the conversation, and checks that everyone received every event once and in order. */
  async end(): Promise<void> {
    const { t, speakers, crowd } = this;
    this.#isOver = true;
    await this.#writing;
    const last = await verify(t, speakers, speakers);
    await this.caughtUp(60 * SECONDS);
    const history = await speakers[0]!.history();
    const ids = history.map(({ event_id }) => event_id).filter((id) => id <= last);
    const { faults, first } = await crowd.compare(ids);
    t.equal(faults, 0, `the crowd got all ${ids.length} events once: ${first}`);
    const isThere = () => this.heard.includes(last);
    await within(60 * SECONDS, "the client of the project gets all", isThere);
    const heard = this.heard.filter((id) => id <= last);
    t.same(heard, ids, "and so did the client of this project");
  }

  async #listen(): Promise<void> {
    const live = liveAt(this.t, this.port, "listener");
    await live.connected();
    const events = live.channel(this.room).events({ after: 0 });
    void (async () => {
      for await (const { event_id } of events) this.heard.push(event_id);
    })().catch((error: unknown) => {
      if (!this.#isOver) this.t.fail(error as Error);
    });
  }
}

/** Tells a crowd how to join. */
export interface Joined {
  do: "join";
  /** Prefix of the users' names. */
  name: string;
  count: number;
  /** The nodes' ports. All users start at the first one, and move to the next on a disconnect. */
  ports: number[];
  world: string;
  /** The id of the room that they enter, which is also that of its channel. */
  channel: string;
}

/** A request to the process of a crowd. */
export type Question =
  Joined | { do: "count"; last: number } | { do: "compare"; expected: number[] } | { do: "leave" };

/** Differences between the received and the expected events. */
export interface ComparisonResult {
  /** The number of clients with missed, duplicate or reordered events. */
  faults: number;
  /** Describes the first of these clients; empty if there is none. */
  first: string;
}

/** Many WebSockets in a separate process. */
export class Crowd {
  readonly #process: ChildProcess;

  private constructor(process: ChildProcess) {
    this.#process = process;
  }

  /** Resolves once all clients have subscribed. */
  static async join(t: Test, options: Omit<Joined, "do">): Promise<Crowd> {
    const program = join(import.meta.dirname, "crowd-process.js");
    // tap adds a loader to the environment of every child process.
    const env = { PATH: process.env.PATH };
    const child = fork(program, { env, execArgv: [] });
    t.teardown(() => child.kill("SIGKILL"));
    const crowd = new Crowd(child);
    await crowd.#ask({ do: "join", ...options });
    return crowd;
  }

  /** Counts the clients that are subscribed and have received every event up to `last`. */
  count(last = 0): Promise<number> {
    return this.#ask({ do: "count", last });
  }

  /** Compares the events that each client has received with the expected ones, up to the last of these. */
  compare(expected: number[]): Promise<ComparisonResult> {
    return this.#ask({ do: "compare", expected });
  }

  leave(): Promise<void> {
    return this.#ask({ do: "leave" });
  }

  async #ask<T>(question: Question): Promise<T> {
    this.#process.send(question);
    const [{ result, error }] = (await once(this.#process, "message")) as [
      { result: T; error?: string },
    ];
    if (error !== undefined) throw new Error(error);
    return result;
  }
}
