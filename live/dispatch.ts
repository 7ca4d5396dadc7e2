import type { ChatStore } from "../db/contract/chat-store.js";
import type { InvitationStore } from "../db/contract/invitation-store.js";
import type {
  RoomStore,
  RoomValue,
  Store,
  UserStore,
  Versioned,
  WorldStore,
} from "../db/contract/store.js";
import { speakersAtDoor } from "../db/rules/doors.js";
import type { Clock } from "../db/runtime.js";
import type { Faults } from "../schemas/errors.js";
import { liveModules } from "../schemas/live/errors.js";
import { type CommandName, commands as schemas } from "../schemas/live/index.js";
import { MAX_VALUES } from "../schemas/plain/limits.js";
import type { PermissionKey } from "../schemas/plain/permissions.js";
import { compileValidator, countFault, MAX_DEPTH } from "../schemas/validate.js";
import type {
  AnyCommand,
  BoundCommands,
  CallContext,
  ChannelContext,
  CommandTable,
  CommandContext,
  CommandRequirement,
  RoomContext,
  RoomKeys,
  CommandSender,
} from "./module.js";
import { requireInvite } from "./people/scoped.js";
import {
  chatDenied,
  invalidPayload,
  LiveError,
  noSuchModule,
  roomDenied,
  unknownRoom,
  worldDenied,
} from "./rules/problems.js";
import {
  configOf,
  hasModule,
  isInReach,
  mayInRoom,
  mayInWorld,
  stringsInRoom,
} from "./rules/rights.js";
import { Losses } from "./rules/sent-state.js";
import type { WorldStates } from "./rules/world-state.js";
import type { Connection } from "./socket/connection.js";
import {
  applyInvitation,
  applyModeration,
  reasonToEnd,
  type RightsFrame,
  endWithError,
} from "./socket/endings.js";
import type { Login } from "./socket/login-state.js";
import type { Dispatch, Order } from "./socket/requests.js";

/** Describes the permission that each command requires, for human readers. */
export const requirementsOf = (
  table: CommandTable<CommandName, never>,
): Record<CommandName, string> =>
  Object.fromEntries(
    Object.entries(table).map(([name, command]) => [name, requirementOf(command)]),
  ) as Record<CommandName, string>;

function requirementOf(declared: object): string {
  const command = declared as AnyCommand;
  if ("inRoom" in command) return inWords(command.inRoom);
  if ("inCall" in command) return `${inWords(command.inCall)}; membership in a direct channel`;
  if ("inChannel" in command) {
    const { inChannel, direct } = command;
    const inRoom = inWords(inChannel);
    return direct === "members" ? `${inRoom}; membership in a direct channel` : inRoom;
  }
  const { requires } = command;
  return typeof requires === "string" ? requires : requires.any.join(" or ");
}

const inWords = (keys: RoomKeys): string =>
  keys === "any" ? "login" : `${[keys].flat().join(" and ")} on the room`;

/** Modules known to clients. Commands of any other module fail with `protocol.unknown_command`. */
const known: ReadonlySet<string> = new Set(liveModules);

const unknownCommand = () => new LiveError("protocol.unknown_command");

/** Ports for the checks that apply to every command. */
interface DispatchPorts {
  readonly clock: Clock;
  readonly store: {
    readonly worlds: WorldStore;
    readonly users: UserStore;
    readonly rooms: RoomStore;
    readonly invites: Store["invites"];
    readonly invitations: Pick<InvitationStore, "standing">;
    readonly program: Pick<Store["program"], "get">;
  };
  readonly states: WorldStates;
  /**
   * Builds the push that notifies a connection's client of its new rights, or returns undefined if
   * no push is needed.
   */
  readonly rightsFrame: RightsFrame;
}

/** Checks and runs a command. */
type Run = (context: AnyContext, order: Order) => Promise<unknown>;

