import type { LookAlike, UserRecord, UserStore } from "../../db/contract/store.js";
import { isOfTeam, teamTraits } from "../../schemas/plain/guests.js";
import { hasBlockedName } from "../../schemas/plain/moderation/blocked-words.js";
import { nameShapeOf } from "../../schemas/plain/look-alikes.js";
import type { World } from "../../schemas/worlds.js";
import { LiveError } from "../rules/problems.js";

/** A person who chooses a display name. */
interface Namer {
  readonly identity: { readonly traits: ReadonlySet<string> };
  /** The new profile. */
  readonly profile: Record<string, unknown>;
  /** The person, if the world already knows them. */
  readonly me?: Pick<UserRecord, "id" | "token_id" | "profile">;
}

/**
 * Checks that a display name contains no blocked word. Everyone may keep their current name.
 * @throws {LiveError} `chat.blocked_word`.
 */
export function requireAllowedName(
  { config }: Pick<World, "config">,
  { profile, me }: { profile: Namer["profile"]; me: Namer["me"] | undefined },
): void {
  if (profile.display_name === me?.profile?.display_name) return;
  if (hasBlockedName(config, profile)) throw new LiveError("chat.blocked_word");
}

/**
 * Checks that a display name does not resemble that of a team member. Team members may choose any
 * name, and everyone may keep their current name.
 * @throws {LiveError} `profile.name_taken`.
 */
export async function requireFreeName(
  users: Pick<UserStore, "lookAlikes">,
  { id, config }: World,
  { identity, profile, me }: Namer,
): Promise<void> {
  const { display_name: name } = profile;
  if (typeof name !== "string" || name === me?.profile?.display_name) return;
  const shape = nameShapeOf(name);
  if (shape === "" || isOfTeam(identity.traits)) return;
  const team = teamTraits(config);
  const others = await users.lookAlikes(id, shape, team);
  const isMe = (other: LookAlike) =>
    me !== undefined && (other.id === me.id || (other.uid !== null && other.uid === me.token_id));
  if (others.some((other) => !isMe(other) && other.traits.some((it) => team.includes(it)))) {
    throw new LiveError("profile.name_taken", undefined, {
      "profile.display_name": ["Belongs to a member of the team."],
    });
  }
}
