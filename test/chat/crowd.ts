import { once } from "node:events";
import { WebSocket } from "ws";
import {
  type Frame,
  type Json,
  type LiveServer,
  soon,
} from "../live/client.js";

/** What a listener was sent: an answer or a push. */
type Sent = [name: string, ...rest: Json[]];

/**
 * One websocket of a crowd. It keeps every frame that came, in order, and holds none
 * against the document: that would cost more than all the rest.
 */
export class Listener {
  readonly frames: Sent[] = [];
  /** The commands that it sent, by id. */
  readonly asked = new Map<number, { action: string; payload: unknown }>();
  id = "";
  closed = false;
  #count = 0;
  readonly #waiting = new Set<() => void>();

  constructor(readonly ws: WebSocket) {
    ws.on("message", (data) => {
      this.frames.push(JSON.parse((data as Buffer).toString()) as Sent);
      this.#wake();
    });
    ws.on("error", () => {});
    ws.on("close", () => {
      this.closed = true;
      this.#wake();
    });
  }

  #wake(): void {
    for (const wake of [...this.#waiting]) wake();
  }

  /** Waits until something is true that only frames change, or that the end does. */
  async until(what: string, is: () => boolean): Promise<void> {
    if (is()) return;
    let wake = () => {};
    const done = new Promise<void>((resolve) => {
      wake = () => {
        if (is() || this.closed) resolve();
      };
      this.#waiting.add(wake);
      if (this.closed) resolve();
    });
    await soon(done);
    this.#waiting.delete(wake);
    if (!is()) throw new Error(`${what} did not come before the end`);
  }

  /** Sends a command. @returns its whole answer. */
  async call(action: string, payload: unknown = null): Promise<Sent> {
    const id = ++this.#count;
    let at = this.frames.length;
    let answer: Sent | undefined;
    this.asked.set(id, { action, payload });
    this.ws.send(JSON.stringify([action, id, payload]));
    await this.until(`the answer to ${action}`, () => {
      for (; !answer && at < this.frames.length; at++) {
        const frame = this.frames[at]!;
        if (frame.length === 3 && frame[1] === id) answer = frame;
      }
      return answer !== undefined;
    });
    return answer!;
  }

  /** The result of a command that must succeed. */
  async do(action: string, payload: unknown = null): Promise<Json> {
    const [name, , result] = await this.call(action, payload);
    if (name === "success") return result;
    throw new Error(`${action}: ${JSON.stringify(result)}`);
  }

  /** Sends a text. @returns the id of its event. */
  async say(channel: string, body: string, more: object = {}): Promise<number> {
    const content = { type: "text", body };
    const event_type = "channel.message";
    const payload = { channel, event_type, content, ...more };
    return (await this.do("chat.send", payload)).event.event_id as number;
  }

  /** Whether the last command of its kind subscribed to a channel. */
  listensTo(channel: string): boolean {
    let listens = false;
    for (const { action, payload } of this.asked.values()) {
      if ((payload as Json)?.channel !== channel) continue;
      if (/subscribe|join|leave/.test(action)) {
        listens = action === "chat.subscribe" || action === "chat.join";
      }
    }
    return listens;
  }

  /** The pushed events of a channel, from a place in {@link frames} on. */
  events(channel: string, from = 0): Json[] {
    return this.pushes("chat.event", from).filter(
      (event) => event.channel === channel,
    );
  }

  /** The data of all pushes of a name, from a place in {@link frames} on. */
  pushes(name: string, from = 0): Json[] {
    return this.frames
      .slice(from)
      .filter((frame) => frame.length === 2 && frame[0] === name)
      .map(([, data]) => data);
  }

  /** Waits for an event, or a later one, of a channel. */
  async reached(channel: string, id: number): Promise<void> {
    let at = 0;
    let found = false;
    await this.until(`event ${id}`, () => {
      for (; at < this.frames.length; at++) {
        const [name, data] = this.frames[at]!;
        if (name !== "chat.event" || data.channel !== channel) continue;
        found ||= data.event_id >= id;
      }
      return found;
    });
  }
}

/** The numbers from 0 on. */
export const numbers = (count: number): number[] =>
  Array.from({ length: count }, (_, i) => i);

/** Opens a websocket, and logs in. */
export async function listen(
  port: number,
  credentials: object,
  world = "demo",
): Promise<Listener> {
  const ws = new WebSocket(`ws://127.0.0.1:${port}/ws/world/${world}/`, {
    perMessageDeflate: false,
  });
  const listener = new Listener(ws);
  await once(ws, "open");
  ws.send(JSON.stringify(["authenticate", credentials]));
  await listener.until("the login", () => listener.frames.length > 0);
  const [name, hello] = listener.frames[0] as Frame;
  if (name !== "authenticated") throw new Error(JSON.stringify(hello));
  listener.id = (hello as Json)["user.config"].id as string;
  return listener;
}

/** Does something with each of many, a few at a time. */
export async function each<T, R>(
  items: readonly T[],
  act: (item: T, i: number) => Promise<R>,
  atOnce = 40,
): Promise<R[]> {
  const results: R[] = [];
  for (let i = 0; i < items.length; i += atOnce) {
    const some = items.slice(i, i + atOnce);
    results.push(
      ...(await Promise.all(some.map((item, at) => act(item, i + at)))),
    );
  }
  return results;
}

/** Connects many people. @param credentials of each. */
export function crowdOf(
  size: number,
  port: number,
  credentials: (i: number) => object,
): Promise<Listener[]> {
  return each(numbers(size), (i) => listen(port, credentials(i)));
}

/** Somebody with a display name who is a member of a channel. */
export async function speaker(
  live: LiveServer,
  uid: string,
  channel: string,
  traits: string[] = [],
): Promise<Listener> {
  const profile = { display_name: uid };
  const token = live.tokenOf({ uid, traits, profile });
  const listener = await listen(live.port, { token });
  await listener.do("chat.join", { channel });
  return listener;
}

/**
 * What is wrong with the events of a channel that somebody got: each must come once,
 * in ascending order, from the `next_event_id` of the subscription on, and none may be
 * missing up to the end of the subscription, or up to the last one.
 * @param truth the ids of all events of the channel.
 */
export function faultsOf(
  { frames, asked }: Listener,
  channel: string,
  truth: readonly number[],
): string[] {
  const faults: string[] = [];
  /** The index in `truth` of the event that has to come next; -1 before a subscription. */
  let next = -1;
  let isSubscribed = false;
  for (const frame of frames) {
    if (frame.length === 3 && frame[0] === "success") {
      const { action, payload } = asked.get(frame[1] as number)!;
      if ((payload as Json)?.channel !== channel) continue;
      if (action === "chat.subscribe" || action === "chat.join") {
        const first = frame[2].next_event_id as number;
        const at = truth.findIndex((id) => id >= first);
        // One that goes on gets all the same what was on its way.
        if (!isSubscribed) next = at < 0 ? truth.length : at;
        isSubscribed = true;
      }
      if (action === "chat.unsubscribe" || action === "chat.leave") {
        isSubscribed = false;
      }
    } else if (frame[0] === "chat.event") {
      const { event_id: id, channel: of } = frame[1];
      if (of !== channel) continue;
      if (next < 0) faults.push(`${id} came before the subscription`);
      else if (truth[next] === id) next++;
      else faults.push(`${id} came instead of ${truth[next]}`);
    }
  }
  if (isSubscribed && next < truth.length)
    faults.push(`${truth[next]} is missing`);
  return faults;
}

/** Several people say many things at once. @returns the ids, in ascending order. */
export async function burst(
  speakers: readonly Listener[],
  channel: string,
  count: number,
  body = (i: number) => `message ${i}`,
): Promise<number[]> {
  const sent = numbers(count).map((i) =>
    speakers[i % speakers.length]!.say(channel, body(i)),
  );
  const ids: number[] = [];
  for (const one of await Promise.allSettled(sent)) {
    if (one.status === "fulfilled") ids.push(one.value);
  }
  return ids.sort((a, b) => a - b);
}