/** The sender of a command, and the ports of its module. */
type AnyContext = CommandContext<unknown, CommandSender>;

/** A command with the ports of its module. */
export interface Runnable {
  readonly run: Run;
  readonly ports: unknown;
}

/**
 * Binds the commands of all modules.
 * @param modules the commands of each module, and the ports of their handlers.
 * @throws {Error} if a command declares no permission or has no schema.
 */
export function runnables(
  ports: TargetPorts,
  modules: readonly BoundCommands[],
): ReadonlyMap<string, Runnable> {
  const runs = new Map<string, Runnable>();
  for (const { commands, ports: own } of modules) {
    for (const [name, command] of Object.entries(commands)) {
      if (!Object.hasOwn(schemas, name)) {
        throw new Error(`The command ${name} has no schema.`);
      }
      const run = runOf(ports, name as CommandName, command as object);
      runs.set(name, { run, ports: own });
    }
  }
  return runs;
}

/** Creates the function that dispatches commands from connections. */
export function dispatcher(ports: DispatchPorts, runs: ReadonlyMap<string, Runnable>): Dispatch {
  return (connection, login, order) => {
    const { action } = order;
    if (typeof action !== "string") throw unknownCommand();
    const found = runs.get(action);
    if (found) return runFor(ports, found, connection, login, order);
    const [module = ""] = action.split(".", 1);
    throw known.has(module) ? new LiveError(`${module}.unsupported_command`) : unknownCommand();
  };
}

async function runFor(
  ports: DispatchPorts,
  { run, ports: own }: Runnable,
  connection: Connection,
  login: Login,
  order: Order,
): Promise<unknown> {
  return run(await contextOf(ports, own, connection, login), order);
}

/**
 * Checks in the order that the protocol defines: room, module, permission, payload, and then the
 * command's own rules.
 */
function runOf(ports: TargetPorts, name: CommandName, declared: object): Run {
  // The handlers have different payloads and results; the schemas check both.
  const command = declared as AnyCommand;
  const required =
    "inRoom" in command
      ? command.inRoom
      : "inChannel" in command
        ? command.inChannel
        : "inCall" in command
          ? command.inCall
          : command.requires;
  if (required === undefined) {
    throw new Error(`The command ${name} declares no permission.`);
  }
  const validate = compileValidator(schemas[name].payload);
  const { rounded = [], large = false } = command;
  const needsObject = schemas[name].payload.type === "object";
  const check = ({ payload, losses }: Order) => {
    const faults =
      (large ? undefined : crowdedIn(payload)) ??
      without(losses(), rounded) ??
      validate(payload)?.faults;
    if (!faults) return;
    throw invalidPayload(
      faults,
      isPlainObject(payload) ? command.invalid : "protocol.invalid_payload",
    );
  };
  return async (context, order) => {
    const { payload } = order;
    if (!isInReach(context.login.scope, name)) {
      throw "requires" in command ? worldDenied() : roomDenied();
    }
    if ("requires" in command) {
      requireInWorld(context, command.requires);
      check(order);
      return command.handler(context, payload as never);
    }
    if (needsObject && !isPlainObject(payload)) check(order);
    if ("inRoom" in command) {
      const { inRoom, module, active } = command;
      const target = await roomOf(ports, context, payload, inRoom, module);
      if (active) requireActive(target, module!);
      check(order);
      return command.handler(target, payload as never);
    }
    if ("inCall" in command) {
      const target = await callOf(ports, context, payload, command.inCall);
      check(order);
      return command.handler(target, payload as never);
    }
    const { inChannel, direct } = command;
    const target = await channelOf(ports, context, payload, inChannel, direct);
    check(order);
    return command.handler(target, payload as never);
  };
}

/** Maximum number of values in a payload, enforced before validation visits each value. */
const MAX_PAYLOAD_VALUES = 5000;

/**
 * Returns the fault of the first field with too many values, or of the payload as a whole if only
 * the total is too large.
 */
