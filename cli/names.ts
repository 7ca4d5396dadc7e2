import type { Store } from "../db/contract/store.js";
import { PAGE_SIZE } from "./lists.js";

/**
 * The display names of some users, by id. Who has none, or is erased, is left out.
 * @param users may name a user several times, and nobody by null.
 */
export async function displayNames(
  store: Store,
  world: string,
  users: readonly (string | null)[],
): Promise<Map<string, string>> {
  const names = new Map<string, string>();
  const ids = [...new Set(users)].filter((id) => id !== null);
  for (let at = 0; at < ids.length; at += PAGE_SIZE) {
    const page = ids.slice(at, at + PAGE_SIZE);
    for (const { id, profile } of await store.users.getMany(world, page)) {
      const name = profile?.display_name;
      if (typeof name === "string") names.set(id, name);
    }
  }
  return names;
}
