import { SHORT } from "../../suites.js";
import type { Test } from "tap";
import { StoreError, type Store } from "../../../db/contract/store.js";
import { worldOf } from "../../helper.js";
import { ABSENT, fails } from "./setup.js";

/** A world `other` and, in `demo`, two rooms and three users. */
interface Voting {
  /** It has a chat. */
  room: string;
  /** It has none. */
  quiet: string;
  ada: string;
  bob: string;
  cy: string;
  /** A room and a user of the other world. */
  elsewhere: { room: string; user: string };
}

const enter = async (store: Store, tokenId: string, world = "demo") =>
  (await store.users.enter(world, { tokenId, traits: new Set() })).id;

export async function voting(store: Store): Promise<Voting> {
  await store.worlds.create(worldOf("other"));
  const module_config = [{ type: "chat.native", config: {} }];
  const room = await store.rooms.create("demo", { name: "R", module_config });
  const quiet = await store.rooms.create("demo", { name: "Q" });
  const there = await store.rooms.create("other", { name: "R" });
  return {
    room: room.value.id,
    quiet: quiet.value.id,
    ada: await enter(store, "ada"),
    bob: await enter(store, "bob"),
    cy: await enter(store, "cy"),
    elsewhere: {
      room: there.value.id,
      user: await enter(store, "ada", "other"),
    },
  };
}

/** A tenth of the users who vote at the same time. */
export const SOME = SHORT ? 20 : 100;

/** Lets many users enter. @returns their ids. */
export const crowd = (store: Store, size: number): Promise<string[]> =>
  Promise.all(
    Array.from({ length: size }, (_, i) => enter(store, `voter-${i}`)),
  );

/** Repeats a write for as long as the store is busy: many writers may share one disk. */
export async function persistent<T>(write: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await write();
    } catch (error) {
      const isBusy = error instanceof StoreError && error.problem === "busy";
      if (!isBusy || attempt === 20) throw error;
    }
  }
}

/** Writes that only a user of the world may do who is neither banned, nor silenced, nor erased. */
export async function onlyActive(
  t: Test,
  { users }: Store,
  { bob, cy, elsewhere }: Voting,
  writes: Record<string, (user: string) => Promise<unknown>>,
): Promise<void> {
  await users.moderate("demo", bob, "silenced");
  await users.moderate("demo", cy, "banned");
  for (const write of Object.values(writes)) {
    await fails(t, write(bob), "denied");
    await fails(t, write(cy), "denied");
    await fails(t, write(ABSENT), "absent", "user");
    await fails(t, write(elsewhere.user), "absent", "user");
  }
  await users.erase("demo", { user_id: bob });
  await users.moderate("demo", cy, "");
  for (const [name, write] of Object.entries(writes)) {
    await fails(t, write(bob), "absent", "user");
    await t.resolves(write(cy), name);
  }
}
