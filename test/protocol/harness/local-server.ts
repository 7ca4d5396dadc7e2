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
import type { CallEngines } from "../../../plugins/calls/engine.js";
import { liveContractOf } from "../../support/contracts.js";
import { keyOf, worldOf } from "../../support/helper.js";
import { type Server as TestServer, startServer } from "../../support/server.js";
import { shared } from "../../support/shared.js";
import { sendEvent, TestEngine } from "../../support/test-engine.js";
import { testdir } from "../../support/testdir.js";
import type { Faults } from "./faulty-store.js";

/** No connection times out while waiting for its login. */
const limits = { authTimeout: 600_000 };

/**
 * The fence worlds, used in rotation: a world with a recent push would be pushed sooner than a
 * change of an idle one.
 */
const FENCES = ["fence-0", "fence-1", "fence-2"];

/** Engines whose links lead nowhere. */
const meetings: Pick<CallEngines, "bigbluebutton" | "jitsi"> = {
  bigbluebutton: {
    origin: "https://bbb.example.org",
    joinUrl: async () => "https://bbb.example.org/join",
    recordings: async () => [],
    check: async () => undefined,
  },
  jitsi: {
    origin: "https://jitsi.example.org",
    joinUrl: async () => "https://jitsi.example.org/room",
    check: async () => undefined,
  },
};

/**
 * A server in this process, or two of its nodes on shared engines. Each row has separate worlds,
 * and all its pushes have been sent once a fence has passed.
 */
export class LocalServer extends HttpServer implements Server {
  readonly isCertain = true;
  readonly #nodes: readonly [TestServer, ...TestServer[]];
  #worlds = 0;
  /** The observers of each fence world. */
  #observers: Client[][] = [];
  #turn = 0;
  #next: Promise<void> | undefined;
  #present: Promise<void> = Promise.resolve();

  private constructor(
    nodes: readonly [TestServer, ...TestServer[]],
    readonly engine: TestEngine,
  ) {
    const [first, ...others] = nodes.map(({ baseUrl }) => baseUrl);
    super([first!, ...others], {
      contract: liveContractOf(nodes[0].app),
      timeout: 30_000,
      // Requests must not retry a failing store call.
      tries: 1,
      sockets: { perMessageDeflate: false },
    });
    this.#nodes = nodes;
  }

  /** @param faults planned failures of the store, on SQLite; they permit the server to log errors. */
  static async open(t: Test, faults?: Faults): Promise<LocalServer> {
    const worlds = FENCES.map((id) => worldOf(id));
    const engine = new TestEngine();
    const callEngines = { livekit: engine, ...meetings };
    const first = await startServer(t, {
      limits,
      worlds,
      callEngines,
      ...(faults && {
        ...(await faultyEngines(testdir(t), faults)),
        mayLogErrors: true,
      }),
    });
    const { dataDir } = first;
    const local = new LocalServer(
      shared ? [first, await startServer(t, { limits, dataDir, callEngines })] : [first],
      engine,
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

  async enterCall(identity: string): Promise<void> {
    await sendEvent(this.node, this.engine.event("joined", this.engine.enter(identity)));
  }

  async deleteWorld(world: string): Promise<void> {
    await this.node.store.worlds.delete(world);
  }

  gathered(world: RowWorld): Promise<void> {
    return this.settled(world);
  }

  /**
   * Waits until all nodes have pushed the effects of earlier actions to a world. The slowest push
   * is `world.updated`. Each change of a world is delayed equally, so a change made now in another
   * world is pushed later.
   */
  async settled({ world }: RowWorld): Promise<void> {
    await (this.#next ??= this.#soon());
    await Promise.all(this.#nodes.map((node) => node.settled(world)));
  }

  /** Shares one fence among all callers that arrive before it begins. */
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

/** Opens SQLite engines whose store fails as planned, even when the log is read. */
async function faultyEngines(
  dataDir: string,
  faults: Faults,
): Promise<{ dataDir: string; engines: Engines }> {
  const onFault = (error: unknown): never => {
    throw error;
  };
  const opened = openSqliteStore(dataDir, { onAppended: (hints) => events.appended(hints) });
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
