import type { Test } from "tap";
import { type LiveServer, serveLive, startLive } from "../live/client.js";
import { shared } from "../shared.js";
import { Fence } from "./fence.js";

/** No connection waits for its login to be late. */
const LIMITS = { authTimeout: 600_000 };

/** The nodes of one installation that rows run on, and a fence for their pushes. */
export interface House {
  readonly servers: readonly [LiveServer, ...LiveServer[]];
  readonly fence: Fence;
}

/**
 * Starts one server on the embedded engines, or two on PostgreSQL and Valkey, whose
 * connections see each other then (`node dist/test/run-stack.js dist/test/harness.test.js`).
 */
export async function openHouse(t: Test): Promise<House> {
  const first = await startLive(t, LIMITS);
  const servers: [LiveServer, ...LiveServer[]] = [first];
  if (shared) servers.push(await serveLive(t, first.dataDir, LIMITS));
  return { servers, fence: await Fence.open(servers) };
}
