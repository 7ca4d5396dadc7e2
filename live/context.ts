import type { RoomValue, UserRecord, Versioned } from "../db/contract/store.js";
import type { PermissionKey } from "../schemas/plain/permissions.js";
import type { World } from "../schemas/worlds.js";
import type { Connection, Login } from "./socket/connection.js";

/** The rights that a command needs in a room: a key, each of several keys, or `any` if seeing the room is enough. */
export type RoomKeys = PermissionKey | readonly PermissionKey[] | "any";

/**
 * Who gives a command, and where. Everything is as it is at this moment.
 * @typeParam P the ports of the module that has the command.
 */
export interface Context<P = unknown> {
  readonly ports: P;
  readonly connection: Connection;
  readonly login: Login;
  readonly world: Versioned<World>;
  /** The user who logged in. */
  readonly me: UserRecord;
  /** Whether the user may do on the world what a key stands for. */
  readonly may: (key: PermissionKey) => boolean;
}

/** A context with the room that the payload names. */
export interface RoomContext<P = unknown> extends Context<P> {
  readonly room: Versioned<RoomValue>;
}

/** A context with the channel that the payload names. */
export interface ChannelContext<P = unknown> extends Context<P> {
  /** The id of the channel, which is that of its room. */
  readonly channel: string;
  /** The room of the channel; undefined if it is a direct channel. */
  readonly room: Versioned<RoomValue> | undefined;
  /** The ids of all members of a direct channel; undefined for a room. */
  readonly direct: readonly string[] | undefined;
  /** Whether it is a direct channel without a message, which may be hidden from its members. */
  readonly isUnused: boolean;
}
