import t from "tap";
import type { BusMessage } from "../../db/bus/bus.js";
import { LocalBus } from "../../db/bus/local.js";
import type { Entry, OnAppended } from "../../db/log/entries.js";
import type { Hint } from "../../db/log/log.js";
import { LogEvents } from "../../db/log/log-events.js";
import { Database } from "../../db/postgres/engine/database.js";
import { postgresStore } from "../../db/postgres/index.js";
import { startPostgres } from "../servers/postgres.js";
import { emptyDatabase } from "./postgres/setup.js";
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
    const url = await emptyDatabase(server);
    const buses = new Set<SharedBus>();
    return async (onAppended, audits) => {
      const options = { create: true, audits };
      const db = await Database.open({ url, pool: 4 }, options);
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
