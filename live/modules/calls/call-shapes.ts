import type { CallState, RaisedHand } from "../../../db/contract/call-store.js";
import type { UserStore } from "../../../db/contract/store.js";
import type { SentCall } from "../../../schemas/live/index.js";
import type { World } from "../../../schemas/worlds.js";
import { publicUser } from "../../rules/shapes.js";

/** Maximum number of users listed as speakers. Users who joined first take precedence. */
const MAX_SPEAKERS = 50;

/** Returns the ids of the users who are publishing, except screens. Returns at most {@link MAX_SPEAKERS} ids. */
function speakersIn({ devices }: CallState): string[] {
  const speakers = new Set<string>();
  for (const { user, hidden, joined, microphone, camera, screen } of devices) {
    if (hidden || joined === null || !(microphone || camera || screen)) continue;
    if (speakers.size < MAX_SPEAKERS) speakers.add(user);
  }
  return [...speakers];
}

/**
 * Returns a call in the form that everyone who sees the call's room receives.
 * @param now in milliseconds since 1970.
 */
export async function sentCall(users: UserStore, world: World, state: CallState, now: number) {
  const { call } = state;
  const ids = speakersIn(state);
  const found = ids.length > 0 ? await users.getMany(world.id, ids) : [];
  const byId = new Map(found.map((user) => [user.id, user]));
  const speakers = ids.flatMap((id) => {
    const user = byId.get(id);
    return user && !user.deleted ? [publicUser(user, world, now)] : [];
  });
  return {
    people: call?.people ?? 0,
    speakers,
    started: call ? new Date(call.started).toISOString() : null,
  };
}

/**
 * Returns the raised hands as a user may see them: moderators see who raised a hand, and everyone
 * else sees only the number of hands and their own position.
 */
export function handsFor(
  hands: readonly RaisedHand[],
  user: string,
  isModerator: boolean,
): Pick<SentCall, "hands" | "position"> {
  const index = hands.findIndex((hand) => hand.user === user);
  return {
    hands: isModerator
      ? hands.map(({ user, raised }) => ({ user, raised: new Date(raised).toISOString() }))
      : hands.length,
    ...(index >= 0 && { position: index + 1 }),
  };
}
