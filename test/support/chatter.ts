import { setTimeout as delay } from "node:timers/promises";
import type { Test } from "tap";
import type { Client, Json } from "../../conformance/client.js";
import { until } from "./helper.js";

/** A connection, and the ids of the channel's events that it received. */
interface Session {
  client: Client;
  /** The last event that an earlier connection received, or 0. */
  after: number;
  caughtUp: number[];
  pushed: number[];
}

/** Maximum number of events per page. */
const PAGE = 1000;

/** A user who writes in a channel, and reconnects with `after` whenever the connection ends. */
export class Chatter {
  /** The ids of acknowledged messages, by body. */
  readonly acknowledged = new Map<string, number>();
  /** The bodies of messages without an answer, which may or may not be stored. */
  readonly unsure = new Set<string>();
  readonly #sessions: Session[] = [];
  #count = 0;

  /** @param logIn connects and logs in as the user `name`; retried until it succeeds. */
  constructor(
    readonly name: string,
    readonly channel: string,
    readonly logIn: () => Promise<Client>,
  ) {}

  /** Number of connections so far. */
  get connections(): number {
    return this.#sessions.length;
  }

  get client(): Client {
    return this.#sessions.at(-1)!.client;
  }

  /** The ids of all events, over all connections, in order of arrival. */
  get seen(): number[] {
    return this.#sessions.flatMap(({ after, caughtUp, pushed }) => {
      // A process that lags behind may push events that the subscription has already returned or
      // skipped.
      const last = caughtUp.at(-1) ?? after;
      return [...caughtUp, ...pushed.filter((id) => id > last)];
    });
  }

  /** Joins the channel over a separate connection. */
  async join(): Promise<this> {
    const client = await this.logIn();
    await client.do("user.update", { profile: { display_name: this.name } });
    await client.do("chat.join", { channel: this.channel });
    client.ws.terminate();
    return this;
  }

  /** Logs in and catches up; retries until it succeeds. */
  async connect(logIn = this.logIn): Promise<this> {
    const after = this.seen.at(-1) ?? 0;
    await until(async () => {
      try {
        this.#sessions.push(await this.#catchUp(await logIn(), after));
        return true;
      } catch {
        return false;
      }
    });
    return this;
  }

  async #catchUp(client: Client, after: number): Promise<Session> {
    const { channel } = this;
    const pushed: number[] = [];
    client.ws.on("message", (data: Buffer) => {
      const [name, event] = JSON.parse(data.toString());
      if (name === "chat.event" && event.channel === channel) pushed.push(event.event_id);
    });
    const idsOf = (events: Json[]): number[] => events.map(({ event_id }) => event_id);
    const caughtUp = idsOf((await client.do("chat.subscribe", { channel, after })).events);
    for (let { length } = caughtUp; length === PAGE;) {
      const page = { channel, count: PAGE, after_id: caughtUp.at(-1)! };
      const more = idsOf((await client.do("chat.fetch", page)).results);
      caughtUp.push(...more);
      length = more.length;
    }
    return { client, after, caughtUp, pushed };
  }

  /** Sends one message, and records whether it was acknowledged. */
  async say(): Promise<void> {
    const body = `${this.name} ${this.#count++}`;
    const content = { type: "text", body };
    const { channel } = this;
    try {
      const payload = { channel, event_type: "channel.message", content };
      const { event } = await this.client.do("chat.send", payload);
      this.acknowledged.set(body, event.event_id);
    } catch {
      this.unsure.add(body);
    }
    if (!this.client.isOpen) await this.connect();
  }

  /** Waits until an event has arrived, reconnecting as needed. */
  async sees(id: number): Promise<void> {
    while (!this.seen.includes(id)) {
      if (!this.client.isOpen) await this.connect();
      await until(() => this.seen.includes(id) || !this.client.isOpen);
    }
  }

  /** Fetches all events of the channel over a new connection. */
  async history(): Promise<Json[]> {
    const client = await this.logIn();
    const events: Json[] = [];
    for (let { length } = events; length % 300 === 0; { length } = events) {
      const page = { channel: this.channel, count: 300, after_id: events.at(-1)?.event_id ?? 0 };
      const { results } = await client.do("chat.fetch", page);
      if (results.length === 0) break;
      events.push(...results);
    }
    client.ws.terminate();
    return events;
  }
}

/** Lets writers send messages until a condition holds, pausing (in milliseconds) after each message. */
export async function writeUntil(
  writers: Chatter[],
  isOver: () => boolean,
  pause = 10,
): Promise<void> {
  await Promise.all(
    writers.map(async (writer) => {
      while (!isOver()) {
        await writer.say();
        await delay(pause);
      }
    }),
  );
}

/**
 * Checks that each chatter received every event once and in order, and that every acknowledged
 * message is stored once.
 * @returns the id of the last event.
 */
export async function verify(t: Test, writers: Chatter[], everybody: Chatter[]): Promise<number> {
  const [one] = writers;
  await one!.say();
  const last = Math.max(...one!.acknowledged.values());
  for (const chatter of everybody) await chatter.sees(last);
  const history = await one!.history();
  const stored = history.map(({ event_id }) => event_id);
  const ascending = [...new Set(stored)].sort((a, b) => a - b);
  t.same(stored, ascending, "history is in order");
  for (const chatter of everybody) {
    const until = chatter.seen.indexOf(last) + 1;
    t.same(
      chatter.seen.slice(0, until),
      stored.slice(0, stored.indexOf(last) + 1),
      `${chatter.name} got every event once and in order`,
    );
  }
  const byBody = new Map<string, number[]>();
  for (const { event_id, content } of history) {
    if (content.body === undefined) continue;
    byBody.set(content.body, [...(byBody.get(content.body) ?? []), event_id]);
  }
  for (const { name, acknowledged, unsure } of writers) {
    const kept = [...acknowledged].map(([body]) => byBody.get(body));
    t.same(
      kept,
      [...acknowledged].map(([, id]) => [id]),
      `what ${name} got acknowledged is there once`,
    );
    const ids = [...acknowledged.values()];
    t.same(
      ids,
      [...ids].sort((a, b) => a - b),
      "in the order in which it was written",
    );
    const twice = [...unsure].filter((body) => {
      return (byBody.get(body)?.length ?? 0) > 1;
    });
    t.same(twice, [], "and nothing else is there twice");
  }
  return last;
}
