import { escapeLiteral } from "pg";
import { encodedText } from "./sql.js";

// Advisory locks: PostgreSQL keeps them, and the processes agree on their numbers. The
// first number is the purpose of a lock.

/** The word "Foye". The locks of transactions have the numbers from here. */
const BASE = 0x466f7965;

/** Writes of one world come one after another. */
export const lockOfWorld = (world: string): string =>
  `SELECT pg_advisory_xact_lock(${BASE}, hashtext(${escapeLiteral(encodedText(world))}))`;

/** Creating a world, deleting one, and changing its domain come one after another. */
export const LOCK_OF_WORLDS = `SELECT pg_advisory_xact_lock(${BASE + 1}, 0)`;

/** Upgrades come one after another. */
export const LOCK_OF_UPGRADES = `SELECT pg_advisory_xact_lock(${BASE + 3}, 0)`;

/** Each node that serves holds it together with the others, as long as its connection lasts. */
export const NODES = `${BASE + 4}, 0`;
