import type { LiveState, PublicUser } from "../../client/index.js";
import { nameOf } from "../lib/avatars.js";
import { isUnread } from "./rooms.js";

/** A conversation of a few people. */
export interface Direct {
  readonly id: string;
  /** The other members. */
  readonly others: readonly PublicUser[];
  /** How many messages are new. */
  readonly count: number;
  readonly isUnread: boolean;
}

/** The conversations of the user, the latest first. */
export function directsOf(state: LiveState): Direct[] {
  const { channels, user, notificationCounts, unreadPointers } = state;
  return channels
    .flatMap(({ id, members }) => {
      if (!members) return [];
      const count = notificationCounts[id] ?? 0;
      return {
        id,
        others: members.filter((member) => member.id !== user.id),
        count,
        isUnread: count > 0 || isUnread(state, id),
      };
    })
    .sort((a, b) => (unreadPointers[b.id] ?? 0) - (unreadPointers[a.id] ?? 0));
}

/**
 * The title of a conversation: the names of the others.
 * @param known users met since; their names may be newer.
 * @param nobody stands for users without a name.
 */
export const directName = (
  { others }: Direct,
  known: ReadonlyMap<string, PublicUser>,
  nobody: string,
): string =>
  others.map((it) => nameOf(known.get(it.id) ?? it) ?? nobody).join(", ") ||
  nobody;

/** How many direct messages are new, in all conversations. */
export const directCount = (state: LiveState): number =>
  directsOf(state).reduce((sum, { count }) => sum + count, 0);
