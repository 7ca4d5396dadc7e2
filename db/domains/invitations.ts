import { randomUUID } from "node:crypto";
import type { PermissionConfig } from "../../schemas/plain/permissions.js";
import { isHostRole, MAX_INVITATIONS, traitsOfRole } from "../../schemas/plain/invitations.js";
import { changedFields, changesBetween, type FieldChange } from "../contract/audit-store.js";
import type {
  InvitationInput,
  InvitationRecord,
  InvitationSelection,
  InvitationStanding,
  InvitationTokenKind,
  InvitationUpdate,
} from "../contract/invitation-store.js";
import { StoreError } from "../contract/store.js";
import { enteredUser } from "../log/changes.js";
import {
  endOf,
  foldedInvitation,
  INVITATION_COLUMNS,
  STANDING_COLUMNS,
} from "../rules/invitation-rows.js";
import { absent, changed, denied } from "../rules/preconditions.js";
import { foldCase } from "../../schemas/plain/folding.js";
import { parse, sameValues } from "../rules/rows.js";
import type { WorldConfig } from "../../schemas/worlds.js";
import { domain, type DomainLog, type Reading, type Sql } from "./domain.js";
import { userKeyOf } from "./users/user-reads.js";

const FROM = `FROM invitations i LEFT JOIN users u ON u.world_id = i.world_id
  AND foyer_digest(u.token_id) = foyer_digest(i.uid) AND u.token_id = i.uid`;

const GET = `SELECT ${INVITATION_COLUMNS} ${FROM} WHERE i.world_id = $1 AND i.id = $2`;
const BY_UID = `SELECT ${INVITATION_COLUMNS} ${FROM} WHERE i.world_id = $1 AND i.uid = $2`;
const BY_IDS = `SELECT ${INVITATION_COLUMNS} ${FROM}
  WHERE i.world_id = $1 AND i.id = ANY ($2) ORDER BY i.number`;
const BY_EMAIL = `SELECT ${INVITATION_COLUMNS} ${FROM}
  WHERE i.world_id = $1 AND i.email_folded = $2 ORDER BY i.number`;
const STANDING = `SELECT ${STANDING_COLUMNS} FROM invitations i WHERE i.world_id = $1 AND i.id = $2`;
const TAKEN = "SELECT uid FROM invitations WHERE world_id = $1 AND uid = ANY ($2)";
const COUNT = "SELECT count(*) FROM invitations WHERE world_id = $1";
const RULES = "SELECT permission_config FROM worlds WHERE id = $1";
const CONFIG = "SELECT config FROM worlds WHERE id = $1";

/** The state of an invitation at `$5`, in an event that ends its invitations at `$6`. */
const STATE = `CASE WHEN i.revoked_at IS NOT NULL THEN 'revoked'
  WHEN (i.ends = 'time' AND i.expires_at <= CAST($5 AS BIGINT))
    OR (i.ends = 'event' AND CAST($6 AS BIGINT) <= CAST($5 AS BIGINT)) THEN 'expired'
  WHEN i.used_at IS NOT NULL THEN 'used' ELSE 'invited' END`;

const SELECTED = `i.world_id = $1
  AND (CAST($2 AS TEXT) = '' OR replace(i.folded, $2, '') <> i.folded)
  AND (CAST($3 AS TEXT) = '' OR i.role = $3) AND (CAST($4 AS TEXT) = '' OR ${STATE} = $4)`;

const COUNT_SELECTED = `SELECT count(*) FROM invitations i WHERE ${SELECTED}`;

const LIST = `SELECT ${INVITATION_COLUMNS} ${FROM}
  WHERE ${SELECTED} AND i.number > CAST($7 AS BIGINT) ORDER BY i.number
  LIMIT CAST($8 AS BIGINT) OFFSET CAST($9 AS BIGINT)`;

const UPDATE = `UPDATE invitations SET name = $3, email = $4, role = $5, ends = $6,
    expires_at = $7, revoked_at = $8, link = $9, recovery = $10, session = $11,
    email_folded = $12, folded = $13, language = $14, revision = revision + 1
  WHERE world_id = $1 AND id = $2`;

const TOUCH = `UPDATE invitations SET used_at = $3
  WHERE world_id = $1 AND id = $2 AND used_at IS NULL`;

const END_CODES = "DELETE FROM login_codes WHERE world_id = $1 AND invitation_id = $2";

const DELETE = "DELETE FROM invitations WHERE world_id = $1 AND id = $2";

const SET_TRAITS = `UPDATE users SET traits = $3
  WHERE world_id = $1 AND foyer_digest(token_id) = foyer_digest($2) AND token_id = $2
    AND traits IS NOT NULL AND traits <> $3
  RETURNING id`;

const UNSUBSCRIBE = `DELETE FROM push_subscriptions WHERE world_id = $1 AND user_id =
  (SELECT id FROM users WHERE world_id = $1 AND foyer_digest(token_id) = foyer_digest($2)
    AND token_id = $2)`;

