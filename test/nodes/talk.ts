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

// A conversation over several nodes: people who speak and come back by way of a load
// balancer, the client of this project, and a crowd that listens.

/** How many speak, and how long each waits between two messages: 20 messages a second. */
const SPEAKERS = 4;
const PAUSE = 200;

/** A user with a token, over the client of this project. */
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
  /** What the client of this project got: ids of events. */
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
   * Lets people join who speak, and a crowd that listens.
   * @param nodes the crowd begins at the first; the others serve users who come back.
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

  /** Begins to speak. */
  begin(): void {
    this.#isOver = false;
    this.#writing = writeUntil(this.speakers, () => this.#isOver, PAUSE);
    // A test that fails does not wait for it.
    this.#writing.catch(() => {});
    this.t.teardown(() => (this.#isOver = true));
  }

  get acknowledged(): number {
    return this.speakers.reduce((sum, one) => sum + one.acknowledged.size, 0);
  }

  /** The id of the newest message that was acknowledged. */
  get last(): number {
    return Math.max(...this.speakers.flatMap(({ acknowledged }) => [...acknowledged.values()]));
  }

  /** Waits until some more messages were acknowledged. */
  async goOn(messages: number): Promise<void> {
    const goal = this.acknowledged + messages;
    const what = `${messages} more messages`;
    await within(120 * SECONDS, what, () => this.acknowledged >= goal);
  }

  /**
   * Waits until everybody in the crowd is there and has got what is acknowledged by now.
   * @param limit in milliseconds, on a machine that has nothing else to do.
   * @param since when that began, as `performance.now()` gave it; by default now.
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
   * Kills a node in the middle of the conversation, and waits until everybody has got what
   * was said after that.
   * @returns how long that took, in milliseconds.
   */
  async survives(node: Node, limit: number): Promise<number> {
    const killed = performance.now();
    node.signal("SIGKILL");
    // Each speaker may have sent one message before.
    await this.goOn(2 * this.speakers.length);
    return this.caughtUp(limit, killed);
  }

  /** Ends the conversation. Everybody has to have got every event once and in order. */
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

/** How a crowd joins. */
export interface Joined {
  do: "join";
  /** Their names begin with it. */
  name: string;
  count: number;
  /** The nodes: all begin at the first one, and go on to the next when a connection ends. */
  ports: number[];
  world: string;
  /** The room that they enter, and its channel. */
  channel: string;
}

/** What the process of a crowd is asked. */
export type Question =
  Joined | { do: "count"; last: number } | { do: "compare"; expected: number[] } | { do: "leave" };

/** How what came differs from what there is. */
export interface Told {
  /** How many clients missed an event, got one twice, or got them in another order. */
  faults: number;
  /** What one of them got. */
  first: string;
}

/** Many websockets in a process of their own. */
export class Crowd {
  readonly #process: ChildProcess;

  private constructor(process: ChildProcess) {
    this.#process = process;
  }

  /** Resolves when all of them have subscribed. */
  static async join(t: Test, options: Omit<Joined, "do">): Promise<Crowd> {
    const program = join(import.meta.dirname, "crowd-process.js");
    // tap puts a loader into the environment of every child.
    const env = { PATH: process.env.PATH };
    const child = fork(program, { env, execArgv: [] });
    t.teardown(() => child.kill("SIGKILL"));
    const crowd = new Crowd(child);
    await crowd.#ask({ do: "join", ...options });
    return crowd;
  }

  /** How many are subscribed now and have got everything up to an event. */
  count(last = 0): Promise<number> {
    return this.#ask({ do: "count", last });
  }

  /** Compares what each has got with all events that there are, up to the last of these. */
  compare(expected: number[]): Promise<Told> {
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
