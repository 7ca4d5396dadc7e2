import t from "tap";
import type { BusMessage } from "../../db/bus/bus.js";
import { LocalBus } from "../../db/bus/local.js";
import type { Entry, OnAppended } from "../../db/log/entries.js";
import type { Hint } from "../../db/log/log.js";
import { LogEvents } from "../../db/log/log-events.js";
import { Database } from "../../db/postgres/engine/database.js";
import { postgresStore } from "../../db/postgres/index.js";
import { startPostgres } from "../servers/postgres.js";
import { erasing } from "./postgres/erasing.js";
import { failover } from "./postgres/failover.js";
import { following } from "./postgres/following.js";
import { logs } from "./postgres/logs.js";
import { lost } from "./postgres/lost.js";
import { meeting } from "./postgres/meeting.js";
import { lanes } from "./postgres/lanes.js";
import { outages } from "./postgres/outages.js";
import { plans } from "./postgres/plans.js";
import type { Part } from "./postgres/setup.js";
import { remains } from "./postgres/remains.js";
import { searching } from "./postgres/searching.js";
import { silence } from "./postgres/silence.js";
import { staleness } from "./postgres/staleness.js";
import { starting } from "./postgres/starting.js";
import { cachedUsers } from "./postgres/cached-users.js";
import { upgrading } from "./postgres/upgrading.js";
import { tables } from "./postgres/tables.js";
import { texts } from "./postgres/texts.js";
import { storeContract } from "../db/store-contract/index.js";

const server = await startPostgres();
t.teardown(() => server.close());

/** The bus of one of the nodes that share it. */
class SharedBus extends LocalBus {
  override readonly isAlone = false;
  readonly #all: Set<SharedBus>;

  constructor(all: Set<SharedBus>) {
    super((error) => t.fail(String(error)));
    this.#all = all.add(this);
  }

  override publish(message: BusMessage): void {
    for (const bus of this.#all) bus.deliver(message);
  }

  deliver(message: BusMessage): void {
    super.publish(message);
  }

  override async close(): Promise<void> {
    this.#all.delete(this);
    await super.close();
  }
}

/** Gives a test what is appended, before it goes where it belongs. */
class WatchedEvents extends LogEvents {
  watch: OnAppended = () => undefined;

  override took(hints: readonly Hint<Entry>[]): Promise<unknown> | undefined {
    return Promise.all([this.watch(hints), super.took(hints)]);
  }
}

void t.test("PostgreSQL", async (t) => {
  await storeContract(t, async () => {
    const url = await server.createDatabase();
    const buses = new Set<SharedBus>();
    return async (onAppended) => {
      const db = await Database.open({ url, pool: 4 }, { create: true });
      const store = postgresStore(db);
      const events = new WatchedEvents({
        bus: new SharedBus(buses),
        log: store.log,
        onFault: (error) => void t.fail(String(error)),
      });
      if (onAppended) events.watch = onAppended;
      db.follow(events);
      return {
        ...store,
        async close() {
          await store.close();
          await events.close();
        },
      };
    };
  });
});

const parts: Record<string, Part> = {
  staleness,
  logs,
  lost,
  following,
  cachedUsers,
  outages,
  silence,
  failover,
  starting,
  upgrading,
  lanes,
  tables,
  texts,
  plans,
  erasing,
  meeting,
  remains,
  searching,
};

for (const [name, part] of Object.entries(parts)) {
  void t.test(name, (t) => part(t, server));
}
