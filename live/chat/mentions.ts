import type { Delivery } from "../../db/chat.js";
import type { ChannelContext } from "../commands.js";

/** As many mentions as this notify nobody. */
const TOO_MANY = 50;

const MENTION =
  /@([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})/gi;

/** The distinct ids in lower case that the body of a text mentions; none if they are 50 or more. */
export function mentionsIn({
  type,
  body,
}: Readonly<Record<string, unknown>>): string[] {
  if (type !== "text" || typeof body !== "string") return [];
  const ids = new Set<string>();
  for (const [, id] of body.matchAll(MENTION)) {
    ids.add(id!.toLowerCase());
    if (ids.size >= TOO_MANY) return [];
  }
  return [...ids];
}

/** Whom a message mentions. */
export interface Mentions {
  readonly mentioned: string[];
  readonly notifiesAll: boolean;
  /** Tells the sender who does not learn of the message. */
  warn(delivery: Delivery): void;
}

/** Finds out whom a message notifies. */
export async function mentionsOf(
  _context: ChannelContext,
  _content: Record<string, unknown>,
  _replaces: number | undefined,
): Promise<Mentions> {
  return { mentioned: [], notifiesAll: false, warn() {} };
}
