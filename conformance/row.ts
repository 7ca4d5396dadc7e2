import type { CallEngineName } from "../schemas/plain/calls.js";
import type { PermissionKey } from "../schemas/plain/permissions.js";
import type { Audience, Other, Role } from "./cast.js";
import type { Stage } from "./stage.js";

/**
 * An expected value, of which only the named fields are compared. A function receives the stage and
 * returns the value.
 */
export type Like = object | ((it: Stage) => object);

/** A push and its audiences. Each audience receives one frame per entry in the row's list. */
export type Push = readonly [name: string, to: string, like?: Like];

/** A command's requirement, named as in the server's command table. */
type Requirement =
  | { requires: PermissionKey | "login" }
  | { inRoom: PermissionKey | "any" }
  | { inChannel: PermissionKey | "any" };

interface Happening {
  /** The caller's role; a member by default. */
  as?: Role;
  /**
   * Deviations from the default setup, in which the caller has joined the channel and both of the
   * caller's connections have entered the room.
   */
  before?: { enters?: "neither" | "second"; joined?: false };
  /** All pushes to each audience, in order. Audiences that are not named receive nothing. */
  pushes?: readonly Push[];
  /** Set if some of the pushes arrive later than a push about a simultaneous change to the world. */
  late?: true;
  /** The audiences whose connections the server closes. */
  ends?: string;
  /** An optional feature that the row requires. The row is skipped on servers without it. */
  needs?: "deleteWorld" | "enterCall" | CallEngineName;
  /** The part of the state whose changes are not pushed to an audience, with the reason. */
  unaware?: Partial<Record<Audience, { of: string; because: string }>>;
}

/** A command and all of its effects. */
export type CommandRow = Happening &
  Requirement & {
    /**
     * Creates the objects that the command refers to, before any client connects.
     * @returns the payload.
     */
    payload?: (it: Stage) => unknown;
    /** The expected result. Lists must match exactly. */
    answer?: Like;
    /**
     * Error codes for audiences that are refused although they hold the right, or that are refused
     * with an unusual code.
     */
    refused?: Partial<Record<Other, string>>;
    /** Audiences that may run the command without the right, such as members of a direct channel. */
    allowed?: string;
  };

/** An event that no command causes. */
export type EventRow = Happening & {
  prepare?: (it: Stage) => unknown;
  act: (it: Stage) => Promise<unknown>;
};

export type Row = CommandRow | EventRow;

/** Rows by name. A command's row is named after the command: `chat.send`, or `chat.send: an edit`. */
export type Rows = Readonly<Record<string, Row>>;

/** Returns the command that a row tests. */
export const commandOf = (name: string): string => name.split(":", 1)[0]!;

/**
 * Returns the error code with which the server refuses an audience, or undefined if the audience is
 * not refused.
 * @param holds whether the audience holds a key.
 */
export function refusalOf(
  row: CommandRow,
  name: Other,
  holds: (where: "world" | "room", key: string) => boolean,
): string | undefined {
  const own = row.refused?.[name];
  if (own !== undefined) return own === "" ? undefined : own;
  if (name === "stranger" || name === "banned") {
    return "protocol.unauthenticated";
  }
  if ("requires" in row) {
    const { requires } = row;
    const may = name === "foreigner" || requires === "login" || holds("world", requires);
    return may ? undefined : "auth.denied";
  }
  if (name === "foreigner") return "room.unknown";
  const key = "inRoom" in row ? row.inRoom : row.inChannel;
  const may = holds("room", key === "any" ? "room.view" : key);
  return may ? undefined : "protocol.denied";
}
