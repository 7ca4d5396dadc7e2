import type { Test } from "tap";
import { createApp } from "../../app.js";
import { LocalBus } from "../../db/bus/local.js";
import { openFiles } from "../../db/open-files.js";
import { LogEvents } from "../../db/log/log-events.js";
import { openSqliteStore } from "../../db/sqlite/index.js";
import type { TestServerOptions } from "../../testing.js";
import { listen } from "../helper.js";
import { serveLive } from "../live/client.js";
import { testdir } from "../testdir.js";
import type { Faults } from "./faulty-store.js";
import { type House, houseOf } from "./house.js";

/** Starts a server on a store that fails as planned. */
const starting =
  (faults: Faults) =>
  async (options: TestServerOptions = {}) => {
    const dataDir = options.config!.dataDir!;
    const onFault = (error: unknown): never => {
      throw error;
    };
    const opened = openSqliteStore(dataDir, {
      onAppended: (hints) => events.took(hints),
    });
    const store = faults.wrap(opened);
    const bus = new LocalBus(onFault);
    const events: LogEvents = new LogEvents({ bus, log: store.log, onFault });
    const files = await openFiles(dataDir, undefined);
    const engines = {
      store,
      files,
      events,
      async close() {
        await files.close();
        await store.close();
        await events.close();
      },
    };
    const app = createApp({
      config: options.config!,
      engines,
      logger: options.logger!,
    });
    const port = await listen(app);
    const unused = async (): Promise<never> => {
      throw new Error("Use the store.");
    };
    return {
      app,
      baseUrl: `http://127.0.0.1:${port}`,
      close: () => app.close(),
      createWorld: unused,
      token: unused,
    };
  };

/** Starts one server whose store fails as planned. It may log errors. */
export async function openFaultyHouse(t: Test, faults: Faults): Promise<House> {
  const limits = { authTimeout: 600_000 };
  const start = starting(faults);
  return houseOf([await serveLive(t, testdir(t), limits, start, true)]);
}
