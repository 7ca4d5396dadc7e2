import {
  isId,
  isListOf,
  isNumber,
  isRecord,
} from "../../schemas/plain/shapes.js";

/** A change of the places of users. */
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
  /** Whether the user is a lasting member now. */
  readonly silent: boolean;
}

/** A connection, as its process describes it to other processes with the same user. */
export interface Stay {
  readonly user: string;
  readonly at: number;
  /** The channels in which it makes its user a member. */
  readonly attending: readonly string[];
}

/** Whether something is a {@link Stay}. */
export const isStay = isRecord({
  user: isId,
  at: isNumber,
  attending: isListOf(isId),
});

/**
 * The steps that lead a connection from one stay to another.
 * @param before undefined for a connection that is not known yet.
 */
export function stepsBetween(
  connection: string,
  before: Stay | undefined,
  { user, at, attending }: Stay,
): Step[] {
  const steps: Step[] = [];
  if (!before) steps.push({ do: "open", connection, user, at });
  for (const channel of before?.attending ?? []) {
    if (attending.includes(channel)) continue;
    steps.push({ do: "unsubscribe", connection, channel });
  }
  for (const channel of attending) {
    if (before?.attending.includes(channel)) continue;
    steps.push({ do: "subscribe", connection, channel });
    steps.push({ do: "attend", connection, channel });
  }
  return steps;
}
