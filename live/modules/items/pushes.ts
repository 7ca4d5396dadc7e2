import type { Entry, Vote } from "../../../db/log/entries.js";
import type { PermissionKey } from "../../../schemas/plain/permissions.js";
import type { FrameFor, Pushes } from "../../delivery/push.js";
import { pushFrame } from "../../socket/frame.js";

// What pushes about questions and polls have in common.

/** A change of a question or a poll. */
type ItemEntry = Extract<
  Entry,
  { type: `question.${string}` | `poll.${string}` }
>;

type Kind = "question" | "poll";

/** The users who voted, and the connections over which they did. */
export const authorsOf = ({ votes }: { votes: readonly Vote[] }): string[] =>
  votes.flatMap(({ user, connection }) =>
    connection === undefined ? [user] : [user, connection],
  );

/** A frame about a room for the people who have a key there. */
function forHolders(
  key: PermissionKey,
  room: string,
  name: string,
  data: object = {},
): FrameFor {
  const frame = pushFrame(name, { room, ...data });
  return (_, view) => (view.may(key, room) ? frame : undefined);
}

/** Pushes that an item is gone. @param key of the people who saw it. */
export function pushDeleted(
  pushes: Pushes,
  { world, room }: ItemEntry,
  kind: Kind,
  id: string,
  key: PermissionKey,
): void {
  const frameFor = forHolders(key, room, `${kind}.deleted`, { id });
  pushes.push({ world, room }, (send) => send(frameFor));
}

/**
 * Pushes which item of a room is pinned.
 * @param id what the entry says was pinned; null for none.
 * @param find gives what the store has as pinned, and the key of the people who see it.
 */
export function pushPinned(
  pushes: Pushes,
  { world, room }: ItemEntry,
  kind: Kind,
  id: string | null,
  find: () => Promise<{ id: string; key: PermissionKey } | undefined>,
): void {
  pushes.push({ world, room }, async (send) => {
    if (id === null) {
      await send(forHolders(`${kind}.read`, room, `${kind}.unpinned`));
    }
    // Another pin may have followed. The one that the store has is the last.
    const present = await find();
    if (!present || (id ?? present.id) !== present.id) return;
    const data = { id: present.id };
    await send(forHolders(present.key, room, `${kind}.pinned`, data));
  });
}
