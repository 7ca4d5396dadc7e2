import type { SentRoom } from "../../client/index.js";
import { linkTo, type Route } from "./route.js";

/** The place beside the list of rooms. */
export type Place =
  | { readonly is: "room"; readonly room: SentRoom }
  /** A room that does not exist, or not for this user. */
  | { readonly is: "gone" }
  /** There is no room at all. */
  | { readonly is: "empty" }
  /** All rooms as cards. */
  | { readonly is: "lobby" }
  /** The direct messages; `channel` is the conversation that is open. */
  | { readonly is: "messages"; readonly channel?: string }
  | { readonly is: "profile" }
  /** The program, or one session of it. */
  | { readonly is: "program"; readonly session?: string };

/** The place of a route. An invalid route shows the lobby, or the only room. */
export function placeOf([page, id]: Route, rooms: readonly SentRoom[]): Place {
  if (page === "profile") return { is: "profile" };
  if (page === "program") {
    return id === undefined ? { is: page } : { is: page, session: id };
  }
  if (page === "messages") {
    return id === undefined ? { is: "messages" } : { is: page, channel: id };
  }
  const isNamed = page === "rooms" && id !== undefined;
  if (!isNamed && rooms.length > 1) return { is: "lobby" };
  const room = isNamed ? rooms.find((it) => it.id === id) : rooms[0];
  if (room) return { is: "room", room };
  return { is: isNamed ? "gone" : "empty" };
}

/**
 * The address of the place of a route, if it is not the route itself. The only room keeps
 * its visitors when it is no longer the only one.
 */
export function addressOf([page, id]: Route, rooms: readonly SentRoom[]): string | undefined {
  const isComplete =
    page === "profile" ||
    page === "messages" ||
    page === "program" ||
    (page === "rooms" && id !== undefined);
  const first = rooms[0];
  return isComplete || !first || rooms.length > 1 ? undefined : linkTo("rooms", first.id);
}

/** The channel that is open in a place; the channel of a room has the room's id. */
export function openChannel(place: Place): string | undefined {
  if (place.is === "room") return place.room.id;
  return place.is === "messages" ? place.channel : undefined;
}