function crowdedIn(payload: unknown): Faults | undefined {
  const fault = countFault(payload, MAX_PAYLOAD_VALUES, MAX_DEPTH);
  if (!fault) return undefined;
  for (const [field, value] of Object.entries(payload as object)) {
    const own = countFault(value, MAX_VALUES, MAX_DEPTH - 1);
    if (own) return { [field.slice(0, MAX_NAME)]: [own] };
  }
  return { non_field_errors: [fault] };
}

/** Maximum length of a field name in an error. */
const MAX_NAME = 200;

/** Returns the faults outside the given fields, or undefined if there are none. */
function without(faults: Faults | undefined, fields: readonly string[]): Faults | undefined {
  if (!faults || fields.length === 0) return faults;
  const left = Object.entries(faults).filter(([field]) => !fields.includes(field));
  return left.length > 0 ? Object.fromEntries(left) : undefined;
}

const isPlainObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/**
 * Loads the caller of a command from the store.
 * @throws {LiveError} if the login is no longer valid; the connection then ends soon.
 */
async function contextOf(
  { store, clock, states, rightsFrame }: DispatchPorts,
  ports: unknown,
  connection: Connection,
  login: Login,
): Promise<CommandContext> {
  const { worlds, users } = store;
  const world = await worlds.get(connection.world);
  const { identity, scope } = login;
  const now = clock.date();
  const speakers = await speakersAtDoor(store.program, world?.value, now);
  const ended = reasonToEnd(login, world, now, speakers);
  if (ended) throw endWithError(connection, ended);
  if (scope) await requireInvite({ clock, store }, connection.world, scope);
  if (identity.invitation) {
    const standing = await store.invitations.standing(connection.world, identity.invitation.id);
    if (!applyInvitation(connection, login, standing, world!.value, clock.date())) {
      throw worldDenied();
    }
  }
  const me = await users.get(connection.world, login.user);
  // An entry about this user is pending and may be a ban. Without a state, the values read here
  // cause no frame.
  const state = connection.isDoubted ? undefined : states.of(world!);
  applyModeration(connection, me, state, rightsFrame);
  if (!me || connection.ended) throw worldDenied();
  const may = (key: PermissionKey) => mayInWorld(login, key, world!.value);
  return { ports, connection, login, world: world!, me, may };
}

function requireInWorld({ may }: AnyContext, requires: CommandRequirement): void {
  if (requires === "login") return;
  const keys = typeof requires === "string" ? [requires] : requires.any;
  if (!keys.some(may)) throw worldDenied();
}

// Resolves the room or channel that a payload names, and checks the sender's rights there. Every
// command passes through here. In Node.js 20, `{ ...context, room }` takes 3 µs, and `{ room,
// ...context }` takes 30 ns.

/** Ports for resolving rooms and channels. */
interface TargetPorts {
  readonly store: { readonly rooms: RoomStore; readonly chat: ChatStore };
  /** Called when a connection has lost rights that its client may know of. Schedules a push to that client. */
  readonly onLost: (connection: Connection) => void;
}

/**
 * Resolves the room that a payload names, by its id, which is also the id of the room's channel.
 * @param key the key that the sender needs in the room; `any` if seeing the room is enough.
 * @param module the type of module that the room must have.
 * @throws {LiveError}
 */
export async function roomOf<P, S extends CommandSender>(
  ports: TargetPorts,
  context: CommandContext<P, S>,
  payload: unknown,
  key: PermissionKey | "any",
  module?: string,
): Promise<RoomContext<P, S>> {
  const { room: id, channel } = (payload ?? {}) as Record<string, unknown>;
  const room = await findRoom(ports, context, id ?? channel);
  if (!room) throw unknownRoom();
  requireInRoom(context, room.value, key, module);
  return { room, ...context };
}

