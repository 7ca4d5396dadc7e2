import type { Delivery, MessageDraft } from "../../../db/contract/chat.js";
import type { Store } from "../../../db/contract/store.js";
import { worldOf } from "../../helper.js";

/** A world `other` and, in `demo`, a room and five users; the first three are its members. */
export interface Chatting {
  room: string;
  ada: string;
  bob: string;
  cy: string;
  dan: string;
  eve: string;
  /** A room and a user of the other world. */
  elsewhere: { room: string; user: string };
  /** Sends a text to the room, as Ada unless it says otherwise. */
  say: (body: string, more?: Partial<MessageDraft>) => Promise<Delivery>;
}

export async function chatting(store: Store): Promise<Chatting> {
  await store.worlds.create(worldOf("other"));
  const roomIn = async (world: string) =>
    (await store.rooms.create(world, { name: "R" })).value.id;
  const enter = async (world: string, tokenId: string) =>
    (await store.users.enter(world, { tokenId, traits: new Set() })).id;
  const room = await roomIn("demo");
  const names = ["ada", "bob", "cy", "dan", "eve"];
  const ids: string[] = [];
  for (const name of names) ids.push(await enter("demo", name));
  const [ada, bob, cy, dan, eve] = ids as [
    string,
    string,
    string,
    string,
    string,
  ];
  for (const user of [ada, bob, cy]) {
    await store.chat.join("demo", room, user);
  }
  const elsewhere = {
    room: await roomIn("other"),
    user: await enter("other", "ada"),
  };
  await store.chat.join("other", elsewhere.room, elsewhere.user);
  const say: Chatting["say"] = (body, more = {}) =>
    store.chat.send("demo", room, { ...message(ada, body), ...more });
  return { room, ada, bob, cy, dan, eve, elsewhere, say };
}

/** A text to send. */
export const message = (sender: string, body = "x"): MessageDraft => ({
  sender,
  content: text(body),
});

export const text = (body: string) => ({ type: "text", body });

export const DELETED = { type: "deleted" };

/** Content as events have it. */
export const stored = (content: object): string => JSON.stringify(content);

/** All that a channel has, in one page. */
export const allEvents = (store: Store, channel: string, world = "demo") =>
  store.chat.events(world, channel, { limit: 10_000 });