/** An invitation that ends with the event. */
const EVENT = { ends: "event", expires_at: null } as const;

/** The size of a cached {@link InvitationStanding}, in characters. */
const STANDING_SIZE = 500;

const reads = (sql: Reading) => {
  // The standing shares the cache of users: an entry about the invitation, or the erasure of any
  // user, removes it.
  const standings = sql.cached<InvitationStanding>("users", 4 * 1024 * 1024);

  return {
    list: (world: string, selection: InvitationSelection) => {
      const { q = "", role = "", state = "", now, page, pageSize } = selection;
      const { after: [number = -1] = [] } = selection;
      return sql.snapshot(async (sql) => {
        const config = parse<WorldConfig>((await sql.value<string>(CONFIG, [world])) ?? "{}");
        const params = [world, foldCase(q), role, state, now, endOf(EVENT, config)];
        const count = Number(await sql.value(COUNT_SELECTED, params));
        const invitations = await sql.all<InvitationRecord>(LIST, [
          ...params,
          number,
          pageSize,
          (page - 1) * pageSize,
        ]);
        return { count, invitations };
      });
    },

    get: (world: string, id: string) => sql.one<InvitationRecord>(GET, [world, id]),

    getMany: (world: string, ids: readonly string[]) =>
      sql.all<InvitationRecord>(BY_IDS, [world, ids]),

    async standing(world: string, id: string): Promise<InvitationStanding | undefined> {
      const key = userKeyOf(world, id);
      const load = async () => {
        const row = (await sql.one<InvitationStanding>(STANDING, [world, id]))!;
        const before = standings.last(key);
        // What follows from the standing is used for as long as it is the same object.
        const isSame = before && row && sameValues(before, row);
        return { value: isSame ? before : row, size: STANDING_SIZE };
      };
      const found: InvitationStanding | undefined = await standings.read(world, key, load, {
        scope: key,
      });
      return found;
    },

    byEmail: (world: string, email: string) =>
      sql.all<InvitationRecord>(BY_EMAIL, [world, foldCase(email)]),

    byUser: (world: string, uid: string) => sql.one<InvitationRecord>(BY_UID, [world, uid]),

    takenUids: (world: string, uids: readonly string[]) => sql.column<string>(TAKEN, [world, uids]),
  };
};

const PERSONAL = ["name", "email", "language", "uid"];

const OPEN = ["role", "expires_at", "revoked_at"];

/** Returns the fields that differ. Of personal data, the audit has only the names of the fields. */
function changesOf(
  before: InvitationRecord | null,
  after: InvitationRecord | null,
  ...more: readonly string[]
): FieldChange[] {
  const personal = changesBetween(before, after, PERSONAL).map(({ field }) => field);
  return [...changesBetween(before, after, OPEN), ...changedFields(...personal, ...more)];
}

/** The name of the field in the log that stands for the serial of each kind of token. */
const SERIAL_FIELDS = { link: "link", recovery: "recovery", session: "sessions" } as const;

