import type { InviteStore } from "../db/contract/invites.js";
import type { RoomStore, UserStore, WorldStore } from "../db/contract/store.js";
import type { Clock } from "../db/log/clock.js";
import { type CommandName, commands as schemas } from "../schemas/live/index.js";
import type { Faults } from "../schemas/errors.js";
import { liveModules } from "../schemas/live/errors.js";
import type { PermissionKey } from "../schemas/plain/permissions.js";
import { compileValidator, countFault, MAX_DEPTH } from "../schemas/validate.js";
import { MAX_VALUES } from "../schemas/plain/limits.js";
import type { Context, RoomKeys, Sender } from "./context.js";
import type { AnyCommand, BoundCommands, CommandTable, Requirement } from "./module.js";
import { invalidPayload, LiveError, roomDenied, worldDenied } from "./rules/problems.js";
import { isInReach, mayInWorld } from "./rules/rights.js";
import { requireInvite } from "./people/scoped.js";
import type { WorldStates } from "./rules/world-states.js";
import type { Connection } from "./socket/connection.js";
import type { Login } from "./socket/login-state.js";
import type { Dispatch, Order } from "./socket/messages.js";
import { applyModeration, reasonToEnd, type RightsFrame, throwOut } from "./socket/endings.js";
import { channelOf, requireActive, roomOf, type TargetPorts } from "./targets.js";

/** The permission of each command, in words for people. */
export const requirementsOf = (
  table: CommandTable<CommandName, never>,
): Record<CommandName, string> =>
  Object.fromEntries(
    Object.entries(table).map(([name, command]) => [name, requirementOf(command)]),
  ) as Record<CommandName, string>;

function requirementOf(declared: object): string {
  const command = declared as AnyCommand;
  if ("inRoom" in command) return inWords(command.inRoom);
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

/** The modules that clients know. Commands of another one are `protocol.unknown_command`. */
const known: ReadonlySet<string> = new Set(liveModules);

const unknownCommand = () => new LiveError("protocol.unknown_command");

/** The ports for the checks of every command. */
export interface DispatchPorts {
  readonly clock: Clock;
  readonly store: {
    readonly worlds: WorldStore;
    readonly users: UserStore;
    readonly rooms: RoomStore;
    readonly invites: InviteStore;
  };
  readonly states: WorldStates;
  /** The push that brings a connection its new rights; undefined for none. */
  readonly rightsFrame: RightsFrame;
}

/** Checks a command, and carries it out. */
type Run = (context: AnyContext, order: Order) => Promise<unknown>;

/** The sender of a command, and the ports of its module. */
type AnyContext = Context<unknown, Sender>;

/** A command with the ports of its module. */
export interface Runnable {
  readonly run: Run;
  readonly ports: unknown;
}

/**
 * Binds the commands of all modules.
 * @param modules the requirements and the handler of each command, with its ports.
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

/** Makes the function that carries out the commands of connections. */
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

/** Checks in the order of the protocol: room, module, permission, payload, and the command's own. */
function runOf(ports: TargetPorts, name: CommandName, declared: object): Run {
  // The handlers have different payloads and results; the schemas check both.
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
    if (takesObject && !isPlainObject(payload)) check(order);
    if ("inRoom" in command) {
      const { inRoom, module, active } = command;
      const target = await roomOf(ports, context, payload, inRoom, module);
      if (active) requireActive(target, module!);
      check(order);
      return command.handler(target, payload as never);
    }
    const { inChannel, direct } = command;
    const target = await channelOf(ports, context, payload, inChannel, direct);
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

/** The faults outside some fields; undefined if there are none. */
function without(faults: Faults | undefined, fields: readonly string[]): Faults | undefined {
  if (!faults || fields.length === 0) return faults;
  const left = Object.entries(faults).filter(([field]) => !fields.includes(field));
  return left.length > 0 ? Object.fromEntries(left) : undefined;
}

const isPlainObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/**
 * The caller of a command, as the store has them now.
 * @throws {LiveError} if the login does not hold any more; the connection then ends soon.
 */
async function contextOf(
  { store, clock, states, rightsFrame }: DispatchPorts,
  ports: unknown,
  connection: Connection,
  login: Login,
): Promise<Context> {
  const { worlds, users } = store;
  const world = await worlds.get(connection.world);
  const { identity, scope } = login;
  const ended = reasonToEnd(identity, world, clock.date(), scope);
  if (ended) throw throwOut(connection, ended);
  if (scope) await requireInvite({ clock, store }, connection.world, scope);
  const me = await users.get(connection.world, login.user);
  // An entry about the user that is not applied yet may be a ban: without a state, the
  // values read here cause no frame.
  const state = connection.isDoubted ? undefined : states.of(world!);
  applyModeration(connection, me, state, rightsFrame);
  if (!me || connection.ended) throw worldDenied();
  const may = (key: PermissionKey) => mayInWorld(login, key, world!.value);
  return { ports, connection, login, world: world!, me, may };
}

function requireInWorld({ may }: AnyContext, requires: Requirement): void {
  if (requires === "login") return;
  const keys = typeof requires === "string" ? [requires] : requires.any;
  if (!keys.some(may)) throw worldDenied();
}
