import type { AddressInfo } from "node:net";
import type { FastifyInstance } from "fastify";
import type { Test } from "tap";
import { WebSocket } from "ws";
import { createApp } from "../../app.js";
import { loadConfig } from "../../config.js";
import type { Bus, BusMessage } from "../../db/bus/bus.js";
import { LocalBus } from "../../db/bus/local.js";
import { received } from "../../db/bus/shapes.js";
import type { Store } from "../../db/contract/store.js";
import { keyOf, tokenOf, worldOf } from "../helper.js";
import { Client, type Person } from "../live/client.js";
import { Conversation, liveContractOf } from "../live/contract.js";
import { openWith } from "../stack.js";
import { testdir } from "../testdir.js";

/** One of the servers that share a database. */
export interface Half {
  readonly app: FastifyInstance;
  readonly store: Store;
  /** Opens a websocket for a user with a token for the world `demo`. */
  person(person: Person): Promise<Client>;
}

/** Two servers that share a database and a bus. */
export interface Pair {
  readonly one: Half;
  readonly two: Half;
  /**
   * What a message of `one` or `two` becomes on its way to the other. By default it stays as it is.
   * @param to the other one.
   */
  link: (message: BusMessage, to: Half) => BusMessage[];
  /** Makes a server get a message of the other. */
  hand(to: Half, message: BusMessage): void;
}

/** Whether a message has an entry about a new chat event. */
export const isChat = (message: BusMessage): boolean =>
  message.type === "hints" &&
  message.hints.some(({ entry }) => entry.type === "chat.event");

/** Sends each message to another server. */
class LinkedBus extends LocalBus {
  override readonly isAlone = false;
  send: (message: BusMessage) => void = () => {};

  override publish(message: BusMessage): void {
    this.send(message);
    super.publish(message);
  }

  /** Gets a message of the other server. */
  hand(message: BusMessage): void {
    super.publish(message);
  }
}

const faultsOf = (t: Test) => (error: unknown) => t.fail(error as Error);

/** Starts servers that share a database, in which there is a world `demo`. */
export async function startHalves(
  t: Test,
  buses: readonly Bus[],
): Promise<Half[]> {
  const dataDir = testdir(t);
  const fail = faultsOf(t);
  const halves: Half[] = [];
  for (const bus of buses) {
    const engines = await openWith(bus, dataDir);
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
  const buses = [new LinkedBus(fail), new LinkedBus(fail)] as const;
  const [one, two] = (await startHalves(t, buses)) as [Half, Half];
  const pair: Pair = {
    one,
    two,
    link: (message) => [message],
    hand(to, message) {
      // As it would travel, and be checked on arrival.
      const copy = JSON.parse(JSON.stringify(message)) as BusMessage;
      const isNews = copy.type.startsWith("process.");
      if (!isNews && received(copy).length === 0) {
        t.fail(`a malformed ${JSON.stringify(message)}`);
      } else buses[to === one ? 0 : 1].hand(copy);
    },
  };
  const linked = (to: Half) => (message: BusMessage) => {
    for (const each of pair.link(message, to)) {
      setImmediate(() => pair.hand(to, each));
    }
  };
  buses[0].send = linked(two);
  buses[1].send = linked(one);
  return pair;
}
