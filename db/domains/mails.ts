import { randomUUID } from "node:crypto";
import {
  KEPT_MS,
  type LinkRequest,
  MAX_CLOCK_DIFFERENCE_MS,
  type Mail,
  type MailCounts,
  type MailDraft,
  type MailKind,
  type MailOutcome,
  type MailProgress,
  type RedeemedCode,
  REQUEST_LIMITS,
  REQUEST_WINDOW_MS,
} from "../contract/mail-store.js";
import { noted } from "../rules/acts.js";
import { absent } from "../rules/preconditions.js";
import { domain, type DomainLog, type Reading, type Sql } from "./domain.js";

const COLUMNS = `world_id AS world, id, act, kind, invitation_id AS invitation, recipient, detail,
  due_at, state, attempts, error, holder, changed_at`;

const EXISTS = "EXISTS (SELECT 1 FROM worlds WHERE id = world_id)";
const DUE = `SELECT ${COLUMNS} FROM mails WHERE state = 'waiting'
  AND due_at <= CAST($1 AS BIGINT) AND ${EXISTS}
  ORDER BY priority, due_at, number LIMIT CAST($2 AS BIGINT)`;
const CLAIMED = `SELECT ${COLUMNS} FROM mails WHERE state = 'sending' AND ${EXISTS} ORDER BY number`;
const GET = `SELECT ${COLUMNS} FROM mails WHERE world_id = $1 AND id = $2`;
const LATEST = `SELECT invitation_id AS invitation, state, changed_at AS at, error FROM mails
  WHERE number IN (SELECT max(number) FROM mails
    WHERE world_id = $1 AND invitation_id = ANY ($2) GROUP BY invitation_id)`;
const REPORT = `SELECT state, changed_at AS at, error FROM mails
  WHERE world_id = $1 AND act = $2`;
const COUNTS = `SELECT count(*) FILTER (WHERE state IN ('waiting', 'sending')) AS waiting,
    count(*) FILTER (WHERE state = 'failed') AS failed
  FROM mails WHERE world_id = $1 AND kind IN ('invitation', 'reminder')`;
const PACE = "SELECT next_at FROM mail_pace WHERE name = 'all'";
const HAS_WORLD = "SELECT 1 FROM worlds WHERE id = $1";
const STOPPED = `SELECT invitation_id FROM mail_stops
  WHERE world_id = $1 AND invitation_id = ANY ($2)`;

/** When a host resends invitations, the new mails replace those that are still queued. */
const REPLACE = `DELETE FROM mails WHERE world_id = $1 AND state = 'waiting'
  AND kind = 'invitation' AND invitation_id = ANY ($2)`;
const INVITED = "SELECT id FROM invitations WHERE world_id = $1 AND id = ANY ($2)";
const ACTS = "SELECT act FROM mails WHERE world_id = $1 AND act = ANY ($2)";
const BEGIN_PACE = `INSERT INTO mail_pace (name, next_at) VALUES ('all', NULL)
  ON CONFLICT (name) DO NOTHING`;
/**
 * A turn far in the future means that the clock was set back, or that the configured interval was
 * shortened.
 */
const TURN = `UPDATE mail_pace SET next_at = CAST($1 AS BIGINT) + CAST($2 AS BIGINT)
  WHERE name = 'all' AND (next_at IS NULL OR next_at <= CAST($1 AS BIGINT)
    OR next_at > CAST($1 AS BIGINT) + CAST($2 AS BIGINT) + ${MAX_CLOCK_DIFFERENCE_MS})`;
const CLAIM = `UPDATE mails SET state = 'sending', attempts = attempts + 1, holder = $3, changed_at = $4
  WHERE world_id = $1 AND id = $2 AND state = 'waiting'`;
/**
 * A process that was suspended may report the outcome of a mail that another process has already
 * given up.
 */
const SETTLE = `UPDATE mails SET state = $5, error = $6, due_at = CAST($7 AS BIGINT), changed_at = $8,
    recipient = CASE WHEN $5 = 'waiting' THEN recipient END
  WHERE world_id = $1 AND id = $2 AND holder = $3 AND attempts = CAST($4 AS BIGINT)
    AND (state = 'sending' OR (state = 'failed' AND error = 'unknown'))`;
