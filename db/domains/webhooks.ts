import { randomUUID } from "node:crypto";
import { definedFields } from "../../schemas/plain/given.js";
import { changesBetween, type FieldChange } from "../contract/audit-store.js";
import { type PageSelection, StoreError } from "../contract/store.js";
import {
  MAX_WEBHOOKS,
  MOVE,
  type WebhookRecord,
  type WebhookChanges,
  type WebhookSettings,
  type WebhookState,
} from "../contract/webhook-store.js";
import { noted } from "../rules/acts.js";
import { absent, changed } from "../rules/preconditions.js";
import { domain, type DomainLog, type Reading, type Sql } from "./domain.js";

const STATE =
  "position, delivered_at, failing_since, last_status, last_error, next_try_at, attempts";

const COLUMNS = `id, world_id AS world, url, types, enabled, description, created_at, secret,
  revision, ${STATE}, holder, beat`;

const LIST = `SELECT ${COLUMNS}, number FROM webhooks
  WHERE world_id = $1 AND number > CAST($4 AS BIGINT) ORDER BY number LIMIT CAST($2 AS BIGINT) OFFSET CAST($3 AS BIGINT)`;

const COUNT = "SELECT count(*) FROM webhooks WHERE world_id = $1";

const GET = `SELECT ${COLUMNS} FROM webhooks WHERE world_id = $1 AND id = $2`;

const ENABLED = `SELECT ${COLUMNS} FROM webhooks WHERE enabled = 1
  AND EXISTS (SELECT 1 FROM worlds WHERE id = world_id) ORDER BY number`;

const HAS_WORLD = "SELECT 1 FROM worlds WHERE id = $1";

const INSERT = `INSERT INTO webhooks (world_id, id, url, types, enabled, description, created_at,
    secret, revision, position, attempts, beat)
  VALUES ($1, $2, $3, $4, $5, $6, $7, $8, 1, $9, 0, 0)`;

const UPDATE = `UPDATE webhooks SET url = $3, types = $4, enabled = $5, description = $6,
    secret = $7, revision = revision + $12, position = $8, failing_since = $9, next_try_at = $10,
    attempts = $11
  WHERE world_id = $1 AND id = $2`;

const DELETE = "DELETE FROM webhooks WHERE world_id = $1 AND id = $2";

const HOLD = `UPDATE webhooks SET holder = $3, beat = beat + 1
  WHERE world_id = $1 AND id = $2 AND holder IS NOT DISTINCT FROM $4 AND beat = $5`;

const BEAT = "UPDATE webhooks SET beat = beat + 1 WHERE world_id = $1 AND holder = $2";

const NOTE = `UPDATE webhooks SET position = $5, delivered_at = $6, failing_since = $7,
    last_status = $8, last_error = $9, next_try_at = $10, attempts = $11
  WHERE world_id = $1 AND id = $2 AND revision = $3 AND holder = $4`;

/** Increments the revision, so that the holder can no longer store a position. */
const DISABLE = `UPDATE webhooks SET enabled = 0, revision = revision + 1
  WHERE world_id = $1 AND id = $2`;

type Row = Omit<WebhookRecord, "types" | "enabled"> & {
  types: string;
  enabled: number;
};

const toWebhook = ({ types, enabled, ...row }: Row): WebhookRecord => ({
  ...row,
  types: JSON.parse(types) as string[],
  enabled: enabled === 1,
});

const toListed = ({ number, ...row }: Row & { number: number }) => ({ ...toWebhook(row), number });

const FIELDS = ["url", "types", "enabled", "description"];

/**
 * Returns the settings that differ between two states. Reduces each URL to its origin, because the
 * path may contain a secret that belongs to the receiver.
 */
const changesOf = (before: WebhookSettings | null, after: WebhookSettings | null): FieldChange[] =>
  changesBetween(before, after, FIELDS).map((change) =>
    change.field === "url"
      ? { field: "url", before: originOf(change.before), after: originOf(change.after) }
      : change,
  );

const originOf = (url: unknown): string | null =>
  typeof url === "string" ? new URL(url).origin : null;

const MASKED: FieldChange = { field: "secret", before: "***", after: "***" };

export const webhookReads = (sql: Reading) => ({
  list: (world: string, { page, pageSize, after: [number = -1] = [] }: PageSelection) =>
    sql.snapshot(async (sql) => {
      const count = Number(await sql.value(COUNT, [world]));
      const rows = await sql.all<Row & { number: number }>(LIST, [
        world,
        pageSize,
        (page - 1) * pageSize,
        number,
      ]);
      return { count, webhooks: rows.map(toListed) };
    }),

  async get(world: string, id: string): Promise<WebhookRecord | undefined> {
    const row = await sql.one<Row>(GET, [world, id]);
    return row && toWebhook(row);
  },

  enabled: async (): Promise<WebhookRecord[]> => (await sql.all<Row>(ENABLED)).map(toWebhook),
});

