import {
  isCount,
  isId,
  isListOf,
  isNumber,
  isRecord,
  isTupleOf,
} from "../../schemas/plain/shapes.js";

/** A step in who is where. */
export type Step =
  | { do: "open"; connection: string; user: string; at: number }
  | { do: "close"; connection: string }
  | { do: "enter"; connection: string; room: string }
  | { do: "leave"; connection: string; room: string }
  /** It listens to the channel of a room, or does so no longer. */
  | { do: "subscribe" | "unsubscribe"; connection: string; channel: string }
  /** It makes its user a member of the channel for as long as it listens. */
  | { do: "attend"; connection: string; channel: string }
  /** No connection of its user does so any longer. */
  | ({ do: "absent"; connection: string } & Absence);

/** The end of a membership that lasts for as long as a user listens. */
export interface Absence {
  readonly channel: string;
  /** Whether the user is a member who stays now. */
  readonly silent: boolean;
}

/** Where a connection is, as its process tells others. */
export interface Stay {
  readonly user: string;
  readonly at: number;
  readonly rooms: readonly string[];
  /** The channels of which it makes its user a member. */
  readonly attending: readonly string[];
  /** The room that it entered again last, and how often it has entered one again. */
  readonly again?: readonly [room: string, count: number];
}

/** Whether something is a {@link Stay}. */
export const isStay = isRecord(
  {
    user: isId,
    at: isNumber,
    rooms: isListOf(isId),
    attending: isListOf(isId),
  },
  { again: isTupleOf(isId, isCount) },
);
