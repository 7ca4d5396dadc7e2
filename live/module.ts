import type { Author } from "../db/contract/author.js";
import type { AnyEvent } from "../db/contract/events.js";
import type { RoomValue, UserRecord, Versioned } from "../db/contract/store.js";
import type { CommandName, Commands } from "../schemas/live/index.js";
import type { PermissionKey } from "../schemas/plain/permissions.js";
import type { World } from "../schemas/worlds.js";
import type { Sendable } from "./rules/encoding.js";
import type { View } from "./rules/world-state.js";
import type { Connection } from "./socket/connection.js";
import type { Login } from "./socket/login-state.js";

/** The call engines, as modules see them. */
export type {
  BigBlueButton,
  CallEngine,
  CallEngines,
  CallParticipant,
  CallSource,
  CallTicket,
  EngineEvent,
  Jitsi,
  MeetingUser,
} from "../plugins/calls/engine.js";
export { EngineUnavailable } from "../plugins/calls/engine.js";

type Handler<N extends CommandName, C> = (
  context: C,
  payload: Commands[N]["payload"],
) => Promise<Sendable<Commands[N]["result"]>>;

interface Common {
  /** The error code for a payload that does not match its schema. */
  invalid?: "config.invalid";
  /** Fields whose numbers may be too large for a double to hold exactly. */
  rounded?: readonly string[];
  /** Whether the payload may hold any number of values. Only for commands whose senders manage rooms or the world. */
  large?: boolean;
}

/** The requirement of a world command: a key, any of several keys, or just a login. */
export type CommandRequirement = PermissionKey | { any: readonly PermissionKey[] } | "login";

/** A command on the world. */
interface WorldCommand<N extends CommandName, P, S extends CommandSender> extends Common {
  requires: CommandRequirement;
  handler: Handler<N, CommandContext<P, S>>;
}

/** A command on a room. It requires a key in that room; `any` requires only `room.view`. */
interface RoomCommand<N extends CommandName, P, S extends CommandSender> extends Common {
  inRoom: PermissionKey | "any";
  /** The type of module that the room must have. */
  module?: string;
  /** Whether the module must be active, according to its config. */
  active?: boolean;
  handler: Handler<N, RoomContext<P, S>>;
}

/**
 * A command on a channel. In a room, the command requires a key, all of several keys, or only that
 * the room has a chat.
 */
interface ChannelCommand<N extends CommandName, P, S extends CommandSender> extends Common {
  inChannel: RoomKeys;
  /** The users who may run the command in a direct channel. */
  direct: "members" | "all" | "none";
  handler: Handler<N, ChannelContext<P, S>>;
}

/**
 * A command on a call. In a room, the command requires a key; in a direct channel, it requires
 * membership and the key on the world.
 */
interface CallCommand<N extends CommandName, P, S extends CommandSender> extends Common {
  inCall: PermissionKey;
  handler: Handler<N, CallContext<P, S>>;
}

/** The requirements and the handler of a command. */
export type CommandDefinition<N extends CommandName, P, S extends CommandSender = Connection> =
  WorldCommand<N, P, S> | RoomCommand<N, P, S> | ChannelCommand<N, P, S> | CallCommand<N, P, S>;

/**
 * A module's commands, by name.
 * @typeParam P the ports passed to the handlers in the context.
 * @typeParam S the senders that the handlers accept: only connections, or HTTP calls as well.
 */
export type CommandTable<N extends CommandName, P, S extends CommandSender = Connection> = {
  readonly [K in N]: CommandDefinition<K, P, S>;
};

/** A command with any payload and result. */
export type AnyCommand =
  | WorldCommand<"user.ban", unknown, CommandSender>
  | RoomCommand<"room.leave", unknown, CommandSender>
  | ChannelCommand<"chat.leave", unknown, CommandSender>
  | CallCommand<"call.join", unknown, CommandSender>;

/** Commands with the ports for their handlers. */
export interface BoundCommands {
  readonly commands: object;
  readonly ports: unknown;
}