export const webhookWrites = (sql: Sql, log: DomainLog) => {
  async function expect(
    world: string,
    id: string,
    revisions?: readonly number[],
  ): Promise<WebhookRecord> {
    const row = await sql.one<Row>(GET, [world, id]);
    if (!row) throw absent("webhook");
    if (revisions && !revisions.includes(row.revision)) throw changed();
    return toWebhook(row);
  }

  const record = (world: string, type: string, id: string, changes: readonly FieldChange[]) =>
    log.append(world, noted({ type, subject: { webhook_id: id }, changes }));

  async function note(
    world: string,
    id: string,
    { revision, holder }: { revision: number; holder: string },
    state: WebhookState,
  ): Promise<boolean> {
    const { position, delivered_at, failing_since, last_status } = state;
    const { last_error, next_try_at, attempts } = state;
    const values = [position, delivered_at, failing_since, last_status];
    const more = [last_error, next_try_at, attempts];
    const key = [world, id, revision, holder];
    return (await sql.run(NOTE, [...key, ...values, ...more])) > 0;
  }

  return {
    async create(world: string, settings: WebhookSettings, secret: string): Promise<WebhookRecord> {
      if (!(await sql.one(HAS_WORLD, [world]))) throw absent("world");
      if (Number(await sql.value(COUNT, [world])) >= MAX_WEBHOOKS) {
        throw new StoreError(
          "quota",
          `A world may have at most ${MAX_WEBHOOKS} webhooks.`,
          "webhooks",
        );
      }
      const id = randomUUID();
      const { url, types, enabled, description } = settings;
      record(world, "webhook.created", id, changesOf(null, settings));
      await sql.run(INSERT, [
        world,
        id,
        url,
        JSON.stringify(types),
        enabled ? 1 : 0,
        description,
        Date.now(),
        secret,
        log.next(world) - 1,
      ]);
      return expect(world, id);
    },

    async update(
      world: string,
      id: string,
      { position, secret, ...changes }: WebhookChanges,
      revisions?: readonly number[],
    ): Promise<WebhookRecord> {
      const before = await expect(world, id, revisions);
      const after = { ...before, ...definedFields(changes) };
      const begins = position !== undefined || changes.enabled === true;
      const edits = [
        ...changesOf(before, after),
        ...(secret === undefined ? [] : [MASKED]),
        ...changesBetween({ cursor: before.position }, { cursor: position ?? before.position }, [
          "cursor",
        ]),
      ];
      // Append the entry even without changes, because it cancels a retry delay in the delivering
      // process.
      record(world, "webhook.updated", id, edits);
      await sql.run(UPDATE, [
        world,
        id,
        after.url,
        JSON.stringify(after.types),
        after.enabled ? 1 : 0,
        after.description,
        secret ?? before.secret,
        position ?? before.position,
        begins ? null : before.failing_since,
        begins ? null : before.next_try_at,
        begins ? 0 : before.attempts,
        position === undefined ? 1 : MOVE,
      ]);
      return expect(world, id);
    },

    async delete(world: string, id: string, revisions?: readonly number[]): Promise<void> {
      const before = await expect(world, id, revisions);
      record(world, "webhook.deleted", id, changesOf(before, null));
      await sql.run(DELETE, [world, id]);
      log.erased("webhooks");
    },

    hold: async (
      world: string,
      id: string,
      holder: string | null,
      seen: Pick<WebhookRecord, "holder" | "beat">,
    ): Promise<boolean> => (await sql.run(HOLD, [world, id, holder, seen.holder, seen.beat])) > 0,

    async beat(world: string, holder: string): Promise<void> {
      await sql.run(BEAT, [world, holder]);
    },

    note,

    async disable(
      world: string,
      id: string,
      of: { revision: number; holder: string },
      state: WebhookState,
    ): Promise<boolean> {
      if (!(await note(world, id, of, state))) return false;
      await sql.run(DISABLE, [world, id]);
      record(world, "webhook.updated", id, [{ field: "enabled", before: true, after: false }]);
      return true;
    },
  };
};

export const webhooks = domain({
  reads: webhookReads,
  writes: webhookWrites,
  parameters: { create: 3, update: 4, delete: 3, hold: 4, beat: 2, note: 4, disable: 4 },
});
