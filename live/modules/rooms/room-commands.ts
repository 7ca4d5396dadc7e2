import {
  isGone,
  type RoomStore,
  type RoomValue,
  StoreError,
  type UserRecord,
  type UserStore,
  type Versioned,
} from "../../../db/contract/store.js";
import { type Clock, nextTurn } from "../../../db/runtime.js";
import { kindOf } from "../../../db/rules/user-rows.js";
import { type Commands, reactions } from "../../../schemas/live/index.js";
import { definedFields } from "../../../schemas/plain/given.js";
import { RoomChanges } from "../../../schemas/rooms.js";
import { compileValidator, scheduleFault } from "../../../schemas/validate.js";
import {
  bind,
  type CommandTable,
  type CommandContext,
  type LiveModule,
  type RoomContext,
} from "../../module.js";
import type { Arrivals } from "../../people/arrivals.js";
import type { Presence } from "../../people/presence.js";
import type { UserRateLimits } from "../../people/user-rate-limits.js";
import { anonymousLink, type InvitePorts } from "../../rules/anonymous-links.js";
import { invalidPayload, LiveError, rateLimited } from "../../rules/problems.js";
import { hasModule, isSilenced, mayInRoom, maySeeViewers } from "../../rules/rights.js";
import { publicUser, roomSettings } from "../../rules/shapes.js";
import type { Connection } from "../../socket/connection.js";
import { sizeOfProfile } from "../../rules/shared-reads.js";

/** Ports of the room commands. */
export interface RoomPorts {
  readonly clock: Clock;
  readonly store: { readonly rooms: RoomStore; readonly users: UserStore };
  readonly rates: UserRateLimits;
  readonly arrivals: Arrivals;
  readonly presence: Presence;
  /** Counts a reaction in a room. */
  readonly react: (world: string, room: string, user: string, emoji: string) => void;
  /** Sends a connection that has entered a room any additional data it needs. */
  readonly entered: (connection: Connection, room: string) => void;
}

/** Commands for room links that admit people without a name. */
export const invites: CommandTable<
  Extract<keyof Commands, `room.invite.${string}`>,
  InvitePorts
> = {
  "room.invite.anonymous.link": { inRoom: "room.invite", handler: link },
  "room.invite.anonymous.end": { inRoom: "room.update", handler: end },
};

/** The key `room.invite` holds only in rooms that admit people without a name. */
async function link(context: RoomContext<InvitePorts>) {
  return (await anonymousLink(context))!;
}

async function end({ ports, connection, room }: RoomContext<InvitePorts>) {
  await ports.store.invites.end(connection.world, room.value.id, connection.author);
  return {};
}

/** Number of rooms per read. */
const ROOMS_PER_READ = 500;

const validateChanges = compileValidator(RoomChanges);

/** Commands for the settings of existing rooms. */
export const settings: CommandTable<
  `room.config.${"get" | "patch" | "list" | "reorder"}` | "room.schedule",
  RoomPorts
> = {
  "room.config.get": { inRoom: "room.update", handler: getConfig },
  "room.config.patch": {
    large: true,
    inRoom: "room.update",
    invalid: "config.invalid",
    handler: patchConfig,
  },
  "room.config.list": { requires: "room.update", handler: listConfigs },
  "room.config.reorder": { large: true, requires: "room.update", handler: reorder },
  "room.schedule": { inRoom: "room.announce", handler: schedule },
};

/** Re-reads the room, because the context's copy may be older than the last write. */
async function getConfig({ ports, connection, room }: RoomContext<RoomPorts>) {
  const { rooms } = ports.store;
  const now = await rooms.get(connection.world, room.value.id);
  return roomSettings((now ?? room).value);
}

/** Converts a decimal string to a number. Numbers and undefined stay unchanged. */
const whole = (value: number | string | undefined): number | undefined =>
  value === undefined ? undefined : Number(value);

async function patchConfig(
  { ports, connection, room }: RoomContext<RoomPorts>,
  payload: Commands["room.config.patch"]["payload"],
) {
  const { trait_grants, module_config, name, description } = payload;
  const { picture, pretalx_id, force_join, schedule_data } = payload;
  const changes = definedFields({
    name,
    description: description === null ? "" : description,
    module_config,
    permission_config: trait_grants,
    sorting_priority: whole(payload.sorting_priority),
  });
  const extras = definedFields({
    picture: picture === "" ? null : picture,
    pretalx_id: whole(pretalx_id),
    force_join,
    schedule_data,
  });
  const invalid = validateChanges(changes);
  if (invalid) throw invalidPayload(invalid.faults, "config.invalid");
  boundSchedule(schedule_data, "config.invalid");
  const { rooms } = ports.store;
  const all = { ...changes, extras };
  const { id } = room.value;
  const by = connection.author;
  const { world } = connection;
  const updated = await rooms.update(world, id, all, undefined, by);
  return roomSettings(updated.value);
}