const writes = (sql: Sql, log: DomainLog) => {
  /** @throws {StoreError} `absent`. */
  async function rulesOf(world: string): Promise<PermissionConfig> {
    const rules = await sql.value<string>(RULES, [world]);
    if (rules === undefined) throw absent("world");
    return parse<PermissionConfig>(rules);
  }

  /** @throws {StoreError} `absent` or `changed`. */
  async function expect(
    world: string,
    id: string,
    revisions?: readonly number[],
  ): Promise<InvitationRecord> {
    const row = await sql.one<InvitationRecord>(GET, [world, id]);
    if (!row) throw absent("invitation");
    if (revisions && !revisions.includes(row.revision)) throw changed();
    return row;
  }

  async function store(
    world: string,
    before: InvitationRecord,
    after: InvitationRecord,
    ...more: readonly string[]
  ): Promise<InvitationRecord> {
    const { id, name, email, role, ends, expires_at, revoked_at, link, recovery, session } = after;
    const { language } = after;
    const changes = changesOf(before, after, ...more);
    log.append(world, { type: "invitation.updated", invitation: id, changes });
    if (changes.length === 0 && before.ends === ends) return before;
    const { email_folded, folded } = foldedInvitation(after);
    const serials = [link, recovery, session];
    const values = [name, email, role, ends, expires_at, revoked_at, ...serials];
    await sql.run(UPDATE, [world, id, ...values, email_folded, folded, language]);
    if (changesBetween(before, after, PERSONAL).length > 0) log.erased("invitations");
    return { ...after, revision: before.revision + 1 };
  }

  /** Gives the person's user the traits that the person now has, so that nothing acts on old ones. */
  async function setTraits(world: string, uid: string, traits: readonly string[]): Promise<void> {
    const user = await sql.value<string>(SET_TRAITS, [world, uid, JSON.stringify(traits)]);
    if (user !== undefined) log.append(world, enteredUser(user, false, true));
  }

  /** Ends what a person receives without a token, after the person's invitation has ended. */
  async function lockOut(world: string, uid: string): Promise<void> {
    await setTraits(world, uid, []);
    await unsubscribe(world, uid);
  }

  async function unsubscribe(world: string, uid: string): Promise<void> {
    if ((await sql.run(UNSUBSCRIBE, [world, uid])) > 0) log.erased("push_subscriptions");
  }

  return {
    async create(world: string, drafts: readonly InvitationInput[]): Promise<InvitationRecord[]> {
      const rules = await rulesOf(world);
      if (Number(await sql.value(COUNT, [world])) + drafts.length > MAX_INVITATIONS) {
        const message = `A world may have at most ${MAX_INVITATIONS} invitations.`;
        throw new StoreError("quota", message, "invitations");
      }
      const now = Date.now();
      const rows = drafts.map(
        ({ name = "", email = null, language = null, role, uid, expires_at }) => ({
          world_id: world,
          id: randomUUID(),
          name,
          email,
          language,
          role,
          uid: uid ?? randomUUID(),
          created_at: now,
          ...endsWith(expires_at, role, rules),
          used_at: null,
          revoked_at: null,
          link: 1,
          recovery: 1,
          session: 1,
          ...foldedInvitation({ name, email }),
          revision: 1,
        }),
      );
      const uids = new Set(rows.map(({ uid }) => uid));
      const taken = await sql.column<string>(TAKEN, [world, [...uids]]);
      if (taken.length > 0 || uids.size < rows.length) {
        throw new StoreError("taken", "The person has an invitation already.", "uid");
      }
      if (rows.length === 0) return [];
      await sql.insert("invitations", rows);
      const ids = rows.map(({ id }) => id);
      for (const invitation of ids) log.append(world, { type: "invitation.created", invitation });
      return sql.all<InvitationRecord>(BY_IDS, [world, ids]);
    },

    async update(
      world: string,
      id: string,
      { name, email, language, role, expires_at, revoked }: InvitationUpdate,
      revisions?: readonly number[],
    ): Promise<InvitationRecord> {
      const before = await expect(world, id, revisions);
      const rules = await rulesOf(world);
      const after: InvitationRecord = {
        ...before,
        name: name ?? before.name,
        email: email === undefined ? before.email : email,
        language: language === undefined ? before.language : language,
        role: role ?? before.role,
        ...(expires_at !== undefined ||
        (role !== undefined && role !== before.role && before.ends !== "time")
          ? endsWith(expires_at, role ?? before.role, rules)
          : {}),
        ...(revoked === false && { revoked_at: null }),
        ...(revoked === true &&
          before.revoked_at === null && {
            revoked_at: Date.now(),
            // No token of before stands, even if the invitation is restored.
            link: before.link + 1,
            recovery: before.recovery + 1,
            session: before.session + 1,
          }),
      };
      const stored = await store(world, before, after);
      // Links by e-mail went to the address of before, and do not outlive a revocation.
      if (after.revoked_at !== before.revoked_at || after.email !== before.email) {
        await sql.run(END_CODES, [world, id]);
      }
      if (after.revoked_at !== null) await lockOut(world, after.uid);
      else if (after.role !== before.role) {
        await setTraits(world, after.uid, traitsOfRole(after.role));
      }
      return stored;
    },

    async remove(world: string, id: string, revisions?: readonly number[]): Promise<void> {
      const before = await expect(world, id, revisions);
      log.append(world, {
        type: "invitation.deleted",
        invitation: id,
        changes: changesOf(before, null),
      });
      await sql.run(DELETE, [world, id]);
      log.erased("invitations", "mails");
      await lockOut(world, before.uid);
    },

    async renew(
      world: string,
      id: string,
      kind: InvitationTokenKind,
      revisions?: readonly number[],
    ): Promise<InvitationRecord> {
      const before = await expect(world, id, revisions);
      if (before.revoked_at !== null) throw denied("The invitation is revoked.");
      // The devices that a lost link signed in may receive nothing more.
      await unsubscribe(world, before.uid);
      const after = { ...before, [kind]: before[kind] + 1 };
      return store(world, before, after, SERIAL_FIELDS[kind]);
    },

    async touch(world: string, id: string, now: number): Promise<void> {
      if ((await sql.run(TOUCH, [world, id, now])) === 0) return;
      const changes = changedFields("used_at");
      log.append(world, { type: "invitation.updated", invitation: id, changes });
    },
  };
};

/** Returns when an invitation ends: at the given time, or as its role suggests if none is given. */
function endsWith(
  expires_at: number | null | undefined,
  role: string,
  rules: PermissionConfig,
): Pick<InvitationRecord, "ends" | "expires_at"> {
  if (typeof expires_at === "number") return { ends: "time", expires_at };
  const isLasting = expires_at === null || isHostRole(role, rules);
  return { ends: isLasting ? "never" : "event", expires_at: null };
}

export const invitations = domain({
  reads,
  writes,
  parameters: { create: 2, update: 4, remove: 3, renew: 4, touch: 3 },
});
