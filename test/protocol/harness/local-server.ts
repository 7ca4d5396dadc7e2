import type { Test } from "tap";
import type { Role } from "../../../conformance/cast.js";
import type { Client } from "../../../conformance/client.js";
import { HttpServer, type RowWorld, type Server } from "../../../conformance/server.js";
import { Stage } from "../../../conformance/stage.js";
import { openFiles } from "../../../db/blobs/folder/local-files.js";
import { LocalBus } from "../../../db/bus/bus.js";
import type { Engines } from "../../../db/contract/engines.js";
import { openSqliteStore } from "../../../db/engines/sqlite/index.js";
import { LogEvents } from "../../../db/log/log-events.js";
import { liveContractOf } from "../../support/contracts.js";
import { keyOf, worldOf } from "../../support/helper.js";
import { type Server as TestServer, startServer } from "../../support/server.js";
import { shared } from "../../support/shared.js";
import { testdir } from "../../support/testdir.js";
import type { Faults } from "./faulty-store.js";

/** No connection waits for its login to be late. */
const limits = { authTimeout: 600_000 };

/**
 * The worlds of the fence, one after the other. A world that was pushed a moment ago would be
 * pushed again earlier than a change of an idle one.
 */
const FENCES = ["fence-0", "fence-1", "fence-2"];

/**
 * A server in this process, or two nodes of one on shared engines. Each row has worlds of its
 * own, and its pushes are complete once a fence has passed.
 */
export class LocalServer extends HttpServer implements Server {
  readonly isCertain = true;
  readonly #nodes: readonly [TestServer, ...TestServer[]];
  #worlds = 0;
  /** Those of each fence. */
  #observers: Client[][] = [];
  #turn = 0;
  #next: Promise<void> | undefined;
  #present: Promise<void> = Promise.resolve();

  private constructor(nodes: readonly [TestServer, ...TestServer[]]) {
    const [first, ...others] = nodes.map(({ baseUrl }) => baseUrl);
    super([first!, ...others], {
      contract: liveContractOf(nodes[0].app),
      timeout: 30_000,
      // A call of the store that fails should not be repeated.
      tries: 1,
      sockets: { perMessageDeflate: false },
    });
    this.#nodes = nodes;
  }

  /** @param faults of the store, on SQLite. The server may log errors then. */
  static async open(t: Test, faults?: Faults): Promise<LocalServer> {
    const worlds = FENCES.map((id) => worldOf(id));
    const first = await startServer(t, {
      limits,
      worlds,
      ...(faults && {
        ...(await faultyEngines(testdir(t), faults)),
        mayLogErrors: true,
      }),
    });
    const { dataDir } = first;
    const local = new LocalServer(
      shared ? [first, await startServer(t, { limits, dataDir })] : [first],
    );
    local.#observers = await Promise.all(
      FENCES.map((world) => Promise.all(local.#nodes.map((node) => node.guest("observer", world)))),
    );
    return local;
  }

  get node(): TestServer {
    return this.#nodes[0];
  }

  async prepare(): Promise<RowWorld> {
    const tag = `row-${++this.#worlds}`;
    const [world, foreign] = [tag, `${tag}-abroad`];
    const userKey = keyOf(`${tag}-users`);
    const config = { JWT_secrets: [keyOf(world), userKey] };
    const { worlds } = this.node.store;
    await worlds.create(worldOf(world, { config }));
    await worlds.create(worldOf(foreign));
    return {
      world,
      key: keyOf(world),
      tag,
      userKey,
      otherKeys: [keyOf(world)],
      foreign: { world: foreign, key: keyOf(foreign) },
    };
  }

  async stage(role?: Role): Promise<Stage> {
    return new Stage(this, await this.prepare(), role);
  }

  async deleteWorld(world: string): Promise<void> {
    await this.node.store.worlds.delete(world);
  }

  gathered(world: RowWorld): Promise<void> {
    return this.settled(world);
  }

  /**
   * Waits until all nodes have sent to a world the consequences of earlier actions. The
   * slowest push is `world.updated`: each change of a world waits equally long, so a change
   * of another world that is made now is pushed later.
   */
  async settled({ world }: RowWorld): Promise<void> {
    await (this.#next ??= this.#soon());
    await Promise.all(this.#nodes.map((node) => node.settled(world)));
  }

  /** One fence serves all callers that ask before it begins. */
  async #soon(): Promise<void> {
    const turn = this.#present.then(() => {
      this.#next = undefined;
      return this.#pass();
    });
    this.#present = turn;
    return turn;
  }

  async #pass(): Promise<void> {
    const title = `Turn ${++this.#turn}`;
    const at = this.#turn % FENCES.length;
    await this.node.store.worlds.update(FENCES[at]!, { title });
    await Promise.all(
      this.#observers[at]!.map((observer) =>
        observer.next("world.updated", ({ world }) => world.title === title),
      ),
    );
  }
}

/** Engines on SQLite whose store fails as planned, also when the log is read. */
async function faultyEngines(
  dataDir: string,
  faults: Faults,
): Promise<{ dataDir: string; engines: Engines }> {
  const onFault = (error: unknown): never => {
    throw error;
  };
  const opened = openSqliteStore(dataDir, { onAppended: (hints) => events.took(hints) });
  const store = faults.wrap(opened);
  const events: LogEvents = new LogEvents({ bus: new LocalBus(onFault), log: store.log, onFault });
  const files = await openFiles(dataDir, undefined);
  const close = async () => {
    await files.close();
    await store.close();
    await events.close();
  };
  for (const id of FENCES) await store.worlds.create(worldOf(id));
  return { dataDir, engines: { store, files, events, close } };
}