/** Returns all rooms in order, and whether the caller sees each of them. */
async function roomsFor(context: CommandContext<RoomPorts>) {
  const { ports, connection, login, world } = context;
  const rooms: { room: RoomValue; isSeen: boolean }[] = [];
  for (let page = 1; ; page++) {
    const selection = { page, pageSize: ROOMS_PER_READ };
    const found = await ports.store.rooms.all(connection.world, selection);
    for (const { value: room } of found) {
      const isSeen = mayInRoom(login, "room.view", world.value, room);
      rooms.push({ room, isSeen });
    }
    if (found.length < ROOMS_PER_READ) return rooms;
  }
}

async function listConfigs(context: CommandContext<RoomPorts>) {
  const rooms = await roomsFor(context);
  return rooms.flatMap(({ room, isSeen }) => (isSeen ? roomSettings(room) : []));
}

/** Reorders the rooms that the caller sees. All other rooms keep their positions. */
async function reorder(
  context: CommandContext<RoomPorts>,
  payload: Commands["room.config.reorder"]["payload"],
) {
  const { ports, connection } = context;
  const rooms = await roomsFor(context);
  const seen = new Set(rooms.flatMap(({ room, isSeen }) => (isSeen ? room.id : [])));
  const named = payload.filter((id) => seen.has(id as string)) as string[];
  const order = new Set([...named, ...seen]).values();
  const ids = rooms.map(({ room, isSeen }) => (isSeen ? order.next().value! : room.id));
  await ports.store.rooms.reorder(connection.world, ids, connection.author);
  return listConfigs(context);
}

/** The allowed keys of schedule data. Clients use no other keys. */
const SCHEDULE_KEYS = new Set(["session", "title", "computeSession"]);

/** Rejects oversized schedule data, because everyone who sees the room receives it. */
function boundSchedule(data: unknown, code?: "config.invalid"): void {
  const fault = scheduleFault(data);
  if (fault) throw invalidPayload({ schedule_data: [fault] }, code);
}

async function schedule(
  { ports, connection, room }: RoomContext<RoomPorts>,
  { schedule_data: data }: Commands["room.schedule"]["payload"],
) {
  const isKnown = data === null || Object.keys(data).every((key) => SCHEDULE_KEYS.has(key));
  if (!isKnown) {
    throw new LiveError("room.unknown_schedule_data");
  }
  boundSchedule(data);
  const { rooms } = ports.store;
  await rooms.schedule(connection.world, room.value.id, data, connection.author);
  return {};
}

/** Maximum number of rooms that a connection may be in. */
const MAX_ROOMS = 100;

/** Maximum number of listed viewers. */
const MAX_VIEWERS = 1000;

/** Maximum size of the viewer list, in characters of the viewers' profiles. */
const MAX_VIEWERS_SIZE = 1024 * 1024;

/** Number of users read before yielding to other work. */
const USERS_PER_SLICE = 50;

/** Commands for entering and leaving a room, and for reacting in it. */
export const visits: CommandTable<"room.enter" | "room.leave" | "room.react", RoomPorts> = {
  "room.enter": { inRoom: "room.view", handler: enter },
  "room.leave": { inRoom: "any", handler: leave },
  "room.react": { inRoom: "room.view", handler: react },
};

async function enter({ ports, connection, login, world, room, me, may }: RoomContext<RoomPorts>) {
  const { id } = room.value;
  const again = connection.rooms.has(id);
  if (connection.rooms.size >= MAX_ROOMS && !again) throw rateLimited();
  const isPushed = ports.rates.mayEnter(connection, me);
  // A user who is already in the room may re-enter even above the rate limit, but the re-entry is
  // not pushed to other users.
  if (!isPushed && !again) throw rateLimited();
  const watches = maySeeViewers(login, world.value, room.value);
  ports.arrivals.enterRoom(connection, id, watches, isPushed);
  ports.entered(connection, id);
  if (!watches) return {};
  const found = await viewersIn(ports, connection.world, id, me.id).catch((error: unknown) => {
    // A refused command must not change anything.
    if (!again) ports.arrivals.leaveRoom(connection, id);
    throw error;
  });
  const admin = may("user.manage");
  const now = ports.clock.date();
  return { viewers: found.map((user) => publicUser(user, world.value, now, admin)) };
}

