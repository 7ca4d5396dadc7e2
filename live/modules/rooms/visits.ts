import type { UserRecord } from "../../../db/contract/store.js";
import { kindOf } from "../../../db/rules/user-rows.js";
import { nextTurn } from "../../../db/runtime.js";
import { type Commands, reactions } from "../../../schemas/live/index.js";
import type { CommandTable, RoomContext } from "../../module.js";
import { LiveError, rateLimited } from "../../rules/problems.js";
import { isSilenced, mayInRoom } from "../../rules/rights.js";
import { publicUser } from "../../rules/shapes.js";
import { sizeOfProfile } from "../../rules/shared-reads.js";
import type { RoomPorts } from "./ports.js";

/** How many rooms a connection may be in. */
const MAX_ROOMS = 100;

/** How many viewers are listed at most. */
const MAX_VIEWERS = 1000;

/** The largest list of viewers, in characters of their profiles. */
const MAX_VIEWERS_SIZE = 1024 * 1024;

/** How many users are read before other work gets its turn. */
const USERS = 50;

/** What the people in a room do. */
export const visits: CommandTable<"room.enter" | "room.leave" | "room.react", RoomPorts> = {
  "room.enter": { inRoom: "room.view", handler: enter },
  "room.leave": { inRoom: "any", handler: leave },
  "room.react": { inRoom: "room.view", handler: react },
};

async function enter({ ports, connection, login, world, room, me, may }: RoomContext<RoomPorts>) {
  const { id } = room.value;
  const again = connection.rooms.has(id);
  if (connection.rooms.size >= MAX_ROOMS && !again) throw rateLimited();
  const told = ports.rates.mayEnter(connection, me);
  // A user who is inside enters again all the same, but without a push to others.
  if (!told && !again) throw rateLimited();
  const watches = mayInRoom(login, "room.viewers", world.value, room.value);
  ports.doors.enterRoom(connection, id, watches, told);
  if (!watches) return {};
  const found = await viewersIn(ports, connection.world, id, me.id).catch((error: unknown) => {
    // A command that is refused has changed nothing.
    if (!again) ports.doors.leaveRoom(connection, id);
    throw error;
  });
  const admin = may("user.manage");
  const now = ports.clock.date();
  return { viewers: found.map((user) => publicUser(user, world.value, now, admin)) };
}

/**
 * The users in a room that fit into an answer, in the order of their coming.
 * @param self the id of a user who is always listed.
 */
async function viewersIn(
  { clock, presence, store }: RoomPorts,
  world: string,
  room: string,
  self: string,
): Promise<UserRecord[]> {
  const present = presence.usersIn(world, room);
  const ids = [...new Set([self, ...present])].slice(0, MAX_VIEWERS);
  const viewers = new Map<string, UserRecord>();
  const inOrder = () => present.flatMap((id) => viewers.get(id) ?? []);
  let size = 0;
  for (let i = 0; i < ids.length; i += USERS) {
    if (i > 0) await nextTurn(clock);
    for (const user of await store.users.getMany(world, ids.slice(i, i + USERS))) {
      if (user.deleted || user.moderation_state === "banned") continue;
      if (kindOf(user) !== "person") continue;
      size += sizeOfProfile(user);
      if (size > MAX_VIEWERS_SIZE) return inOrder();
      viewers.set(user.id, user);
    }
  }
  return inOrder();
}

async function leave({ ports, connection, room }: RoomContext<RoomPorts>) {
  ports.doors.leaveRoom(connection, room.value.id);
  return {};
}

const known: ReadonlySet<string> = new Set(reactions);

async function react(
  { ports, connection, room, me }: RoomContext<RoomPorts>,
  { reaction }: Commands["room.react"]["payload"],
) {
  if (!known.has(reaction)) {
    throw new LiveError("room.unknown_reaction", "Unknown reaction");
  }
  // Reactions above the rate are dropped silently, as are ones that come too soon.
  if (!isSilenced(me) && ports.rates.mayMessage(connection)) {
    ports.react(connection.world, room.value.id, me.id, reaction);
  }
  return {};
}
