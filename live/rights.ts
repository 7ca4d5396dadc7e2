import type { RoomValue, UserRecord } from "../db/store.js";
import {
  allows,
  type PermissionConfig,
  type PermissionKey,
  permissionKeys,
} from "../schemas/plain/permissions.js";
import type { World } from "../schemas/worlds.js";

// What somebody may do at this moment, and the words in which clients learn it. REST
// asks for `world.api` and the keys of a route; people on the websocket need
// `world.view` instead, and their moderation state counts.

export type ModerationState = UserRecord["moderation_state"];

/** Whose rights are asked for. */
export interface Bearer {
  readonly traits: ReadonlySet<string>;
  readonly state: ModerationState;
}

/** What silenced users keep. */
const SILENCED: ReadonlySet<PermissionKey> = new Set<PermissionKey>([
  "world.view",
  "room.view",
  "chat.read",
  "chat.join",
  "question.read",
  "poll.read",
]);

/** The strings that clients know a key by. Keys without any are not listed. */
const strings: Partial<
  Record<PermissionKey, { world?: readonly string[]; room?: string }>
> = {
  "world.view": { world: ["world:view"] },
  "chat.direct": { world: ["world:chat.direct"] },
  "room.view": { room: "room:view" },
  "chat.read": { room: "room:chat.read" },
  "chat.join": { room: "room:chat.join" },
  "chat.send": { room: "room:chat.send" },
  "question.read": { room: "room:question.read" },
  "question.ask": { room: "room:question.ask" },
  "question.vote": { room: "room:question.vote" },
  "poll.read": { room: "room:poll.read" },
  "poll.vote": { room: "room:poll.vote" },
  "chat.moderate": both("room:chat.moderate"),
  "question.moderate": both("room:question.moderate"),
  "poll.manage": both("room:poll.manage"),
  "poll.results": both("room:poll.early_results"),
  "room.viewers": both("room:viewers"),
  "room.announce": both("room:announce"),
  "room.update": both("room:update"),
  "room.delete": both("room:delete"),
  "world.announce": { world: ["world:announce"] },
  "room.create": {
    world: ["world:rooms.create.stage", "world:rooms.create.chat"],
  },
  "world.update": { world: ["world:update"] },
  "user.list": { world: ["world:users.list"] },
  "user.manage": { world: ["world:users.manage"] },
  "world.connections": { world: ["world:connections.unlimited"] },
  "world.secrets": { world: ["world:secrets"] },
  "world.api": { world: ["world:api"] },
};

/** An administrative key of a room, which the list of the world names as well. */
function both(string: string) {
  return { world: [string], room: string };
}

/** The strings of each key, in the order of the keys. */
const listed = permissionKeys.map((key) => ({ key, ...strings[key] }));

/** Every string that a world or a room can list. */
export const allStrings: readonly string[] = [
  ...new Set(
    listed.flatMap(({ world = [], room }) => [...world, room ?? []].flat()),
  ),
];

/** The one string that stands for a key on the settings page; undefined if none does. */
export const stringOf = (key: PermissionKey): string | undefined =>
  strings[key]?.world?.[0] ?? strings[key]?.room;

/** Whether a user may read, and nothing more: others learn nothing new of them. */
export const isSilenced = ({
  moderation_state,
}: Pick<UserRecord, "moderation_state">): boolean =>
  moderation_state === "silenced";

/** Whether somebody may do on the world what a key stands for. */
export function mayInWorld(
  { traits, state }: Bearer,
  key: PermissionKey,
  { permission_config: rules }: Pick<World, "permission_config">,
): boolean {
  if (state === "banned") return false;
  if (state === "silenced" && !SILENCED.has(key)) return false;
  return allows("world.view", traits, rules) && allows(key, traits, rules);
}

/** Whether somebody may do in a room what a key stands for. It takes `room.view`, too. */
export function mayInRoom(
  who: Bearer,
  key: PermissionKey,
  { permission_config: rules }: Pick<World, "permission_config">,
  { permission_config: own }: Pick<RoomValue, "permission_config">,
): boolean {
  if (!mayInWorld(who, "world.view", { permission_config: rules }))
    return false;
  if (who.state === "silenced" && !SILENCED.has(key)) return false;
  return (
    allows("room.view", who.traits, rules, own) &&
    allows(key, who.traits, rules, own)
  );
}

/** The strings of all that somebody may do on a world. */
export const stringsInWorld = (who: Bearer, world: World): string[] =>
  listed.flatMap(({ key, world: names = [] }) =>
    names.length > 0 && mayInWorld(who, key, world) ? names : [],
  );

/** The strings of all that somebody may do in a room. */
export const stringsInRoom = (
  who: Bearer,
  world: World,
  room: Pick<RoomValue, "permission_config">,
): string[] =>
  listed.flatMap(({ key, room: name }) =>
    name !== undefined && mayInRoom(who, key, world, room) ? [name] : [],
  );

/** All traits that a set of rules asks for. */
export function addTraits(rules: PermissionConfig, to: Set<string>): void {
  for (const rule of Object.values(rules)) {
    for (const trait of rule.flat()) to.add(trait);
  }
}