/**
 * Resolves the channel that a payload names.
 * @param keys the keys that the sender needs in the channel's room.
 * @param direct the users who may run the command in a direct channel.
 * @throws {LiveError}
 */
export async function channelOf<P, S extends CommandSender>(
  ports: TargetPorts,
  context: CommandContext<P, S>,
  payload: unknown,
  keys: RoomKeys,
  direct: "members" | "all" | "none",
): Promise<ChannelContext<P, S>> {
  const { channel: id } = (payload ?? {}) as Record<string, unknown>;
  if (id === undefined || id === null || id === "") {
    throw new LiveError("chat.unknown");
  }
  const room = await findRoom(ports, context, id);
  if (room) {
    requireInRoom(context, room.value, keys, "chat.native");
    return { room, channel: room.value.id, direct: undefined, isUnused: false, ...context };
  }
  const { connection, me } = context;
  const channel =
    typeof id === "string" ? await ports.store.chat.channel(connection.world, id) : undefined;
  if (!channel?.direct || direct === "none") throw unknownRoom();
  if (direct === "members" && !channel.direct.includes(me.id)) {
    throw chatDenied();
  }
  return {
    channel: channel.id,
    room: undefined,
    direct: channel.direct,
    isUnused: channel.lastMessage === 0,
    ...context,
  };
}

/**
 * Resolves the room or the direct channel in which a call is held.
 * @param key the key that the sender needs: in the room, or on the world for a direct channel.
 * @throws {LiveError}
 */
async function callOf<P, S extends CommandSender>(
  ports: TargetPorts,
  context: CommandContext<P, S>,
  payload: unknown,
  key: PermissionKey,
): Promise<CallContext<P, S>> {
  const { room: id, channel = id } = (payload ?? {}) as Record<string, unknown>;
  const room = await findRoom(ports, context, channel);
  if (room) {
    requireInRoom(context, room.value, key, "call.native");
    return { room, channel: room.value.id, direct: undefined, ...context };
  }
  const { connection, me, may } = context;
  const found =
    typeof channel === "string" ? await ports.store.chat.channel(connection.world, channel) : null;
  if (!found?.direct) throw unknownRoom();
  if (!found.direct.includes(me.id) || !may(key)) throw chatDenied();
  return { channel: found.id, room: undefined, direct: found.direct, ...context };
}

async function findRoom(
  { store, onLost }: TargetPorts,
  { connection, login, world }: CommandContext<unknown, CommandSender>,
  id: unknown,
): Promise<Versioned<RoomValue> | undefined> {
  if (typeof id !== "string") return undefined;
  const room = await store.rooms.get(connection.world, id);
  const { view } = login;
  // Usually, the client already has the current rights.
  if (!room || connection.isCall || !view || view.state.holds(world, room)) return room;
  const rights = stringsInRoom(login, world.value, room.value);
  const losses = Losses.inRoom(view, room.value, rights);
  if (losses) {
    // This response lacks content that the lost rights protect, even if these rights are restored
    // soon.
    connection.lose(losses);
    onLost(connection);
  }
  return room;
}

function requireInRoom(
  { login, world }: CommandContext<unknown, CommandSender>,
  room: RoomValue,
  keys: RoomKeys,
  module: string | undefined,
): void {
  const may = (key: PermissionKey) => mayInRoom(login, key, world.value, room);
  // Don't reveal which modules a hidden room has.
  if (!may("room.view")) throw roomDenied();
  if (module !== undefined && !hasModule(room, module)) throw noSuchModule(module);
  if (keys === "any") return;
  if (!(typeof keys === "string" ? may(keys) : keys.every(may))) {
    throw roomDenied();
  }
}

/**
 * Checks that a room's module is active.
 * @throws {LiveError} `<module>.inactive`.
 */
function requireActive({ room }: RoomContext<unknown, CommandSender>, module: string): void {
  if (configOf(room.value, module).active === true) return;
  throw new LiveError(`${module as "question" | "poll"}.inactive`);
}
