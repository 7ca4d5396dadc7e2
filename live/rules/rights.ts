import type { Invite } from "../../db/contract/invite-store.js";
import type { ModerationState, RoomValue, UserRecord } from "../../db/contract/store.js";
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

// A user's current rights, and the strings that represent these rights to clients. REST requires
// `world.api` and the keys of the route. On the websocket, users need `world.view` instead, and
// their moderation state counts.

/** A user whose rights are checked. */
export interface Bearer {
  readonly traits: ReadonlySet<string>;
  readonly state: ModerationState;
  /** Set for users who logged in through a link with limited rights. The scope replaces the rules. */
  readonly scope?: Scope | undefined;
}

/** Each key with its strings, in key order. */
const listed = permissionKeys.map((key) => ({ key, ...strings[key] }));

/** Every string that a world or a room can list. */
export const allStrings: readonly string[] = [
  ...new Set(
    listed.flatMap(({ world = [], room, bbb }) => [...world, room ?? [], bbb ?? []].flat()),
  ),
];

/** Returns the string that represents a key on the settings page, or undefined if the key has no string. */
export const stringOf = (key: PermissionKey): string | undefined =>
  strings[key].world?.[0] ?? strings[key].room;

/** Whether a user may only read. Other users do not see changes made by a silenced user. */
export const isSilenced = ({ moderation_state }: Pick<UserRecord, "moderation_state">): boolean =>
  moderation_state === "silenced";

/** The part of a room that determines rights. */
export type RuledRoom = Pick<RoomValue, "id" | "permission_config"> & {
  /** Undefined for a deleted room. */
  readonly module_config?: RoomValue["module_config"] | undefined;
};

/** Whether a room accepts questions or votes from people without a name. */
export const allowsAnonymous = ({ module_config = [] }: RuledRoom): boolean =>
  module_config.some(({ type, config }) => {
    const { anonymous } = (config ?? {}) as { anonymous?: unknown };
    return (type === "question" || type === "poll") && anonymous === true;
  });

/** Whether managers of a room's polls learn who wrote what: not where people without a name vote. */
export const namesVoters = ({ module_config = [] }: RuledRoom): boolean =>
  !module_config.some(
    ({ type, config }) =>
      type === "poll" && (config as { anonymous?: unknown } | undefined)?.anonymous === true,
  );

/**
 * Whether a link still admits people without a name to its room.
 * @param room the link's room; undefined if the room was deleted.
 * @param now in milliseconds since 1970.
 */
export const isInvited = (
  invite: Invite | undefined,
  room: RuledRoom | undefined,
  now: number,
): boolean =>
  invite !== undefined && room?.id === invite.room && invite.ends > now && allowsAnonymous(room);

/** Whether a user has a key on the world. */
export const mayInWorld = (
  who: Bearer,
  key: PermissionKey,
  { permission_config: rules }: Pick<World, "permission_config">,
): boolean =>
  !isWithheld(who.state, key) &&
  (who.scope ? inScope(who.scope, key, rules) : grants(key, who.traits, rules));

/** Whether a user has a key in a room, which also requires `room.view`. */
export const mayInRoom = (
  who: Bearer,
  key: PermissionKey,
  { permission_config: rules }: Pick<World, "permission_config">,
  room: RuledRoom,
): boolean => {
  if (isWithheld(who.state, key)) return false;
  if (key === "room.invite" && !allowsAnonymous(room)) return false;
  return who.scope
    ? inScope(who.scope, key, rules, room)
    : grants(key, who.traits, rules, room.permission_config);
};

/** Whether a user may see the presence of others in a room: who is there, and who comes and goes. */
export const maySeeViewers = (
  who: Bearer,
  world: Pick<World, "permission_config">,
  room: RuledRoom,
): boolean => mayInRoom(who, "room.viewers", world, room);

/** Returns the strings that represent a user's permissions on a world. */
export const stringsInWorld = (who: Bearer, world: World): string[] =>
  listed.flatMap(({ key, world: names = [] }) =>
    names.length > 0 && mayInWorld(who, key, world) ? names : [],
  );

/** Returns the strings that represent a user's permissions in a room. */
export function stringsInRoom(who: Bearer, world: World, room: RuledRoom): string[] {
  const hasBbb = room.module_config?.some(({ type }) => type === "call.bigbluebutton");
  return listed.flatMap(({ key, room: name, bbb = name }) => {
    const string = hasBbb ? bbb : name;
    return string !== undefined && mayInRoom(who, key, world, room) ? [string] : [];
  });
}

/**
 * Adds all traits that a set of rules refers to.
 * @param to receives the traits.
 */
export function addTraits(rules: PermissionConfig, to: Set<string>): void {
  for (const rule of Object.values(rules)) {
    for (const trait of rule.flat()) to.add(trait);
  }
}

// Settings of a room's modules.

/** Whether a room has a module of a type. */
export const hasModule = ({ module_config }: RoomValue, type: string): boolean =>
  module_config.some((module) => module.type === type);

/** Returns the settings of the first module of a type, or an empty object if there is no such module. */
export function configOf({ module_config }: RoomValue, type: string): Record<string, unknown> {
  const module = module_config.find((module) => module.type === type);
  return (module?.config ?? {}) as Record<string, unknown>;
}

/** Whether memberships in a room's chat last only as long as a subscription. */
export const isVolatile = (room: RoomValue): boolean =>
  configOf(room, "chat.native").volatile === true;

/**
 * The commands available to each kind of scope. All other commands are refused, regardless of the
 * rights that they require.
 */
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
    "room.captions",
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
    "screen.get",
    "room.captions",
    "call.join",
    "call.state",
  ]),
};

/**
 * Whether a user may run a command.
 * @param scope undefined for users without a scope.
 */
export const isInReach = (scope: Scope | undefined, command: CommandName): boolean =>
  scope === undefined || commandsOf[scope.kind].has(command);
