import type { RoomValue, UserRecord, Versioned } from "../db/contract/store.js";
import {
  type CommandName,
  type Commands,
  commands as schemas,
} from "../schemas/live/index.js";
import type { Faults } from "../schemas/errors.js";
import { liveModules } from "../schemas/live/errors.js";
import type { PermissionKey } from "../schemas/plain/permissions.js";
import { countFault } from "../schemas/bounds.js";
import { MAX_VALUES } from "../schemas/plain/limits.js";
import { compileValidator, MAX_DEPTH } from "../schemas/validate.js";
import type { World } from "../schemas/worlds.js";
import type { Connection, Login } from "./socket/connection.js";
import type { Sendable } from "./rules/encoding.js";
import { applyModeration, reasonToEnd, throwOut } from "./people/endings.js";
import type { Live } from "./live.js";
import { invalidPayload, LiveError, worldDenied } from "./rules/problems.js";
import { mayInWorld } from "./rules/rights.js";
import {
  channelOf,
  requireActive,
  type RoomKeys,
  roomOf,
} from "./rules/targets.js";

/** Who gives a command, and where. Everything is as it is at this moment. */
export interface Context {
  readonly live: Live;
  readonly connection: Connection;
  readonly login: Login;
  readonly world: Versioned<World>;
  /** The user who logged in. */
  readonly me: UserRecord;
  /** Whether the user may do on the world what a key stands for. */
  readonly may: (key: PermissionKey) => boolean;
}

/** A context with the room that the payload names. */
export interface RoomContext extends Context {
  readonly room: Versioned<RoomValue>;
}

/** A context with the channel that the payload names. */
export interface ChannelContext extends Context {
  /** The id of the channel, which is that of its room. */
  readonly channel: string;
  /** The room of the channel; undefined if it is a direct channel. */
  readonly room: Versioned<RoomValue> | undefined;
  /** The ids of all members of a direct channel; undefined for a room. */
  readonly direct: readonly string[] | undefined;
  /** Whether it is a direct channel without a message, which may be hidden from its members. */
  readonly isUnused: boolean;
}

type Handler<N extends CommandName, C> = (
  context: C,
  payload: Commands[N]["payload"],
) => Promise<Sendable<Commands[N]["result"]>>;

interface Common {
  /** The code for a payload that does not match its schema. */
  invalid?: "config.invalid";
  /** Fields whose number may be larger than a double holds exactly. */
  rounded?: readonly string[];
  /** Whether the payload may hold any number of values: only users who manage rooms send it. */
  large?: boolean;
}

/** What a command on the world asks for: a key, any of several keys, or only the login. */
type Requirement = PermissionKey | { any: readonly PermissionKey[] } | "login";

/** A command on the world. */
interface WorldCommand<N extends CommandName> extends Common {
  requires: Requirement;
  handler: Handler<N, Context>;
}

/** A command on a room. It asks for a key in that room, or with `any` only for `room.view`. */
interface RoomCommand<N extends CommandName> extends Common {
  inRoom: PermissionKey | "any";
  /** The type of the module that the room must have. */
  module?: string;
  /** Whether the config of that module has to say that it is active. */
  active?: boolean;
  handler: Handler<N, RoomContext>;
}

/**
 * A command on a channel. In a room it asks for a key there, for each of several
 * keys, or only that the room has a chat.
 */
interface ChannelCommand<N extends CommandName> extends Common {
  inChannel: RoomKeys;
  /** Who may give it on a direct channel. */
  direct: "members" | "anybody" | "nobody";
  handler: Handler<N, ChannelContext>;
}

/** Any command, where what its handler takes and gives makes no difference. */
type AnyCommand =
  | WorldCommand<"user.ban">
  | RoomCommand<"room.leave">
  | ChannelCommand<"chat.leave">;

/** What a command asks for, and what it does. */
export type Command<N extends CommandName> =
  WorldCommand<N> | RoomCommand<N> | ChannelCommand<N>;

/** The commands of a module, by name. */
export type Module<N extends CommandName> = { readonly [K in N]: Command<K> };

/** What each command needs, in words for people. */
export const requirementsOf = (
  table: Module<CommandName>,
): Record<CommandName, string> =>
  Object.fromEntries(
    Object.entries(table).map(([name, command]) => [
      name,
      requirementOf(command),
    ]),
  ) as Record<CommandName, string>;

function requirementOf(declared: object): string {
  const command = declared as AnyCommand;
  if ("inRoom" in command) return inWords(command.inRoom);
  if ("inChannel" in command) {
    const { inChannel, direct } = command;
    const inRoom = inWords(inChannel);
    return direct === "members"
      ? `${inRoom}; membership in a direct channel`
      : inRoom;
  }
  const { requires } = command;
  return typeof requires === "string" ? requires : requires.any.join(" or ");
}

const inWords = (keys: RoomKeys): string =>
  keys === "any" ? "login" : `${[keys].flat().join(" and ")} on the room`;