/** Binds commands to their ports. */
export const bind = <N extends CommandName, P>(
  commands: CommandTable<N, P>,
  ports: P,
): BoundCommands => ({ commands, ports });

/** The events of one type. */
export type EventOf<T extends AnyEvent["type"]> = Of<AnyEvent, T>;

type Of<E, T> = E extends { type: infer U } ? (T extends U ? E : never) : never;

/** The handlers of one part of the live layer, by event type. */
export type EntryHandlers = {
  readonly [T in AnyEvent["type"]]?: (event: EventOf<T>) => void;
};

/**
 * Reads a module's part of a login response, after pushes have started.
 * @returns a function that computes the fields. Values that don't depend on the view are read
 * before that function is called, so that the view is as fresh as possible.
 */
export type Entrance = (
  connection: Connection,
  user: UserRecord,
) => Promise<(view: View) => object | Promise<object>>;

/** A product feature that is available over the websocket, created from its ports. */
export interface LiveModule {
  readonly bound?: BoundCommands;
  /** Handles entries, at the position listed in `order.ts`. */
  readonly onEntry?: EntryHandlers;
  /** Called when a connection has logged in to a world and starts receiving pushes. */
  readonly enter?: (world: string) => Promise<void>;
  /** The module's part of a login response. */
  readonly entrance?: Entrance;
  /** Called when a connection has left its world and is no longer in the hub. */
  readonly leave?: (connection: Connection) => void;
  /**
   * Called when this process has no connection in a world, or does not have any yet. The module
   * must then drop cached data about the world, because the data would become stale.
   */
  readonly forget?: (world: string) => void;
  /** Stops all timers. Nothing is pushed after that. */
  readonly stop?: () => void;
  /** Persists state that is held only in memory. */
  readonly close?: () => Promise<void>;
}

/**
 * The rights that a command requires in a room: a key, all of several keys, or `any` if seeing the
 * room is enough.
 */
export type RoomKeys = PermissionKey | readonly PermissionKey[] | "any";

/** An HTTP call that runs a command. It receives no pushes. */
export interface Call {
  readonly isCall: true;
  readonly world: string;
  readonly author: Author;
  readonly login: Login;
  /** The accepted versions of the record to change; undefined if any version is accepted. */
  readonly expected: readonly string[] | undefined;
}

/** The sender of a command. */
export type CommandSender = Connection | Call;

/**
 * The current state of a command's caller and world.
 * @typeParam P the ports of the module that has the command.
 * @typeParam S the senders of the command: only connections, or HTTP calls as well.
 */
export interface CommandContext<P = unknown, S extends CommandSender = Connection> {
  readonly ports: P;
  readonly connection: S;
  readonly login: Login;
  readonly world: Versioned<World>;
  /** The user who logged in. */
  readonly me: UserRecord;
  /** Whether the user has a key on the world. */
  readonly may: (key: PermissionKey) => boolean;
}

/** A context with the room that the payload names. */
export interface RoomContext<
  P = unknown,
  S extends CommandSender = Connection,
> extends CommandContext<P, S> {
  readonly room: Versioned<RoomValue>;
}

/** A context with the room or the direct channel in which the call is held. */
export interface CallContext<
  P = unknown,
  S extends CommandSender = Connection,
> extends CommandContext<P, S> {
  /** The id of the room or of the direct channel. */
  readonly channel: string;
  /** Undefined for a direct channel. */
  readonly room: Versioned<RoomValue> | undefined;
  /** The ids of all members of a direct channel; undefined for a room. */
  readonly direct: readonly string[] | undefined;
}

/** A context with the channel that the payload names. */
export interface ChannelContext<
  P = unknown,
  S extends CommandSender = Connection,
> extends CommandContext<P, S> {
  /** The id of the channel. For a room's channel, it is also the id of the room. */
  readonly channel: string;
  /** The channel's room; undefined for a direct channel. */
  readonly room: Versioned<RoomValue> | undefined;
  /** The ids of all members of a direct channel; undefined for a room. */
  readonly direct: readonly string[] | undefined;
  /** Whether the channel is a direct channel without messages. Such a channel may be hidden from its members. */
  readonly isUnused: boolean;
}
