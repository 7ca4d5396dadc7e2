import type { PermissionKey } from "../schemas/plain/permissions.js";
import type { Audience, Other, Role } from "./cast.js";
import type { Stage } from "./stage.js";

/** Part of a value: fields that are not named may be anything. A function gets the stage. */
export type Like = object | ((it: Stage) => object);

/** A push, and its audiences. Each entry is one frame for each of them. */
export type Push = readonly [name: string, to: string, like?: Like];

/** The requirement of a command, in the words of the server's table. */
type Requirement =
  | { requires: PermissionKey | "login" }
  | { inRoom: PermissionKey | "any" }
  | { inChannel: PermissionKey | "any" };

interface Happening {
  /** The role of the caller; a member by default. */
  as?: Role;
  /** The steps that the caller has taken before; by default all, and both connections entered. */
  before?: { enters?: "neither" | "second"; joined?: false };
  /**
   * All pushes to each audience, in order. An audience that is not named gets
   * nothing.
   */
  pushes?: readonly Push[];
  /** Some pushes come later than the push of a change of the world. */
  late?: true;
  /** The audiences whose connections end. */
  ends?: string;
  /** What the row needs that not each server has. It is skipped elsewhere. */
  needs?: "deleteWorld";
  /** Changes without a push to an audience, and the reason. */
  unaware?: Partial<Record<Audience, { of: string; because: string }>>;
}

/** A command, and everything that follows from it. */
export type CommandRow = Happening &
  Requirement & {
    /** Makes the things that the command names, before any client connects. @returns the payload. */
    payload?: (it: Stage) => unknown;
    /** The answer. A list has just these entries. */
    answer?: Like;
    /** The code of audiences that are refused although they hold the right, or by another code. */
    refused?: Partial<Record<Other, string>>;
    /** Audiences that may give the command without the right, such as the members of a direct channel. */
    allowed?: string;
  };

/** Something that happens otherwise than by a command. */
export type EventRow = Happening & {
  prepare?: (it: Stage) => unknown;
  act: (it: Stage) => Promise<unknown>;
};

export type Row = CommandRow | EventRow;

/**
 * Rows by name. The row of a command begins with the name of the command: `chat.send`, or
 * `chat.send: an edit`.
 */
export type Rows = Readonly<Record<string, Row>>;

/** The command of a row. */
export const commandOf = (name: string): string => name.split(":", 1)[0]!;

/**
 * The code with which an audience is refused; undefined if it is not.
 * @param holds whether it holds a key.
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