/** The modules that clients know. Commands of another one are `protocol.unknown_command`. */
const known: ReadonlySet<string> = new Set(liveModules);

const unknownCommand = () => new LiveError("protocol.unknown_command");

/** A command as it came. */
export interface Order {
  readonly action: unknown;
  readonly payload: unknown;
  /** What parsing has altered in the payload; undefined if it is as it was written. */
  readonly losses: () => Faults | undefined;
}

type Run = (
  live: Live,
  connection: Connection,
  login: Login,
  order: Order,
) => Promise<unknown>;

/**
 * Makes the function that carries out commands. It throws at once if there is no such
 * command, and otherwise rejects.
 * @param table what each command asks for and does.
 * @throws {Error} if a command declares no permission or has no schema.
 */
export function dispatcher(table: Module<CommandName>) {
  const runs = new Map<string, Run>();
  for (const [name, command] of Object.entries(table)) {
    if (!Object.hasOwn(schemas, name)) {
      throw new Error(`The command ${name} has no schema.`);
    }
    runs.set(name, runOf(name as CommandName, command));
  }
  return (
    live: Live,
    connection: Connection,
    login: Login,
    order: Order,
  ): Promise<unknown> => {
    const { action } = order;
    if (typeof action !== "string") throw unknownCommand();
    const run = runs.get(action);
    if (run) return run(live, connection, login, order);
    const [module = ""] = action.split(".", 1);
    throw known.has(module)
      ? new LiveError(`${module}.unsupported_command`)
      : unknownCommand();
  };
}

/** Checks in the order of the protocol: room, module, permission, payload, and the command's own. */
function runOf(name: CommandName, declared: object): Run {
  // What the handlers take and give differs; the schemas see to it.
  const command = declared as AnyCommand;
  const required =
    "inRoom" in command
      ? command.inRoom
      : "inChannel" in command
        ? command.inChannel
        : command.requires;
  if (required === undefined) {
    throw new Error(`The command ${name} declares no permission.`);
  }
  const validate = compileValidator(schemas[name].payload);
  const { rounded = [], large = false } = command;
  const takesObject = schemas[name].payload.type === "object";
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
  return async (live, connection, login, order) => {
    const { payload } = order;
    const context = await contextOf(live, connection, login);
    if ("requires" in command) {
      requireInWorld(context, command.requires);
      check(order);
      return command.handler(context, payload as never);
    }
    if (takesObject && !isPlainObject(payload)) check(order);
    if ("inRoom" in command) {
      const { inRoom, module, active } = command;
      const target = await roomOf(context, payload, inRoom, module);
      if (active) requireActive(target, module!);
      check(order);
      return command.handler(target, payload as never);
    }
    const { inChannel, direct } = command;
    const target = await channelOf(context, payload, inChannel, direct);
    check(order);
    return command.handler(target, payload as never);
  };
}

/** How many values a payload may hold before anything looks at each of them. */
const MOST_VALUES = 5000;

/** Names the field with too many values, or all together if there are too many of them. */
function crowdedIn(payload: unknown): Faults | undefined {
  const fault = countFault(payload, MOST_VALUES, MAX_DEPTH);
  if (!fault) return undefined;
  for (const [field, value] of Object.entries(payload as object)) {
    const own = countFault(value, MAX_VALUES, MAX_DEPTH - 1);
    if (own) return { [field.slice(0, MAX_NAME)]: [own] };
  }
  return { non_field_errors: [fault] };
}

/** How much of the name of a field an error shows. */
const MAX_NAME = 200;

/** Faults but for those of some fields; undefined if no others are left. */
function without(
  faults: Faults | undefined,
  fields: readonly string[],
): Faults | undefined {
  if (!faults || fields.length === 0) return faults;
  const left = Object.entries(faults).filter(
    ([field]) => !fields.includes(field),
  );
  return left.length > 0 ? Object.fromEntries(left) : undefined;
}

const isPlainObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/**
 * Who gives a command, as the store has it now.
 * @throws {LiveError} if the login does not hold any more; the connection then ends soon.
 */
async function contextOf(
  live: Live,
  connection: Connection,
  login: Login,
): Promise<Context> {
  const { worlds, users } = live.store;
  const world = await worlds.get(connection.world);
  const ended = reasonToEnd(login.identity, world, live.clock.date());
  if (ended) throw throwOut(connection, ended);
  const me = await users.get(connection.world, login.user);
  applyModeration(live, connection, me, live.states.of(world!));
  if (!me || connection.ended) throw worldDenied();
  const may = (key: PermissionKey) => mayInWorld(login, key, world!.value);
  return { live, connection, login, world: world!, me, may };
}

function requireInWorld({ may }: Context, requires: Requirement): void {
  if (requires === "login") return;
  const keys = typeof requires === "string" ? [requires] : requires.any;
  if (!keys.some(may)) throw worldDenied();
}
