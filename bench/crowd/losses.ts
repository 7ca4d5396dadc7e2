import { connect, createServer, type Server, type Socket } from "node:net";
import type { AddressInfo } from "node:net";
import { setTimeout } from "node:timers/promises";
import { Live } from "../../client/index.js";
import { callersOf } from "../event.js";
import { type Running, startFoyer } from "../servers.js";
import { newVenue, PEOPLE, UNLIMITED } from "./halls.js";
import { note } from "./notes.js";

/** How many people listen with the client of the package. They are programs in JavaScript. */
export const LISTENERS = Math.ceil(PEOPLE / 50);

/** How many messages are sent in a second. */
const RATE = 10;

/** How long a network is gone, in milliseconds. */
const GONE = 2000;

/** How often it goes. */
const TIMES = 3;

/** How long it stays, and how long the last messages may take, in milliseconds. */
const BETWEEN = 4000;
const AFTERWARDS = 15_000;

/** A way to servers of this machine, which can be cut. */
export class Way {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #isCut = false;
  #count = 0;

  /** @param ports the servers that take connections now, in turn. */
  constructor(readonly ports: () => readonly number[]) {
    this.#server = createServer((from) => this.#open(from));
  }

  async listen(): Promise<number> {
    await new Promise<void>((resolve) =>
      this.#server.listen(0, "127.0.0.1", resolve),
    );
    return (this.#server.address() as AddressInfo).port;
  }

  #open(from: Socket): void {
    const ports = this.ports();
    const port = ports[this.#count++ % ports.length];
    if (this.#isCut || port === undefined) {
      from.destroy();
      return;
    }
    const to = connect(port, "127.0.0.1");
    for (const [one, other] of [
      [from, to],
      [to, from],
    ] as const) {
      this.#sockets.add(one);
      one.on("error", () => other.destroy());
      one.on("close", () => {
        this.#sockets.delete(one);
        other.destroy();
      });
      one.pipe(other);
    }
  }

  /** Ends all connections, and takes none until {@link mend}. */
  cut(): void {
    this.#isCut = true;
    for (const socket of this.#sockets) socket.destroy();
  }

  mend(): void {
    this.#isCut = false;
  }

  close(): void {
    this.cut();
    this.#server.close();
  }
}

/** People who listen to a room over a way that may fail, and what they got. */
export class Audience {
  readonly #people: { live: Live; got: Map<number, number> }[];
  readonly #speaker: Live;
  #sent = 0;

  /** @param port of the way, and of a server that the speaker reaches without it. */
  constructor(
    port: number,
    speakerPort: number,
    readonly room: string,
  ) {
    const callers = callersOf("bench", { count: LISTENERS + 1, roles: [] });
    const [speaker, ...listeners] = callers.map((it) => it.split(" ")[1]!);
    const open = (port: number, token: string) =>
      new Live({ baseUrl: `http://127.0.0.1:${port}`, world: "bench", token });
    this.#speaker = open(speakerPort, speaker!);
    this.#people = listeners.map((token) => ({
      live: open(port, token),
      got: new Map<number, number>(),
    }));
  }

  /** Lets all come in, and listen. */
  async open(): Promise<void> {
    const { room } = this;
    await this.#speaker.call("user.update", {
      profile: { display_name: "Speaker" },
    });
    await this.#speaker.channel(room).join();
    for (const { live, got } of this.#people) {
      await live.call("room.enter", { room });
      const listen = async () => {
        for await (const { event_id } of live.channel(room)) {
          got.set(event_id, (got.get(event_id) ?? 0) + 1);
        }
      };
      listen().catch(() => {});
    }
    await setTimeout(1000);
    for (const { got } of this.#people) got.clear();
  }

  /** Sends messages until something has happened. */
  async during(happen: () => Promise<void>): Promise<void> {
    let isOver = false;
    const over = happen().finally(() => (isOver = true));
    const channel = this.#speaker.channel(this.room);
    const sending: Promise<unknown>[] = [];
    while (!isOver) {
      const body = `Message ${++this.#sent}`;
      sending.push(Promise.resolve(channel.send({ type: "text", body })));
      await setTimeout(1000 / RATE);
    }
    await over;
    await Promise.all(sending);
  }

  /** Waits until all are connected. @returns how long it took, in milliseconds. */
  async back(): Promise<number> {
    const begun = performance.now();
    while (this.#people.some(({ live }) => !live.isConnected)) {
      await setTimeout(10);
    }
    return performance.now() - begun;
  }

  /** Waits for the last messages, and notes what share of all arrived. */
  async report(name: string): Promise<void> {
    const due = this.#sent * LISTENERS;
    const arrived = () =>
      this.#people.reduce((sum, { got }) => sum + got.size, 0);
    const end = performance.now() + AFTERWARDS;
    while (arrived() < due && performance.now() < end) await setTimeout(50);
    const doubled = this.#people.reduce(
      (sum, { got }) =>
        sum + [...got.values()].filter((times) => times > 1).length,
      0,
    );
    note(`${name}: messages`, due);
    note(`${name}: messages that did not arrive`, due - arrived(), "", 0);
    note(`${name}: messages that came twice`, doubled, "", 0);
  }

  leave(): void {
    for (const { live } of this.#people) live.close();
    this.#speaker.close();
  }
}

/** What arrives over a network that goes away for two seconds, again and again. */
export const losses = {
  name: `failing network, ${LISTENERS} people`,
  async measure(): Promise<void> {
    const { dataDir, rooms } = await newVenue(1);
    const server: Running = await startFoyer(dataDir, UNLIMITED);
    const way = new Way(() => [server.port]);
    const port = await way.listen();
    const audience = new Audience(port, server.port, rooms[0]!);
    try {
      await audience.open();
      await audience.during(async () => {
        for (let time = 0; time < TIMES; time++) {
          way.cut();
          await setTimeout(GONE);
          way.mend();
          note(`${losses.name}: all are back`, await audience.back(), "ms");
          await setTimeout(BETWEEN);
        }
      });
      await audience.report(losses.name);
    } finally {
      audience.leave();
      way.close();
      await server.stop();
    }
  },
};
