import type { Invitation } from "../../schemas/invitations.js";
import { ENDS_AFTER_EVENT_MS, traitsOfRole } from "../../schemas/plain/invitations.js";
import type { World, WorldConfig } from "../../schemas/worlds.js";
import type {
  InvitationName,
  InvitationRecord,
  InvitationStanding,
  InvitationTokenKind,
} from "../contract/invitation-store.js";
import type { MailProgress } from "../contract/mail-store.js";
import { foldCase } from "../../schemas/plain/folding.js";

// Decides whether a token that refers to an invitation is valid. The `jti` of such a token consists
// of the invitation's id, a dot, the letter of the token's kind, and the serial of that kind.

const LETTERS = { link: "l", recovery: "r", session: "s" } as const;

const KINDS = { l: "link", r: "recovery", s: "session" } as const;

const JTI = /^([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})\.([lrs])(\d{1,9})$/;

/** Returns the `jti` of an invitation's next token. */
export const jtiOf = (invitation: InvitationStanding, kind: InvitationTokenKind): string =>
  `${invitation.id}.${LETTERS[kind]}${invitation[kind]}`;

/**
 * Returns the invitation to which a `jti` refers, or undefined if there is none. Tokens from other
 * systems may have any `jti`.
 */
export function invitationIn(jti: unknown): InvitationName | undefined {
  const [, id, letter, serial] = (typeof jti === "string" && JTI.exec(jti)) || [];
  if (id === undefined) return undefined;
  return { id, kind: KINDS[letter as keyof typeof KINDS], serial: Number(serial) };
}

/**
 * Returns the event's end in milliseconds since 1970, or undefined if it has none. Old rows may
 * contain any value.
 */
export function endOfEvent(config: WorldConfig): number | undefined {
  const { event } = config as { event?: { ends_at?: unknown } | null };
  const end = typeof event?.ends_at === "string" ? Date.parse(event.ends_at) : NaN;
  return Number.isNaN(end) ? undefined : end;
}

/** Returns when an invitation ends, in milliseconds since 1970; null if it never ends. */
export function endOf(
  { ends, expires_at }: Pick<InvitationStanding, "ends" | "expires_at">,
  config: WorldConfig,
): number | null {
  if (ends === "time") return expires_at;
  const end = ends === "event" ? endOfEvent(config) : undefined;
  return end === undefined ? null : end + ENDS_AFTER_EVENT_MS;
}

/** What an invitation's token currently grants. */
export interface InvitationGrant {
  readonly traits: readonly string[];
  /** When the grant ends, in milliseconds since 1970; null for never. */
  readonly ends: number | null;
}

/**
 * Returns what a token that refers to an invitation grants, or undefined if the token is no longer
 * valid: the invitation was deleted, was revoked or belongs to another person, or a newer token of
 * the same kind has been issued.
 * @param uid the token's `uid`.
 */
export function grantOf(
  invitation: InvitationStanding | undefined,
  { kind, serial }: InvitationName,
  uid: string | undefined,
  config: WorldConfig,
): InvitationGrant | undefined {
  if (!invitation || invitation.revoked_at !== null) return undefined;
  if (invitation.uid !== uid || invitation[kind] !== serial) return undefined;
  return { traits: traitsOfRole(invitation.role), ends: endOf(invitation, config) };
}

const time = (ms: number | null) => (ms === null ? null : new Date(ms).toISOString());

/**
 * Returns an invitation in the form that callers receive.
 * @param report the status of the last mail to the person.
 */
export function shownInvitation(
  { ends, expires_at, ...it }: InvitationRecord,
  { config }: World,
  report: MailProgress | undefined,
): Invitation {
  const end = endOf({ ends, expires_at }, config);
  const state =
    it.revoked_at !== null
      ? "revoked"
      : end !== null && end <= Date.now()
        ? "expired"
        : it.used_at === null
          ? "invited"
          : "used";
  return {
    id: it.id,
    name: it.name,
    email: it.email,
    language: it.language,
    role: it.role,
    uid: it.uid,
    user_id: it.user_id,
    state,
    created_at: time(it.created_at)!,
    expires_at: time(end),
    used_at: time(it.used_at),
    last_seen_at: time(it.last_seen_at),
    revoked_at: time(it.revoked_at),
    mail: report === undefined ? null : { ...report, at: time(report.at)! },
  };
}

/** The fields that can change without affecting what tokens grant. */
const HARMLESS: ReadonlySet<string> = new Set(["name", "email", "language", "used_at"]);

/** Whether an entry about an invitation may change what its tokens grant. */
export const changesGrant = ({
  type,
  fields,
}: {
  type: string;
  fields?: readonly string[] | undefined;
}): boolean =>
  type !== "invitation.updated" ||
  fields === undefined ||
  !fields.every((field) => HARMLESS.has(field));

/** The columns of {@link InvitationStanding}. */
export const STANDING_COLUMNS =
  "i.id, i.uid, i.role, i.ends, i.expires_at, i.used_at, i.revoked_at, i.link, i.recovery, i.session";

/** The columns of {@link InvitationRecord}, with the person's user as `u`. */
export const INVITATION_COLUMNS = `${STANDING_COLUMNS}, i.number, i.name, i.email, i.language, i.created_at,
  i.revision, u.last_seen AS last_seen_at, u.id AS user_id`;

/** Returns the columns by which invitations are found and searched. */
export const foldedInvitation = ({ name, email }: { name?: unknown; email?: unknown }) => {
  const address = typeof email === "string" ? foldCase(email) : null;
  const folded = typeof name === "string" ? foldCase(name) : "";
  return { email_folded: address, folded: `${folded}\n${address ?? ""}` };
};

/** Whether an invitation still admits its person. */
export const stands = (
  invitation: InvitationRecord | undefined,
  { config }: World,
  now: number,
): invitation is InvitationRecord => {
  if (!invitation || invitation.revoked_at !== null) return false;
  const ends = endOf(invitation, config);
  return ends === null || ends > now;
};
