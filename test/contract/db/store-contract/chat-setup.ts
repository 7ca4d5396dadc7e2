import type { Test } from "tap";
import type { ChatDelivery, MessageInput } from "../../../../db/contract/chat-store.js";
import { type Store, StoreError } from "../../../../db/contract/store.js";
import { worldOf } from "../../../support/helper.js";
import { NIGHT } from "../../../support/night.js";
import { ABSENT, enter, fails } from "./setup.js";

/** A world `other`, and in `demo` a room and five users, the first three of whom are its members. */
export interface Chatting {
  room: string;
  ada: string;
  bob: string;
  cy: string;
  dan: string;
  eve: string;
  /** A room and a user in the other world. */
  elsewhere: { room: string; user: string };
  /** Sends a text to the room; the sender defaults to Ada. */
  say: (body: string, more?: Partial<MessageInput>) => Promise<ChatDelivery>;
}

export async function chatting(store: Store): Promise<Chatting> {
  await store.worlds.create(worldOf("other"));
  const roomIn = async (world: string) => (await store.rooms.create(world, { name: "R" })).value.id;
  const room = await roomIn("demo");
  const ids: string[] = [];
  for (const name of ["ada", "bob", "cy", "dan", "eve"]) ids.push(await enter(store, name));
  const [ada, bob, cy, dan, eve] = ids as [string, string, string, string, string];
  for (const user of [ada, bob, cy]) await store.chat.join("demo", room, user);
  const elsewhere = { room: await roomIn("other"), user: await enter(store, "ada", "other") };
  await store.chat.join("other", elsewhere.room, elsewhere.user);
  const say: Chatting["say"] = (body, more = {}) =>
    store.chat.send("demo", room, { ...message(ada, body), ...more });
  return { room, ada, bob, cy, dan, eve, elsewhere, say };
}

/** Returns the input for a text message. */
export const message = (sender: string, body = "x"): MessageInput => ({
  sender,
  content: text(body),
});

export const text = (body: string) => ({ type: "text", body });

export const DELETED = { type: "deleted" };

/** Serializes content as events store it. */
export const stored = (content: object): string => JSON.stringify(content);

/** Returns all events of a channel in one page. */
export const allEvents = (store: Store, channel: string, world = "demo") =>
  store.chat.events(world, channel, { limit: 10_000 });

/** A world `other`, and in `demo` two rooms and three users. */
export interface Voting {
  /** A room with chat. */
  room: string;
  /** A room without chat. */
  quiet: string;
  ada: string;
  bob: string;
  cy: string;
  /** A room and a user in the other world. */
  elsewhere: { room: string; user: string };
}

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
    elsewhere: { room: there.value.id, user: await enter(store, "ada", "other") },
  };
}

/** A tenth of the number of concurrent voters. */
export const SOME = !NIGHT ? 20 : 100;

/**
 * Creates many users.
 * @returns their ids.
 */
export const crowd = (store: Store, size: number): Promise<string[]> =>
  Promise.all(Array.from({ length: size }, (_, i) => enter(store, `voter-${i}`)));

/** Retries a write while the store is busy, since many writers may share a disk. */
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

/** Checks that banned, silenced or erased users, and users of other worlds, cannot perform some writes. */
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
