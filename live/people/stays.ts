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

/**
 * The steps that lead a connection from one stay to another.
 * @param before undefined for a connection that is not known yet.
 */
export function stepsBetween(
  connection: string,
  before: Stay | undefined,
  { user, at, rooms, attending, again }: Stay,
): Step[] {
  const steps: Step[] = [];
  if (!before) steps.push({ do: "open", connection, user, at });
  const [left, entered] = changes(before?.rooms, rooms);
  for (const room of left) steps.push({ do: "leave", connection, room });
  for (const room of entered) steps.push({ do: "enter", connection, room });
  if (again && before && again[1] !== (before.again?.[1] ?? 0)) {
    const [room] = again;
    if (before.rooms.includes(room) && rooms.includes(room)) {
      steps.push({ do: "enter", connection, room });
    }
  }
  const [quit, attended] = changes(before?.attending, attending);
  for (const channel of quit) {
    steps.push({ do: "unsubscribe", connection, channel });
  }
  for (const channel of attended) {
    steps.push({ do: "subscribe", connection, channel });
    steps.push({ do: "attend", connection, channel });
  }
  return steps;
}

/** What is not in a list any more, and what is new there. */
const changes = (
  before: readonly string[] = [],
  after: readonly string[],
): [gone: string[], added: string[]] => [
  before.filter((item) => !after.includes(item)),
  after.filter((item) => !before.includes(item)),
];
