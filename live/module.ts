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

/** The requirement of a command on the world: a key, any of several keys, or only the login. */
export type Requirement = PermissionKey | { any: readonly PermissionKey[] } | "login";

/** A command on the world. */
interface WorldCommand<N extends CommandName, P, S extends Sender> extends Common {
  requires: Requirement;
  handler: Handler<N, Context<P, S>>;
}

/** A command on a room. It asks for a key in that room, or with `any` only for `room.view`. */
interface RoomCommand<N extends CommandName, P, S extends Sender> extends Common {
  inRoom: PermissionKey | "any";
  /** The type of the module that the room must have. */
  module?: string;
  /** Whether the config of that module has to say that it is active. */
  active?: boolean;
  handler: Handler<N, RoomContext<P, S>>;
}

/**
 * A command on a channel. In a room it asks for a key there, for each of several
 * keys, or only that the room has a chat.
 */
interface ChannelCommand<N extends CommandName, P, S extends Sender> extends Common {
  inChannel: RoomKeys;
  /** The users who may give it on a direct channel. */
  direct: "members" | "all" | "none";
  handler: Handler<N, ChannelContext<P, S>>;
}

/** The requirements and the handler of a command. */
export type Command<N extends CommandName, P, S extends Sender = Connection> =
  WorldCommand<N, P, S> | RoomCommand<N, P, S> | ChannelCommand<N, P, S>;

/**
 * The commands of a module, by name.
 * @typeParam P the ports that their handlers find in their context.
 * @typeParam S the senders that their handlers take: only connections, or also calls over HTTP.
 */
export type CommandTable<N extends CommandName, P, S extends Sender = Connection> = {
  readonly [K in N]: Command<K, P, S>;
};

/** A command with any payload and result. */
export type AnyCommand =
  | WorldCommand<"user.ban", unknown, Sender>
  | RoomCommand<"room.leave", unknown, Sender>
  | ChannelCommand<"chat.leave", unknown, Sender>;

/** Commands with the ports that their handlers get. */
export interface BoundCommands {
  readonly commands: object;
  readonly ports: unknown;
}

/** Gives commands their ports. */
export const bind = <N extends CommandName, P>(
  commands: CommandTable<N, P>,
  ports: P,
): BoundCommands => ({ commands, ports });

/** The events of a type. */
export type EventOf<T extends AnyEvent["type"]> = Of<AnyEvent, T>;

type Of<E, T> = E extends { type: infer U } ? (T extends U ? E : never) : never;

/** The handlers of a part of the live layer, by the type of an entry or of another event. */
export type EntryHandlers = {
  readonly [T in AnyEvent["type"]]?: (event: EventOf<T>) => void;
};

/**
 * Reads a module's part of the answer to a login, after the pushes have begun.
 * @returns a function that gives the fields. Values that do not depend on the view are read
 *   before there is one, so that the view is as fresh as possible.
 */
export type Entrance = (
  connection: Connection,
  user: UserRecord,
) => Promise<(view: View) => object | Promise<object>>;

/** A part of the product on the websocket, made by a function of its ports. */
export interface LiveModule {
  readonly bound?: BoundCommands;
  /** At its place in the order of `order.ts`. */
  readonly onEntry?: EntryHandlers;
  /** A connection has logged in to a world, and gets pushes from now on. */
  readonly enter?: (world: string) => Promise<void>;
  /** The module's part of the answer to a login. */
  readonly entrance?: Entrance;
  /** A connection has left its world. It is no longer in the hub. */
  readonly leave?: (connection: Connection) => void;
  /** This process has no connection in a world, or not yet: what it has read of it grows old. */
  readonly forget?: (world: string) => void;
  /** Stops all timers. Nothing is pushed any more. */
  readonly stop?: () => void;
  /** Stores the state that is only in memory. */
  readonly close?: () => Promise<void>;
}

/** The rights that a command needs in a room: a key, each of several keys, or `any` if seeing the room is enough. */
export type RoomKeys = PermissionKey | readonly PermissionKey[] | "any";

/** A call over HTTP that carries out a command. It gets no pushes. */
export interface Call {
  readonly isCall: true;
  readonly world: string;
  readonly author: Author;
  readonly login: Login;
  /** The versions of which the record to change must have one; undefined for any. */
  readonly expected: readonly string[] | undefined;
}

/** The sender of a command. */
export type Sender = Connection | Call;

/**
 * The caller of a command, and its place, in their present state.
 * @typeParam P the ports of the module that has the command.
 * @typeParam S the senders of the command: only connections, or also calls over HTTP.
 */
export interface Context<P = unknown, S extends Sender = Connection> {
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
export interface RoomContext<P = unknown, S extends Sender = Connection> extends Context<P, S> {
  readonly room: Versioned<RoomValue>;
}

/** A context with the channel that the payload names. */
export interface ChannelContext<P = unknown, S extends Sender = Connection> extends Context<P, S> {
  /** The id of the channel, which is also the id of its room. */
  readonly channel: string;
  /** The room of the channel; undefined if it is a direct channel. */
  readonly room: Versioned<RoomValue> | undefined;
  /** The ids of all members of a direct channel; undefined for a room. */
  readonly direct: readonly string[] | undefined;
  /** Whether it is a direct channel without a message, which may be hidden from its members. */
  readonly isUnused: boolean;
}
