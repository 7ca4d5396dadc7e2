import type { Test } from "tap";
import type { Site } from "../../conformance/site.js";
import { type LiveServer, serveLive, startLive } from "../live/client.js";
import { shared } from "../shared.js";
import { Fence } from "./fence.js";
import { StoreStage } from "./store-stage.js";

/** No connection waits for its login to be late. */
const LIMITS = { authTimeout: 600_000 };

type Servers = readonly [LiveServer, ...LiveServer[]];

/** The nodes of one installation in this process. */
export interface House extends Site {
  readonly servers: Servers;
}

/**
 * Starts one server on the embedded engines, or two on PostgreSQL and Valkey, whose
 * connections see each other then (`npm run test:shared harness.test.js`).
 */
export async function openHouse(t: Test): Promise<House> {
  const first = await startLive(t, LIMITS);
  const servers: [LiveServer, ...LiveServer[]] = [first];
  if (shared) servers.push(await serveLive(t, first.dataDir, LIMITS));
  return houseOf(servers);
}

/** Makes the house of servers that run. */
export async function houseOf(servers: Servers): Promise<House> {
  const fence = await Fence.open(servers);
  let worlds = 0;
  return {
    servers,
    isCertain: true,
    stage: (role) =>
      new StoreStage(servers[0].app.store, `row-${++worlds}`, role),
    connect: (world, turn) => servers[turn % servers.length]!.connect(world),
    gathered: ({ world }) => fence.passed(world),
    settled: ({ world }) => fence.passed(world),
  };
}