/**
 * Returns as many of a room's users as fit into a response, in the order of their arrival.
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
  for (let i = 0; i < ids.length; i += USERS_PER_SLICE) {
    if (i > 0) await nextTurn(clock);
    for (const user of await store.users.getMany(world, ids.slice(i, i + USERS_PER_SLICE))) {
      if (isGone(user)) continue;
      if (kindOf(user) !== "person") continue;
      size += sizeOfProfile(user);
      if (size > MAX_VIEWERS_SIZE) return inOrder();
      viewers.set(user.id, user);
    }
  }
  return inOrder();
}

async function leave({ ports, connection, room }: RoomContext<RoomPorts>) {
  ports.arrivals.leaveRoom(connection, room.value.id);
  return {};
}

const known: ReadonlySet<string> = new Set(reactions);

async function react(
  { ports, connection, room, me }: RoomContext<RoomPorts>,
  { reaction }: Commands["room.react"]["payload"],
) {
  if (!known.has(reaction)) {
    throw new LiveError("room.unknown_reaction");
  }
  // Reactions above the rate limit are dropped silently, like reactions that are repeated too soon.
  if (!isSilenced(me) && ports.rates.mayMessage(connection)) {
    ports.react(connection.world, room.value.id, me.id, reaction);
  }
  return {};
}

/** Commands for visiting, creating, deleting and configuring rooms. */
export const rooms: CommandTable<
  Exclude<
    Extract<keyof Commands, `room.${string}`>,
    `room.invite.${string}` | `room.captions${string}`
  >,
  RoomPorts
> = {
  ...visits,
  "room.create": {
    large: true,
    requires: { any: ["room.create", "room.update"] },
    handler: create,
  },
  "room.delete": { inRoom: "room.delete", handler: remove },
  ...settings,
};

type NewModule = Record<string, unknown> & { type: string };

/** Returns a module whose config has only the setting that a room's creator may choose. */
function reduced(module: NewModule, key: string, fallback: unknown): NewModule {
  const config = (module.config ?? {}) as Record<string, unknown>;
  return { ...module, config: { [key]: config[key] ?? fallback } };
}

/**
 * Returns the modules of a new room.
 * @throws {LiveError} if the caller may not create a room with these modules.
 */
function newModules(
  { may }: CommandContext<RoomPorts>,
  modules: readonly NewModule[],
): NewModule[] {
  const types = new Set(modules.map(({ type }) => type));
  const denied = new LiveError("room.invalid.denied");
  if (types.has("chat.native") || types.has("livestream.native")) {
    if (!may("room.create")) throw denied;
    return modules.map((module) => {
      if (module.type === "chat.native") return reduced(module, "volatile", false);
      return module.type === "livestream.native" && !types.has("chat.native")
        ? reduced(module, "hls_url", "")
        : module;
    });
  }
  if (types.size === 0) {
    if (!may("room.update")) throw denied;
    return [];
  }
  if (types.size === 1 && types.has("call.bigbluebutton")) throw denied;
  throw new LiveError(
    "room.invalid.invalid",
    `Rooms with the modules ${[...types].join(", ").slice(0, 200)} cannot be created here.`,
  );
}

async function create(
  context: CommandContext<RoomPorts>,
  { name, description, modules = [] }: Commands["room.create"]["payload"],
) {
  const { ports, connection } = context;
  const draft = {
    name,
    description: description ?? "",
    module_config: newModules(context, modules),
  };
  let room: Versioned<RoomValue>;
  try {
    room = await ports.store.rooms.open(connection.world, draft, connection.author);
  } catch (error) {
    if (!(error instanceof StoreError && error.problem === "taken")) throw error;
    throw new LiveError("room.invalid.name_taken");
  }
  const { id } = room.value;
  return { room: id, channel: hasModule(room.value, "chat.native") ? id : null };
}

async function remove({ ports, connection, room }: RoomContext<RoomPorts>) {
  const { rooms } = ports.store;
  const { id } = room.value;
  await rooms.delete(connection.world, id, undefined, connection.author);
  return {};
}

/** Creates the module for rooms, including their viewers, settings and links. */
export const roomModule = (ports: RoomPorts & InvitePorts) =>
  ({ bound: bind({ ...rooms, ...invites }, ports) }) satisfies LiveModule;
