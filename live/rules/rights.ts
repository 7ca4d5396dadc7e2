import type { Invite } from "../../db/contract/invite-store.js";
import type { RoomValue, UserRecord } from "../../db/contract/store.js";
import type { CommandName } from "../../schemas/live/index.js";
import {
  grants,
  inScope,
  isWithheld,
  type PermissionConfig,
  type PermissionKey,
  permissionKeys,
  permissionStrings as strings,
  type Scope,
} from "../../schemas/plain/permissions.js";
import type { World } from "../../schemas/worlds.js";

// The present rights of a user, and their strings for clients. REST asks for `world.api`
// and the keys of a route; users on the websocket need `world.view` instead, and their
// moderation state counts.

export type ModerationState = UserRecord["moderation_state"];

/** A user whose rights are checked. */
export interface Bearer {
  readonly traits: ReadonlySet<string>;
  readonly state: ModerationState;
  /** Of users who came by a link that opens little; it counts in place of the rules. */
  readonly scope?: Scope | undefined;
}

/** The strings of each key, in the order of the keys. */
const listed = permissionKeys.map((key) => ({ key, ...strings[key] }));

/** Every string that a world or a room can list. */
export const allStrings: readonly string[] = [
  ...new Set(listed.flatMap(({ world = [], room }) => [...world, room ?? []].flat())),
];

/** The one string that stands for a key on the settings page; undefined if none does. */
export const stringOf = (key: PermissionKey): string | undefined =>
  strings[key].world?.[0] ?? strings[key].room;

/** Whether a user may only read: others see no changes of such a user. */
export const isSilenced = ({ moderation_state }: Pick<UserRecord, "moderation_state">): boolean =>
  moderation_state === "silenced";

/** The part of a room that decides about rights. */
export type RuledRoom = Pick<RoomValue, "id" | "permission_config"> & {
  /** Undefined for a room that was deleted. */
  readonly module_config?: RoomValue["module_config"] | undefined;
};

/** Whether a room takes questions or votes of people without a name. */
export const takesAnonymous = ({ module_config = [] }: RuledRoom): boolean =>
  module_config.some(({ type, config }) => {
    const { anonymous } = (config ?? {}) as { anonymous?: unknown };
    return (type === "question" || type === "poll") && anonymous === true;
  });

/**
 * Whether a link still lets people into its room without a name.
 * @param room of the link; undefined if it is gone.
 * @param now in milliseconds since 1970.
 */
export const isInvited = (
  invite: Invite | undefined,
  room: RuledRoom | undefined,
  now: number,
): boolean =>
  invite !== undefined && room?.id === invite.room && invite.ends > now && takesAnonymous(room);

/** Whether a user has a key on the world. */
export const mayInWorld = (
  who: Bearer,
  key: PermissionKey,
  { permission_config: rules }: Pick<World, "permission_config">,
): boolean =>
  !isWithheld(who.state, key) &&
  (who.scope ? inScope(who.scope, key, rules) : grants(key, who.traits, rules));

/** Whether a user has a key in a room. It also takes `room.view`. */
export const mayInRoom = (
  who: Bearer,
  key: PermissionKey,
  { permission_config: rules }: Pick<World, "permission_config">,
  room: RuledRoom,
): boolean => {
  if (isWithheld(who.state, key)) return false;
  if (key === "room.invite" && !takesAnonymous(room)) return false;
  return who.scope
    ? inScope(who.scope, key, rules, room)
    : grants(key, who.traits, rules, room.permission_config);
};

/** The strings of a user's permissions on a world. */
export const stringsInWorld = (who: Bearer, world: World): string[] =>
  listed.flatMap(({ key, world: names = [] }) =>
    names.length > 0 && mayInWorld(who, key, world) ? names : [],
  );

/** The strings of a user's permissions in a room. */
export const stringsInRoom = (who: Bearer, world: World, room: RuledRoom): string[] =>
  listed.flatMap(({ key, room: name }) =>
    name !== undefined && mayInRoom(who, key, world, room) ? [name] : [],
  );

/** All traits that a set of rules asks for. */
export function addTraits(rules: PermissionConfig, to: Set<string>): void {
  for (const rule of Object.values(rules)) {
    for (const trait of rule.flat()) to.add(trait);
  }
}

// The settings of the modules of a room.

/** Whether a room has a module of a type. */
export const hasModule = ({ module_config }: RoomValue, type: string): boolean =>
  module_config.some((module) => module.type === type);

/** The settings of the first module of a type; none if there is no such module. */
export function configOf({ module_config }: RoomValue, type: string): Record<string, unknown> {
  const module = module_config.find((module) => module.type === type);
  return (module?.config ?? {}) as Record<string, unknown>;
}

/** Whether memberships in the chat of a room last only as long as a subscription. */
export const isVolatile = (room: RoomValue): boolean =>
  configOf(room, "chat.native").volatile === true;

/** The commands of each kind of scope. All others are refused, whatever right they ask for. */
const commandsOf: Readonly<Record<Scope["kind"], ReadonlySet<CommandName>>> = {
  anonymous: new Set<CommandName>([
    "room.enter",
    "room.leave",
    "room.react",
    "question.list",
    "question.ask",
    "question.vote",
    "poll.list",
    "poll.vote",
  ]),
  kiosk: new Set<CommandName>([
    "room.enter",
    "room.leave",
    "question.list",
    "poll.list",
    "chat.subscribe",
    "chat.unsubscribe",
    "chat.fetch",
    "program.get",
    "user.fetch",
    "user.update",
    "room.invite.anonymous.link",
  ]),
};

/** Whether a user may give a command. @param scope undefined for users without one. */
export const isInReach = (scope: Scope | undefined, command: CommandName): boolean =>
  scope === undefined || commandsOf[scope.kind].has(command);
