import { setTimeout } from "node:timers/promises";
import { Generator, type Report, type Times } from "./generator.js";

/** The clients of a server. */
export interface Guests {
  /** How many come. */
  people: number;
  /** How many of them come first, and send. */
  speakers: number;
  /** The rooms they enter in turn. */
  rooms: string[];
  /** How many processes they share; the first has the speakers. */
  processes?: number;
  /** How many come in a second. */
  rate?: number;
  /** The number of the first, if others are there already. */
  first?: number;
  /** Whether they have small buffers, because they are going to stop reading. */
  slow?: boolean;
  /** The extra frames of every client. */
  also?: string[];
}

/** The newest events of a channel are before this id. */
const NEWEST = "9223372036854775807";

/** A command as a client sends it. `{room}` and the like are filled in by the generator. */
export const frame = (action: string, id: number, payload: object): string =>
  JSON.stringify([action, id, payload]);

const login = JSON.stringify(["authenticate", { token: "{token}" }]);
const enter = frame("room.enter", 1, { room: "{room}" });
const channel = "{room}";
const fetchPage = frame("chat.fetch", 3, {
  channel,
  count: 50,
  before_id: NEWEST,
});

/** The frames of a listener. */
const listens = [
  login,
  enter,
  frame("chat.subscribe", 2, { channel }),
  fetchPage,
];

/** The frames of a speaker. */
const speaks = [
  login,
  enter,
  frame("user.update", 4, { profile: { display_name: "Person {i}" } }),
  frame("chat.join", 2, { channel }),
  fetchPage,
];

const messageOf = (bytes: number) =>
  frame("chat.send", 7, {
    channel,
    event_type: "channel.message",
    content: {
      type: "text",
      body: "seq={seq} ns={ns} To all who listen.".padEnd(bytes, " x"),
    },
  });

/** Clients of one server, in one or more processes. */
export class Crowd {
  readonly #generators: Generator[];
  readonly #speakers: number;
  /** The counts of the joining. */
  joined!: Report;

  private constructor(generators: Generator[], speakers: number) {
    this.#generators = generators;
    this.#speakers = speakers;
  }

  /**
   * Lets people in.
   * @param ports of a server, or of several nodes, among which the processes are shared out.
   * @throws {Error} if not all get in.
   */
  static async open(
    ports: number | readonly number[],
    guests: Guests,
  ): Promise<Crowd> {
    const {
      people,
      speakers,
      processes = 1,
      rate = 1000,
      also = [],
      first = 0,
    } = guests;
    const share = Math.ceil(people / processes);
    const generators: Generator[] = [];
    const all = [ports].flat();
    for (let at = 0; at < processes; at++) {
      const port = all[at % all.length]!;
      generators.push(await Generator.start(port, first + at * share));
    }
    const crowd = new Crowd(generators, speakers);
    for (const id of guests.rooms) await crowd.order(`room ${id}`);
    if (guests.slow) await crowd.order("small");
    // A server that is short of processor time may turn some away.
    await crowd.order("again 1000");
    await generators[0]!.order("script");
    for (const text of [...speaks, ...also])
      await generators[0]!.order(`step ${text}`);
    await generators[0]!.order(`open ${speakers} ${rate}`);
    await crowd.order("script");
    for (const text of [...listens, ...also]) await crowd.order(`step ${text}`);
    await Promise.all(
      generators.map((generator, at) => {
        const before = at * share + (at === 0 ? speakers : 0);
        const end = Math.min(people, (at + 1) * share);
        return generator.order(`open ${end - before} ${rate / processes}`);
      }),
    );
    await crowd.order("again 0");
    crowd.joined = await crowd.#reports(0);
    const { clients } = crowd.joined;
    if (clients < people) {
      await crowd.leave();
      throw new Error(`${clients} of ${people} people got in.`);
    }
    return crowd;
  }

  /** Gives an order to all processes. */
  async order<T = { clients: number }>(text: string): Promise<T[]> {
    return Promise.all(this.#generators.map((each) => each.order<T>(text)));
  }

  /**
   * Sends messages from the speakers, and waits for the answers.
   * @param rate how many a second.
   * @param bytes how long they are at least.
   */
  async say(messages: number, rate: number, bytes = 60): Promise<void> {
    await this.#generators[0]!.order(
      `say ${messages} ${rate} ${this.#speakers} ${messageOf(bytes)}`,
    );
  }

  /**
   * Counts deliveries from now on, until none come any more.
   * @param during sends messages.
   * @param messages how many it sends.
   * @throws {Error} if anything is lost, comes twice or late, or is refused.
   */
  async measure(
    name: string,
    during: () => Promise<unknown>,
    messages: number,
  ): Promise<Report> {
    await this.order("measure");
    await during();
    return this.report(name, messages);
  }

  async #reports(messages: number): Promise<Report> {
    const alone = this.#generators.length === 1;
    const reports = await this.order<Report>(
      alone ? "report" : `report ${messages}`,
    );
    return reports.reduce(together);
  }

  /** @returns the counts since the last `measure`. It throws like `measure`. */
  async report(name: string, messages = 0): Promise<Report> {
    const report = await this.#reports(messages);
    const wrong = (
      ["lost", "doubled", "disordered", "errors", "unanswered"] as const
    ).filter((key) => report[key] > 0);
    if (wrong.length) {
      const counts = wrong.map((key) => `${report[key]} ${key}`).join(", ");
      throw new Error(
        `${name}: ${counts}, of ${report.delivered} deliveries; ${report.closed} closed`,
      );
    }
    return report;
  }

  async leave(): Promise<void> {
    await Promise.all(this.#generators.map((each) => each.leave()));
    // The server notices.
    await setTimeout(500);
  }
}

/** Of two processes with as many clients each, the slower one counts. */
const slower = (a: Times, b: Times): Times => ({
  count: a.count + b.count,
  p50: Math.max(a.p50, b.p50),
  p95: Math.max(a.p95, b.p95),
  p99: Math.max(a.p99, b.p99),
  max: Math.max(a.max, b.max),
});

const together = (a: Report, b: Report): Report => ({
  clients: a.clients + b.clients,
  delay: slower(a.delay, b.delay),
  join: slower(a.join, b.join),
  delivered: a.delivered + b.delivered,
  bytes: a.bytes + b.bytes,
  lost: a.lost + b.lost,
  doubled: a.doubled + b.doubled,
  disordered: a.disordered + b.disordered,
  errors: a.errors + b.errors,
  closed: a.closed + b.closed,
  refused: a.refused + b.refused,
  unanswered: a.unanswered + b.unanswered,
  away: Math.max(a.away, b.away),
  seconds: Math.max(a.seconds, b.seconds),
  processor: a.processor + b.processor,
});
