import type { FastifyInstance } from "fastify";
import type { Test } from "tap";
import type { BusMessage } from "../../db/bus/bus.js";
import { LocalBus } from "../../db/bus/local.js";
import { received } from "../../db/bus/shapes.js";
import type { Store } from "../../db/contract/store.js";
import { Client, type Person } from "../live/client.js";

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