const LOSE = `UPDATE mails SET state = 'failed', error = 'unknown', recipient = NULL, changed_at = $5
  WHERE world_id = $1 AND id = $2 AND state = 'sending' AND holder = $3
    AND attempts = CAST($4 AS BIGINT)`;
const DROP = "DELETE FROM mails WHERE world_id = $1 AND id = $2";

const COUNT = `INSERT INTO login_rates (world_id, name, count, ends) VALUES ($1, $2, 1, $3)
  ON CONFLICT (world_id, name) DO UPDATE SET
    count = CASE WHEN login_rates.ends <= CAST($4 AS BIGINT) OR login_rates.ends > excluded.ends
      THEN 1 ELSE login_rates.count + 1 END,
    ends = CASE WHEN login_rates.ends <= CAST($4 AS BIGINT) OR login_rates.ends > excluded.ends
      THEN excluded.ends ELSE login_rates.ends END
  RETURNING count`;
const ISSUE = `INSERT INTO login_codes (world_id, hash, invitation_id, page, ends)
  VALUES ($1, $2, $3, $4, $5)`;
const REDEEM = `DELETE FROM login_codes WHERE world_id = $1 AND hash = $2
  RETURNING invitation_id AS invitation, page, ends`;
const STOP = `INSERT INTO mail_stops (world_id, invitation_id, at) VALUES ($1, $2, $3)
  ON CONFLICT (world_id, invitation_id) DO NOTHING`;
const PRUNE_CODES = "DELETE FROM login_codes WHERE world_id = $1 AND ends < CAST($2 AS BIGINT)";
const PRUNE_RATES = "DELETE FROM login_rates WHERE world_id = $1 AND ends < CAST($2 AS BIGINT)";
const PRUNE_MAILS = `DELETE FROM mails WHERE world_id = $1 AND invitation_id IS NULL
  AND state IN ('sent', 'failed') AND changed_at < CAST($2 AS BIGINT)`;

/** The order in which mails are sent: first those that a person has just requested. */
const PRIORITY: Readonly<Record<MailKind, number>> = {
  request: 0,
  login: 0,
  test: 0,
  reminder: 1,
  invitation: 2,
};

type Row = Omit<Mail, "detail"> & { detail: string };

const toMail = ({ detail, ...row }: Row): Mail => ({
  ...row,
  detail: JSON.parse(detail) as Mail["detail"],
});

const rowOf = (world: string, draft: MailDraft, now: number) => ({
  world_id: world,
  id: randomUUID(),
  act: draft.act,
  kind: draft.kind,
  invitation_id: draft.invitation ?? null,
  recipient: draft.recipient ?? null,
  detail: JSON.stringify(draft.detail),
  priority: PRIORITY[draft.kind],
  due_at: draft.due_at,
  state: "waiting",
  attempts: 0,
  error: null,
  holder: null,
  changed_at: now,
});

const reads = (sql: Reading) => ({
  /** Returns the mails in all worlds that are due, in sending order. */
  due: async (now: number, limit: number): Promise<Mail[]> =>
    (await sql.all<Row>(DUE, [now, limit])).map(toMail),

  /** Returns the mails in all worlds that a process has claimed but not settled. */
  claimed: async (): Promise<Mail[]> => (await sql.all<Row>(CLAIMED, [])).map(toMail),

  async get(world: string, id: string): Promise<Mail | undefined> {
    const row = await sql.one<Row>(GET, [world, id]);
    return row && toMail(row);
  },

  /** Returns the status of the last mail to each invitation that has one. */
  async reports(
    world: string,
    invitations: readonly string[],
  ): Promise<ReadonlyMap<string, MailProgress>> {
    if (invitations.length === 0) return new Map();
    const rows = await sql.all<MailProgress & { invitation: string }>(LATEST, [world, invitations]);
    return new Map(rows.map(({ invitation, ...report }) => [invitation, report]));
  },

  /** Returns the status of the mail for an act. */
  reportOf: (world: string, act: string): Promise<MailProgress | undefined> =>
    sql.one<MailProgress>(REPORT, [world, act]),

  /** Returns the numbers of queued and failed mails to people. */
  async counts(world: string): Promise<MailCounts> {
    const found = (await sql.one<MailCounts>(COUNTS, [world]))!;
    return { waiting: Number(found.waiting), failed: Number(found.failed) };
  },

  /** Returns when the server may send the next mail; null if it may send one now. */
  nextAt: async (): Promise<number | null> => (await sql.value<number | null>(PACE, [])) ?? null,

  /** Returns the given invitations whose recipients have unsubscribed. */
  stopped: (world: string, invitations: readonly string[]): Promise<string[]> =>
    sql.column<string>(STOPPED, [world, invitations]),
});

