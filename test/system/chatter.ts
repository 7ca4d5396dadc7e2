import type { Test } from "tap";
import { until } from "../helper.js";
import { Person } from "./person.js";

// A user who talks in a channel and comes back when the connection ends.

type Data = Record<string, unknown>;

/** An event of a channel. */
export interface Event {
  event_id: number;
  sender: string;
  content: { type?: string; body?: string };
}

const idsOf = (events: unknown): number[] =>
  (events as Event[]).map(({ event_id }) => event_id);

/** How long anything may take, in milliseconds. It is for a fault that no test ever sees. */
const DEADLINE = 60_000;

/** Waits until something is so. @throws {Error} that says what never was. */
export async function eventually(
  what: string,
  condition: () => boolean,
): Promise<void> {
  const ends = Date.now() + DEADLINE;
  await until(() => {
    if (Date.now() > ends) throw new Error(`${what}: not within ${DEADLINE}`);
    return condition();
  });
}

/** A connection, and the events that its subscription began with. */
interface Session {
  person: Person;
  caughtUp: number[];
  /** What was pushed up to this id was caught up as well. */
  pages: number;
}

/** How many events a page has at most. */
const PAGE = 1000;

/** A user who talks in a channel, and reconnects with `after` when the connection ends. */
export class Chatter {
  /** The ids of the messages that were acknowledged, by their bodies. */
  readonly acknowledged = new Map<string, number>();
  /** The bodies of messages that got no answer: they may be stored or not. */
  readonly unsure = new Set<string>();
  readonly #sessions: Session[] = [];
  #count = 0;

  constructor(
    readonly t: Test,
    readonly name: string,
    readonly channel: string,
    readonly port: number,
    readonly connectVia: () => Promise<Person> = () => Person.connect(t, port),
  ) {}

  /** How often it has connected. */
  get connections(): number {
    return this.#sessions.length;
  }

  get person(): Person {
    return this.#sessions.at(-1)!.person;
  }

  /** The ids of all events that came, over all connections, in the order in which they came. */
  get seen(): number[] {
    return this.#sessions.flatMap(({ person, caughtUp, pages }) => [
      ...caughtUp,
      ...person
        .all("chat.event")
        .filter(({ channel }) => channel === this.channel)
        .map((event) => (event as unknown as Event).event_id)
        .filter((id) => id > pages),
    ]);
  }

  /** Logs in and catches up. It tries again until it succeeds. */
  async connect(connectVia = this.connectVia): Promise<this> {
    const after = this.seen.at(-1) ?? 0;
    const ends = Date.now() + DEADLINE;
    for (;;) {
      try {
        const person = await connectVia();
        await this.#enter(person, after);
        return this;
      } catch (error) {
        if (Date.now() > ends) throw error;
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    }
  }

  async #enter(person: Person, after: number): Promise<void> {
    await whileOpen(person, person.logIn({ client_id: this.name }));
    const { channel } = this;
    const state = await ask(person, "chat.subscribe", { channel, after });
    const caughtUp = idsOf(state.events);
    let pages = 0;
    for (let { length } = caughtUp; length === PAGE;) {
      const after_id = caughtUp.at(-1)!;
      const page = { channel, count: PAGE, after_id };
      const more = idsOf((await ask(person, "chat.fetch", page)).results);
      caughtUp.push(...more);
      pages = caughtUp.at(-1)!;
      length = more.length;
    }
    this.#sessions.push({ person, caughtUp, pages });
  }

  /** Becomes a member, over a connection of its own. */
  async join(): Promise<this> {
    const person = await Person.connect(this.t, this.port);
    await person.logIn({ client_id: this.name });
    const profile = { display_name: this.name };
    await ask(person, "user.update", { profile });
    await ask(person, "chat.join", { channel: this.channel });
    person.ws.terminate();
    return this;
  }

  /** Sends one message, and notes whether it was acknowledged. */
  async say(): Promise<void> {
    const body = `${this.name} ${this.#count++}`;
    const content = { type: "text", body };
    const event_type = "channel.message";
    const { channel } = this;
    try {
      const payload = { channel, event_type, content };
      const answer = await ask(this.person, "chat.send", payload);
      this.acknowledged.set(body, (answer.event as Event).event_id);
    } catch {
      this.unsure.add(body);
    }
    if (this.person.closed) await this.connect();
  }

  /** Waits until an event has come, over however many connections. */
  async sees(id: number): Promise<void> {
    await eventually(`${this.name} sees ${id}`, () => {
      return this.seen.includes(id) || this.person.closed !== undefined;
    });
    if (this.seen.includes(id)) return;
    await this.connect();
    await this.sees(id);
  }

  /** All events of the channel, as a new connection fetches them. */
  async history(): Promise<Event[]> {
    const person = await Person.connect(this.t, this.port);
    await person.logIn({ client_id: "historian" });
    const events: Event[] = [];
    for (;;) {
      const after_id = events.at(-1)?.event_id ?? 0;
      const page = { channel: this.channel, count: 300, after_id };
      const { results } = await ask(person, "chat.fetch", page);
      events.push(...(results as Event[]));
      if ((results as Event[]).length < 300) break;
    }
    person.ws.terminate();
    return events;
  }
}

/** Sends a command that must succeed before the connection ends. */
export async function ask(
  person: Person,
  action: string,
  payload: unknown,
): Promise<Data> {
  const answer = await whileOpen(person, person.call(action, payload));
  if ("code" in answer) throw new Error(`${action}: ${String(answer.code)}`);
  return answer;
}

/** The result of something that may never come if a connection ends. */
async function whileOpen<T>(person: Person, work: Promise<T>): Promise<T> {
  if (person.closed) throw new Error("closed");
  let end = () => {};
  const closed = new Promise<never>((_resolve, reject) => {
    end = () => reject(new Error("closed"));
    person.ws.once("close", end);
  });
  try {
    return await Promise.race([work, closed]);
  } finally {
    person.ws.off("close", end);
  }
}
