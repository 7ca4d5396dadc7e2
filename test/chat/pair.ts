import type { AddressInfo } from "node:net";
import type { FastifyInstance } from "fastify";
import type { Test } from "tap";
import { WebSocket } from "ws";
import { createApp } from "../../app.js";
import { loadConfig } from "../../config.js";
import { received } from "../../db/event-shapes.js";
import type { AnyEvent, Events } from "../../db/events.js";
import { LocalEvents } from "../db/bus/local.js";
import type { Store } from "../../db/store.js";
import { keyOf, tokenOf, worldOf } from "../helper.js";
import { Client, type Person } from "../live/client.js";
import { Conversation, liveContractOf } from "../live/contract.js";
import { openWith } from "../stack.js";
import { testdir } from "../testdir.js";

/** One of the servers that share a database. */
export interface Half {
  readonly app: FastifyInstance;
  readonly store: Store;
  /** Opens a websocket for somebody with a token for the world `demo`. */
  person(person: Person): Promise<Client>;
}

/** Two servers that share a database and tell each other of events. */
export interface Pair {
  readonly one: Half;
  readonly two: Half;
  /** What an event of `one` or `two` becomes on its way to the other. By default it stays as it is. */
  link: (event: AnyEvent) => AnyEvent[];
  /** Makes a server get an event of the other. */
  hand(to: Half, event: AnyEvent): void;
}

/** Tells another server of each event. */
class LinkedEvents extends LocalEvents {
  override readonly lossy = true;
  send: (event: AnyEvent) => void = () => {};

  override publish(event: AnyEvent): void {
    this.send(event);
    super.publish(event);
  }

  /** Gets an event of the other server. */
  hand(event: AnyEvent): void {
    super.publish(event);
  }
}

const faultsOf = (t: Test) => (error: unknown) => t.fail(error as Error);

/** Starts servers that share a database, in which there is a world `demo`. */
export async function startHalves(
  t: Test,
  buses: readonly Events[],
): Promise<Half[]> {
  const dataDir = testdir(t);
  const fail = faultsOf(t);
  const halves: Half[] = [];
  for (const events of buses) {
    const engines = await openWith(events, dataDir);
    const config = { ...loadConfig({}), dataDir };
    const app = createApp({ config, engines });
    const clients: Client[] = [];
    t.teardown(async () => {
      for (const { ws } of clients) ws.terminate();
      await app.close();
    });
    await app.listen({ host: "127.0.0.1", port: 0 });
    const { port } = app.server.address() as AddressInfo;
    halves.push({
      app,
      store: engines.store,
      async person({ seconds = 3600, ...claims }) {
        const ws = new WebSocket(`ws://127.0.0.1:${port}/ws/world/demo/`);
        const conversation = new Conversation(liveContractOf(app));
        const client = new Client(ws, conversation, fail);
        clients.push(client);
        await new Promise((resolve, reject) => {
          ws.once("open", resolve).once("error", reject);
        });
        const exp = Math.floor(Date.now() / 1000) + seconds;
        const token = tokenOf(keyOf("demo"), { ...claims, exp });
        await client.login({ token });
        return client;
      },
    });
  }
  await halves[0]!.store.worlds.create(worldOf("demo"));
  return halves;
}

/** Starts two servers, in whose database there is a world `demo`. */
export async function startPair(t: Test): Promise<Pair> {
  const fail = faultsOf(t);
  const buses = [new LinkedEvents(fail), new LinkedEvents(fail)] as const;
  const [one, two] = (await startHalves(t, buses)) as [Half, Half];
  const pair: Pair = {
    one,
    two,
    link: (event) => [event],
    hand(to, event) {
      // As it would travel, and be checked on arrival.
      const copy = JSON.parse(JSON.stringify(event)) as AnyEvent;
      const isRefused = received(copy) === "malformed";
      if (isRefused) t.fail(`a malformed ${event.type}`, { event });
      else buses[to === one ? 0 : 1].hand(copy);
    },
  };
  const linked = (to: Half) => (event: AnyEvent) => {
    for (const each of pair.link(event)) {
      setImmediate(() => pair.hand(to, each));
    }
  };
  buses[0].send = linked(two);
  buses[1].send = linked(one);
  return pair;
}
