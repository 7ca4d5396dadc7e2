import type { Author } from "../db/contract/author.js";
import type { RoomValue, UserRecord, Versioned } from "../db/contract/store.js";
import type { PermissionKey } from "../schemas/plain/permissions.js";
import type { World } from "../schemas/worlds.js";
import type { Connection } from "./socket/connection.js";
import type { Login } from "./socket/login-state.js";

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