const writes = (sql: Sql, log: DomainLog) => {
  /**
   * Returns the drafts whose act is new and whose invitation has not been deleted in the meantime.
   */
  async function freshOf(world: string, drafts: readonly MailDraft[]): Promise<MailDraft[]> {
    const acts = drafts.map(({ act }) => act);
    const known = new Set(await sql.column<string>(ACTS, [world, acts]));
    const ids = drafts.flatMap(({ invitation }) => invitation ?? []);
    const invited = new Set(ids.length > 0 ? await sql.column<string>(INVITED, [world, ids]) : []);
    const byAct = new Map(drafts.map((draft) => [draft.act, draft]));
    return [...byAct.values()].filter(
      ({ act, invitation }) =>
        !known.has(act) && (invitation === undefined || invited.has(invitation)),
    );
  }

  async function insert(world: string, drafts: readonly MailDraft[], now: number): Promise<void> {
    const rows = drafts.map((draft) => rowOf(world, draft, now));
    if (rows.length > 0) await sql.insert("mails", rows);
  }

  return {
    /**
     * Queues mails, at most one per act. Invitations replace those to the same people that have not
     * left yet.
     * @returns the number of queued mails.
     * @throws {StoreError} `absent` when the world does not exist.
     */
    async queue(world: string, drafts: readonly MailDraft[], now: number): Promise<number> {
      if (!(await sql.one(HAS_WORLD, [world]))) throw absent("world");
      const fresh = await freshOf(world, drafts);
      const invited = fresh.flatMap(({ kind, invitation }) =>
        kind === "invitation" && invitation !== undefined ? invitation : [],
      );
      if (invited.length > 0) {
        if ((await sql.run(REPLACE, [world, invited])) > 0) log.erased("mails");
        const changes = [{ field: "number", before: null, after: invited.length }];
        log.append(world, noted({ type: "mail.queued", subject: {}, changes }));
      }
      await insert(world, fresh, now);
      return fresh.length;
    },

    /**
     * Takes the server's next turn to send a mail.
     * @param _all the pseudo-world that stands for all worlds: an empty string.
     * @param interval the time until the turn after this one, in milliseconds.
     * @returns whether the caller may send now.
     */
    async turn(_all: string, now: number, interval: number): Promise<boolean> {
      await sql.run(BEGIN_PACE);
      return (await sql.run(TURN, [now, interval])) === 1;
    },

    /**
     * Claims a mail, so that exactly one process sends it, once.
     * @returns undefined if the mail is not waiting.
     */
    async claim(world: string, id: string, holder: string, now: number): Promise<Mail | undefined> {
      if ((await sql.run(CLAIM, [world, id, holder, now])) === 0) return undefined;
      return toMail((await sql.one<Row>(GET, [world, id]))!);
    },

    /** Stores the outcome of a claimed mail. */
    async settle(
      world: string,
      { id, holder, attempts, due_at }: Pick<Mail, "id" | "holder" | "attempts" | "due_at">,
      outcome: MailOutcome,
      now: number,
    ): Promise<void> {
      const { state } = outcome;
      const error = state === "sent" ? null : outcome.error;
      const due = state === "waiting" ? outcome.due_at : due_at;
      await sql.run(SETTLE, [world, id, holder, attempts, state, error, due, now]);
      if (state !== "waiting") log.erased("mails");
    },

    /** Gives up a claimed mail whose process seems to have died. It is never sent again. */
    async lose(
      world: string,
      { id, holder, attempts }: Pick<Mail, "id" | "holder" | "attempts">,
      now: number,
    ): Promise<boolean> {
      if ((await sql.run(LOSE, [world, id, holder, attempts, now])) === 0) return false;
      log.erased("mails");
      return true;
    },

    /** Replaces a claimed request with the resulting mails, which contain the links. */
    async answer(
      world: string,
      id: string,
      drafts: readonly MailDraft[],
      now: number,
    ): Promise<void> {
      if ((await sql.run(DROP, [world, id])) === 0) return;
      log.erased("mails");
      await insert(world, await freshOf(world, drafts), now);
    },

    /**
     * Queues a request for a link by e-mail. Known and unknown addresses are treated alike: the
     * address is looked up only when the mail is about to be sent.
     * @returns the limit that was reached. Callers must not reveal that an address has reached its
     * limit.
     */
    async ask(
      world: string,
      { address, page, locale, at, counts }: LinkRequest,
    ): Promise<"network" | "world" | undefined> {
      if (!(await sql.one(HAS_WORLD, [world]))) throw absent("world");
      const ends = at + REQUEST_WINDOW_MS;
      const count = async (name: string) => Number(await sql.value(COUNT, [world, name, ends, at]));
      if ((await count(`network ${counts.network}`)) > REQUEST_LIMITS.network) return "network";
      if ((await count("world")) > REQUEST_LIMITS.world) return "world";
      if ((await count(`address ${counts.address}`)) > REQUEST_LIMITS.address) return undefined;
      const detail = { page, ...(locale !== undefined && { locale }) };
      const act = `request:${randomUUID()}`;
      await insert(world, [{ act, kind: "request", recipient: address, detail, due_at: at }], at);
      return undefined;
    },

    /**
     * Stores the hash of the code in an e-mailed link, unless its invitation has been deleted in
     * the meantime.
     * @param ends in milliseconds since 1970.
     */
    async issue(
      world: string,
      hash: string,
      { invitation, page }: RedeemedCode,
      ends: number,
    ): Promise<void> {
      if (invitation !== null && !(await sql.one(INVITED, [world, [invitation]]))) return;
      await sql.run(ISSUE, [world, hash, invitation, page, ends]);
    },

    /**
     * Redeems a code.
     * @returns undefined if there is no such code, or if it has expired.
     */
    async redeem(world: string, hash: string, now: number): Promise<RedeemedCode | undefined> {
      const found = await sql.one<RedeemedCode & { ends: number }>(REDEEM, [world, hash]);
      if (!found || found.ends <= now) return undefined;
      const { invitation, page } = found;
      return { invitation, page };
    },

    /**
     * Unsubscribes the recipient of a mail from all mails except login links that they request.
     * @returns whether the mail exists and was sent to an invited person.
     */
    async stop(world: string, mail: string, now: number): Promise<boolean> {
      const row = await sql.one<Row>(GET, [world, mail]);
      if (!row?.invitation) return false;
      await sql.run(STOP, [world, row.invitation, now]);
      return true;
    },

    /** Deletes expired data: codes, counts, and mails that belong to no invitation. */
    async prune(world: string, now: number): Promise<void> {
      await sql.run(PRUNE_CODES, [world, now]);
      await sql.run(PRUNE_RATES, [world, now]);
      if ((await sql.run(PRUNE_MAILS, [world, now - KEPT_MS])) > 0) log.erased("mails");
    },
  };
};

export const mails = domain({
  reads,
  writes,
  parameters: {
    queue: 3,
    turn: 3,
    claim: 4,
    settle: 4,
    lose: 3,
    answer: 4,
    ask: 2,
    issue: 4,
    redeem: 3,
    stop: 3,
    prune: 2,
  },
});
