import type { AuditStore } from "../../../db/contract/audit-store.js";
import type { RoomStore, UserRecord, UserStore } from "../../../db/contract/store.js";
import { kioskToken } from "../../../db/rules/acts.js";
import { kindOf, kioskId } from "../../../db/rules/user-rows.js";
import type { Clock, Random } from "../../../db/runtime.js";
import { signKiosk } from "../../../db/world-management.js";
import type { Commands } from "../../../schemas/live/index.js";
import { MAX_PROFILE } from "../../../schemas/plain/limits.js";
import { boundFault } from "../../../schemas/validate.js";
import type { CommandTable, CommandContext } from "../../module.js";
import { Json } from "../../rules/encoding.js";
import { invalidPayload, roomDenied, unknownUser } from "../../rules/problems.js";
import { mayInRoom } from "../../rules/rights.js";
import { publicUser } from "../../rules/shapes.js";
import { roomOfScreen } from "../../socket/endings.js";

/** Ports of the screen commands. */
export interface KioskPorts {
  readonly clock: Clock;
  readonly random: Random;
  readonly store: KioskLookupPorts["store"] & {
    readonly users: UserStore;
    readonly audit: AuditStore;
  };
}

/** Commands for users that are screens. To revoke a screen's token, erase the screen's user. */
export const kiosks: CommandTable<Extract<keyof Commands, `user.kiosk.${string}`>, KioskPorts> = {
  "user.kiosk.create": { requires: "world.update", handler: create },
  "user.kiosk.fetch": { requires: "user.manage", handler: fetchKiosk },
};

async function create(
  context: CommandContext<KioskPorts>,
  { profile }: Commands["user.kiosk.create"]["payload"],
) {
  const fault = boundFault(profile, MAX_PROFILE);
  if (fault) throw invalidPayload({ profile: [fault] });
  await requireSeen(context, { profile });
  const { ports, connection, world, may } = context;
  const { store, random, clock } = ports;
  const visitor = { clientId: kioskId(random.id()), traits: new Set<string>() };
  const user = await store.users.enter(
    connection.world,
    { ...visitor, profile },
    connection.author,
  );
  const admin = may("user.manage");
  return { user: publicUser(user, world.value, clock.date(), admin) };
}

async function fetchKiosk(
  context: CommandContext<KioskPorts>,
  { id }: Commands["user.kiosk.fetch"]["payload"],
) {
  const { ports, connection, world } = context;
  const user =
    typeof id === "string" ? await ports.store.users.get(connection.world, id) : undefined;
  if (!user || kindOf(user) !== "kiosk") throw unknownUser();
  await requireSeen(context, user);
  const [, name] = user.client_id!.split(":");
  // Recorded before the token is shown: every token must leave a trace.
  await ports.store.audit.record(connection.world, kioskToken(user.id), connection.author);
  return {
    ...publicUser(user, world.value, ports.clock.date(), true),
    client_state: user.client_state,
    token: await signKiosk(world.value, name!),
  };
}

/** The port for finding a screen's room. */
export interface KioskLookupPorts {
  readonly store: { readonly rooms: Pick<RoomStore, "get"> };
}

/** Whether a screen shows a room that is hidden from the caller. A deleted room is not hidden. */
async function isHidden(
  { ports, connection, login, world }: CommandContext<KioskLookupPorts>,
  screen: Pick<UserRecord, "profile">,
): Promise<boolean> {
  const id = roomOfScreen(screen);
  if (id === undefined) return false;
  const room = await ports.store.rooms.get(connection.world, id);
  return room !== undefined && !mayInRoom(login, "room.view", world.value, room.value);
}

/**
 * Checks that the caller may see the room that a screen shows. A screen shows its room regardless
 * of the rules, so the screen's token would reveal a hidden room.
 * @param screen the screen, whose profile names the room.
 * @throws {LiveError} `protocol.denied`.
 */
export async function requireSeen(
  context: CommandContext<KioskLookupPorts>,
  screen: Pick<UserRecord, "profile">,
): Promise<void> {
  if (await isHidden(context, screen)) throw roomDenied();
}

/**
 * Returns a user as the caller may see them. For a screen, omits a room that is hidden from the
 * caller.
 * @param sent the user as other users see them.
 */
export async function withoutHiddenRoom(
  context: CommandContext<KioskLookupPorts>,
  user: UserRecord,
  sent: ReturnType<typeof publicUser>,
): Promise<typeof sent> {
  if (kindOf(user) !== "kiosk" || !(await isHidden(context, user))) return sent;
  const { room_id: _, ...profile } = user.profile!;
  return { ...sent, profile: new Json(JSON.stringify(profile)) };
}
