import type { RoomStore, UserRecord } from "../../../db/contract/store.js";
import { kindOf } from "../../../db/rules/user-kinds.js";
import type { Context } from "../../context.js";
import { Json } from "../../rules/encoding.js";
import { roomDenied } from "../../rules/problems.js";
import { mayInRoom } from "../../rules/rights.js";
import type { publicUser } from "../../rules/shapes.js";
import { roomOfScreen } from "../../socket/endings.js";

/** The port that finds the room of a screen. */
export interface ScreenPorts {
  readonly store: { readonly rooms: Pick<RoomStore, "get"> };
}

/** Whether a room that a screen shows is hidden from the caller. A room that is gone is not. */
async function isHidden(
  { ports, connection, login, world }: Context<ScreenPorts>,
  screen: Pick<UserRecord, "profile">,
): Promise<boolean> {
  const id = roomOfScreen(screen);
  if (id === undefined) return false;
  const room = await ports.store.rooms.get(connection.world, id);
  return room !== undefined && !mayInRoom(login, "room.view", world.value, room.value);
}

/**
 * Checks that the caller may see the room that a screen shows: a screen shows it whatever the
 * rules say, so its token would open a hidden room.
 * @param screen its profile names the room.
 * @throws {LiveError} `protocol.denied`.
 */
export async function requireSeen(
  context: Context<ScreenPorts>,
  screen: Pick<UserRecord, "profile">,
): Promise<void> {
  if (await isHidden(context, screen)) throw roomDenied();
}

/**
 * A user for the caller: of a screen, without a room that is hidden from the caller.
 * @param sent the user as others see it.
 */
export async function withoutHiddenRoom(
  context: Context<ScreenPorts>,
  user: UserRecord,
  sent: ReturnType<typeof publicUser>,
): Promise<typeof sent> {
  if (kindOf(user) !== "kiosk" || !(await isHidden(context, user))) return sent;
  const { room_id: _, ...profile } = user.profile!;
  return { ...sent, profile: new Json(JSON.stringify(profile)) };
}
