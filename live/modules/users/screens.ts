import type { RoomStore, UserRecord } from "../../../db/contract/store.js";
import type { Context } from "../../context.js";
import { roomDenied } from "../../rules/problems.js";
import { mayInRoom } from "../../rules/rights.js";
import { roomOfScreen } from "../../socket/endings.js";

/** The port that finds the room of a screen. */
export interface ScreenPorts {
  readonly store: { readonly rooms: Pick<RoomStore, "get"> };
}

/**
 * Checks that the caller may see the room that a screen shows: a screen shows it whatever the
 * rules say, so its token would open a hidden room.
 * @param screen its profile names the room. A room that is gone shows nothing.
 * @throws {LiveError} `protocol.denied`.
 */
export async function requireSeen(
  { ports, connection, login, world }: Context<ScreenPorts>,
  screen: Pick<UserRecord, "profile">,
): Promise<void> {
  const id = roomOfScreen(screen);
  if (id === undefined) return;
  const room = await ports.store.rooms.get(connection.world, id);
  if (room && !mayInRoom(login, "room.view", world.value, room.value)) {
    throw roomDenied();
  }
}
