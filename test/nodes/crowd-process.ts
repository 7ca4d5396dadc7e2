import { WebSocket } from "ws";
import type { Joined, Question, ComparisonResult } from "./talk.js";

// A process with many WebSockets. Each one logs in as a user, enters a room, subscribes to its
// channel, and reconnects to another node when its connection ends. It records every event of the
// channel.

/** The number of concurrent joins. */
const CONCURRENCY = 100;

/** Maximum number of events per response. */
const PAGE = 1000;

/** Delay before a reconnect, in milliseconds; up to the same time is added at random. */
const PAUSE = 500;

type Event = { event_id: number };

class Guest {
  /** The ids of all received events, in order of arrival. */
  readonly ids: number[] = [];
  /** Whether it has caught up over the current connection. */
  isIn = false;
  #ws: WebSocket | undefined;
  #port: number;

  constructor(
    readonly name: string,
    readonly question: Joined,
  ) {
    this.#port = question.ports[0]!;
  }

  /** Joins, and keeps reconnecting until it has caught up. */
  join(): Promise<void> {
    return new Promise((resolve) => this.#attempt(resolve));
  }

  #attempt(joined: () => void): void {
    const { world, channel } = this.question;
    const after = this.ids.at(-1) ?? 0;
    const ws = new WebSocket(`ws://127.0.0.1:${this.#port}/ws/world/${world}/`, {
      perMessageDeflate: false,
      skipUTF8Validation: true,
    });
    this.#ws = ws;
    /** Events pushed before the response to the subscription. */
    const early: number[] = [];
    const send = (...frame: unknown[]) => ws.send(JSON.stringify(frame));
    ws.on("open", () => send("authenticate", { client_id: this.name }));
    ws.on("error", () => {});
    ws.on("close", () => {
      this.isIn = false;
      if (isOver) return;
      const { ports } = this.question;
      const next = (ports.indexOf(this.#port) + 1) % ports.length;
      this.#port = ports[next]!;
      setTimeout(() => this.#attempt(joined), PAUSE + Math.random() * PAUSE);
    });
    ws.on("message", (data: Buffer) => {
      const [name, second, third] = JSON.parse(data.toString()) as [
        string,
        unknown,
        { events?: Event[]; results?: Event[] },
      ];
      if (name === "chat.event") {
        const { event_id } = second as Event;
        (this.isIn ? this.ids : early).push(event_id);
      } else if (name === "authenticated") {
        send("room.enter", 1, { room: channel });
        send("chat.subscribe", 2, { channel, after });
      } else if (name === "success" && second !== 1) {
        const events = third.events ?? third.results ?? [];
        this.ids.push(...events.map(({ event_id }) => event_id));
        if (events.length === PAGE) {
          const after_id = this.ids.at(-1);
          send("chat.fetch", 3, { channel, count: PAGE, after_id });
          return;
        }
        const last = this.ids.at(-1) ?? 0;
        this.ids.push(...early.filter((id) => id > last));
        this.isIn = true;
        joined();
      } else if (name === "error") {
        ws.terminate();
      }
    });
  }

  leave(): void {
    this.#ws?.terminate();
  }
}

let isOver = false;
let guests: Guest[] = [];

async function join(question: Joined): Promise<void> {
  guests = Array.from(
    { length: question.count },
    (_, i) => new Guest(`${question.name}-${i}`, question),
  );
  const waiting = [...guests];
  await Promise.all(
    Array.from({ length: CONCURRENCY }, async () => {
      for (let next; (next = waiting.pop());) await next.join();
    }),
  );
}

/** Compares the received events with the expected ones. */
function compare(expected: number[]): ComparisonResult {
  const faults: string[] = [];
  const last = expected.at(-1) ?? 0;
  for (const { name, ids } of guests) {
    const known = ids.filter((id) => id <= last);
    const at = expected.findIndex((id, i) => known[i] !== id);
    if (at < 0 && known.length === expected.length) continue;
    const around = known.slice(Math.max(0, at - 2), at + 3);
    faults.push(
      `${name}: ${known.length} of ${expected.length} events, and ${around.join()} in place of ${expected[at]}`,
    );
  }
  return { faults: faults.length, first: faults[0] ?? "" };
}

async function answer(question: Question): Promise<unknown> {
  switch (question.do) {
    case "join":
      return join(question);
    case "count":
      return guests.filter(({ isIn, ids }) => isIn && (ids.at(-1) ?? 0) >= question.last).length;
    case "compare":
      return compare(question.expected);
    case "leave":
      isOver = true;
      for (const guest of guests) guest.leave();
      return undefined;
  }
}

process.on("message", (question: Question) => {
  answer(question).then(
    (result) => process.send!({ result }),
    (error: unknown) => process.send!({ error: String(error) }),
  );
});
process.once("disconnect", () => process.exit());
