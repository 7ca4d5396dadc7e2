import type { Author } from "../../../db/contract/author.js";
import { absent, denied } from "../../../db/rules/preconditions.js";
import type { Tables } from "./tables.js";
import type { Transaction } from "./transaction.js";
import { expectUser } from "./users.js";

// What questions and polls in a simulated store have in common.

export function expectRoom({ rooms }: Tables, world: string, id: string) {
  const room = rooms.get(id);
  if (room?.world !== world) throw absent("room");
  return room;
}

export function expectActive(
  tables: Tables,
  world: string,
  user: string,
): void {
  if (expectUser(tables, world, user).moderation_state !== "") {
    throw denied("The user is banned or silenced.");
  }
}

export const inRoom = <T extends { world: string; room: string }>(
  map: ReadonlyMap<string, T>,
  world: string,
  room: string,
): T[] =>
  [...map.values()].filter((it) => it.world === world && it.room === room);

/** The newest, and the one that is pinned. */
export function newest<T extends { is_pinned: number }>(
  found: readonly T[],
  limit: number,
): T[] {
  const from = found.length - limit;
  return found.filter((it, i) => i >= from || it.is_pinned);
}

type OfUser = Parameters<Transaction["append"]>[1];

export const appendOf = (
  tx: Transaction,
  world: string,
  user: string,
  change: OfUser,
  by: Author | undefined,
) =>
  tx.append(world, change, { kind: "user", user, connection: by?.connection });
