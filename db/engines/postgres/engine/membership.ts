import { setTimeout as sleep } from "node:timers/promises";
import type { Client } from "pg";
import { StoreError } from "../../../contract/store.js";
import { NODES } from "./locks.js";
import { expectVersion, read, write } from "./upgrade.js";

/** What all nodes that serve one database must have in common. */
export interface Membership {
  /** Names what carries their events. */
  events: string;
  /** Names where the bytes of their files are. */
  files: string;
}

/** How long a node waits for one that has just been killed, in milliseconds. */
const PATIENCE = 3000;
const PAUSE = 200;

/**
 * Takes part as a node that serves. It does so as long as the connection lasts: the lock
 * goes with it, however this process ends. Who comes first decides what all have in common.
 * This Foyer knows the tables then, and they stay: an upgrade needs the lock alone.
 * @throws {StoreError} `unusable` if others serve who have not the same in common.
 */
export async function join(client: Client, membership: Membership): Promise<void> {
  const deadline = performance.now() + PATIENCE;
  for (;;) {
    if (await isFirst(client)) {
      await expectVersion(client);
      await write(client, "events", membership.events);
      await write(client, "files", membership.files);
      // This one keeps it while the other one is given up, so no other process comes in between.
      await client.query(`SELECT pg_advisory_lock_shared(${NODES})`);
      await client.query(`SELECT pg_advisory_unlock(${NODES})`);
      return;
    }
    await client.query(`SELECT pg_advisory_lock_shared(${NODES})`);
    await expectVersion(client);
    const fault = await difference(client, membership);
    if (fault === undefined) return;
    await client.query(`SELECT pg_advisory_unlock_shared(${NODES})`);
    if (performance.now() > deadline) throw new StoreError("unusable", fault);
    await sleep(PAUSE);
  }
}

async function isFirst(client: Client): Promise<boolean> {
  const { rows } = await client.query<{ free: boolean }>(
    `SELECT pg_try_advisory_lock(${NODES}) AS free`,
  );
  return rows[0]!.free;
}

/** Why a node may not serve together with those that do; undefined if it may. */
async function difference(
  client: Client,
  { events, files }: Membership,
): Promise<string | undefined> {
  const others = { events: await read(client, "events"), files: await read(client, "files") };
  if (others.events !== events) {
    const isAlone = !isShared(others.events ?? "");
    if (isAlone && !isShared(events)) {
      return "another server uses it already; several need VALKEY_URL";
    }
    if (isAlone) return "a server without VALKEY_URL uses it; stop that first";
    return isShared(events)
      ? "the other nodes use another Valkey; VALKEY_URL has to be the same"
      : "the other nodes use Valkey; VALKEY_URL has to be set";
  }
  return others.files === files
    ? undefined
    : "the other nodes store files elsewhere; all nodes need the same S3_BUCKET, or a folder that they share as DATA_DIR/media";
}

const SHARED = "valkey:";

/** What {@link Membership.events} says of a Valkey. */
export const sharedEvents = (identity: string): string => SHARED + identity;

const isShared = (events: string) => events.startsWith(SHARED);
