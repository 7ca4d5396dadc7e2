import { worldOf } from "../helper.js";
import type { Client, LiveServer } from "../live/client.js";

/**
 * Turns take these worlds one after the other. A world that was pushed a moment ago would be
 * pushed again earlier than a change of a world that has rested.
 */
const WORLDS = ["fence-0", "fence-1", "fence-2"];

/** Waits until the server has sent everything that follows from earlier actions. */
export class Fence {
  #turn = 0;
  #next: Promise<void> | undefined;
  #present: Promise<void> = Promise.resolve();
  readonly #servers: readonly LiveServer[];
  /** Those of each world. */
  readonly #observers: readonly (readonly Client[])[];

  private constructor(servers: readonly LiveServer[], observers: Client[][]) {
    this.#servers = servers;
    this.#observers = observers;
  }

  /** @param servers the nodes of one installation. */
  static async open(servers: readonly [LiveServer, ...LiveServer[]]) {
    const { store } = servers[0].app;
    for (const world of WORLDS) await store.worlds.create(worldOf(world));
    const observers = await Promise.all(
      WORLDS.map((world) =>
        Promise.all(servers.map((server) => server.guest("observer", world))),
      ),
    );
    return new Fence(servers, observers);
  }

  /**
   * Waits until all nodes have sent to a world the consequences of earlier actions. The
   * slowest push is `world.updated`: each change of a world waits equally long, so a change
   * of another world that is made now is pushed later.
   */
  async passed(world: string): Promise<void> {
    await (this.#next ??= this.#soon());
    await Promise.all(this.#servers.map((server) => server.settled(world)));
  }

  /** One turn serves all callers that ask before it begins. */
  async #soon(): Promise<void> {
    const before = this.#present;
    const turn = before.then(() => {
      this.#next = undefined;
      return this.#pass();
    });
    this.#present = turn;
    return turn;
  }

  async #pass(): Promise<void> {
    const title = `Turn ${++this.#turn}`;
    const { worlds } = this.#servers[0]!.app.store;
    const place = this.#turn % WORLDS.length;
    await worlds.update(WORLDS[place]!, { title });
    await Promise.all(
      this.#observers[place]!.map((observer) =>
        observer.next("world.updated", ({ world }) => world.title === title),
      ),
    );
  }
}
