import { type RoomValue, StoreError, type Versioned } from "../../../db/contract/store.js";
import type { Commands } from "../../../schemas/live/index.js";
import {
  bind,
  type CommandTable,
  type Context,
  type LiveModule,
  type RoomContext,
} from "../../module.js";
import { LiveError } from "../../rules/problems.js";
import { hasModule } from "../../rules/rights.js";
import { type InvitePorts, invites } from "./invites.js";
import type { RoomPorts } from "./ports.js";
import { settings } from "./settings.js";
import { visits } from "./visits.js";

/** Rooms: viewers and settings. */
export const rooms: CommandTable<
  Exclude<Extract<keyof Commands, `room.${string}`>, `room.invite.${string}`>,
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

/** A module with only the settings that the creator of a room may choose. */
function reduced(module: NewModule, key: string, fallback: unknown): NewModule {
  const config = (module.config ?? {}) as Record<string, unknown>;
  return { ...module, config: { [key]: config[key] ?? fallback } };
}

/**
 * The modules of a new room.
 * @throws {LiveError} if the caller may not create a room with them.
 */
function newModules({ may }: Context<RoomPorts>, modules: readonly NewModule[]): NewModule[] {
  const types = new Set(modules.map(({ type }) => type));
  const denied = new LiveError("room.invalid.denied", "You may not create a room of this type.");
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
  context: Context<RoomPorts>,
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
    throw new LiveError("room.invalid.name_taken", "This room name is already taken.");
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

/** Rooms: viewers and settings. */
export const roomModule = (ports: RoomPorts & InvitePorts) =>
  ({ bound: bind({ ...rooms, ...invites }, ports) }) satisfies LiveModule;
