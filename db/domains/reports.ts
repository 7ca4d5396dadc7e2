import { randomUUID } from "node:crypto";
import type {
  ReportAction,
  ReportKind,
  ReportReason,
  ReportState,
} from "../../schemas/plain/moderation/reports.js";
import { StoreError } from "../contract/store.js";
import { type ChannelRow, MESSAGE } from "../rules/chat-rows.js";
import { absent, denied } from "../rules/preconditions.js";
import { QUESTION_COLUMNS, type QuestionRow, seesQuestion } from "../rules/question-rows.js";
import { IS_KNOWN, USER_COLUMNS, type UserRow } from "../rules/rows.js";
import { kindOf } from "../rules/user-rows.js";
import { FIND_CHANNEL } from "./chat/channels.js";
import { messageParts } from "./chat/chat.js";
import { perEngine, readEvent } from "./chat/event-reads.js";
import { domain, type DomainLog, type EngineWrites, type Reading, type Sql } from "./domain.js";
import { questionWrites } from "./questions.js";
import { userWrites } from "./users/users.js";

/** An item that a person reports: a message, a question or a user. */
export type Reported =
  | {
      readonly kind: "message";
      /** The room, or null for a direct channel. */
      readonly room: string | null;
      readonly channel: string;
      readonly event: number;
    }
  | {
      readonly kind: "question";
      readonly room: string;
      readonly question: string;
      /** Whether the person sees questions in all states. */
      readonly all: boolean;
    }
  | { readonly kind: "user"; readonly room: string | null; readonly user: string };

/** A person's report of an item. */
export interface Complaint {
  /** The id of the person. */
  readonly by: string;
  readonly reason: ReportReason;
  /** Empty if the person wrote no text. */
  readonly text: string;
  /** In milliseconds since 1970. */
  readonly at: number;
}

/** A reported thing. */
export interface Report {
  /** Increases with each newly reported item. */
  readonly number: number;
  readonly id: string;
  readonly kind: ReportKind;
  /** Null for direct messages, for people outside rooms, and for deleted rooms. */
  readonly room: string | null;
  readonly channel: string | null;
  readonly event: number | null;
  readonly question: string | null;
  /** Null once the user is erased. */
  readonly user: string | null;
  /** Whether moderators may see who the user is. */
  readonly named: number;
  /** As JSON, as it was at the time of the first report. */
  readonly content: string;
  readonly state: ReportState;
  /** In milliseconds since 1970, as `resolved_at`. */
  readonly at: number;
  readonly resolved_at: number | null;
  readonly resolved_by: string | null;
}

/** A reported thing in a list. */
export interface ListedReport extends Report {
  /** Whether the message or question was deleted since, or the person erased. */
  readonly isGone: boolean;
}

/** Why a person reported a thing. */
export interface ReportNote {
  readonly report: number;
  /** Null once the user is erased. */
  readonly user: string | null;
  readonly reason: ReportReason;
  readonly text: string;
  readonly at: number;
  /** The number of people who reported the item. */
  readonly count: number;
}

/** Selects the reports that a moderator may handle. */
export interface ReportScope {
  /** The moderator, who does not see reports about themselves. */
  readonly user: string;
  /** The ids of the rooms in which they moderate. */
  readonly rooms: readonly string[];
  /** Whether they moderate the world, and therefore handle reports that belong to no room. */
  readonly world: boolean;
}

/** The number of open reports by room; null for those that belong to no room. */
export interface OpenReports {
  readonly all: readonly { room: string | null; count: number }[];
  /** The number of open reports about some users. */
  readonly about: readonly { user: string; room: string | null; count: number }[];
}

/** The room of a report, unless the room has been deleted. */
const ROOM = `CASE WHEN EXISTS (SELECT 1 FROM rooms
  WHERE rooms.world_id = r.world_id AND rooms.id = r.room_id) THEN r.room_id END`;

const COLUMNS = `r.number, r.id, r.kind, ${ROOM} AS room, r.channel, r.event, r.question,
  r.user_id AS "user", r.named, r.content, r.state, r.reported_at AS at, r.resolved_at, r.resolved_by`;

const GET = `SELECT ${COLUMNS} FROM reports AS r WHERE r.world_id = $1 AND r.id = $2`;

/** Whether a reported thing is gone. */
const isGone = (isPresent: string) => `CASE r.kind
  WHEN 'message' THEN NOT EXISTS (SELECT 1 FROM chat_channels AS c CROSS JOIN chat_events AS e
    WHERE c.world_id = r.world_id AND c.id = r.channel AND e.world_id = r.world_id
      AND e.channel = c.number AND e.id = r.event AND ${isPresent} AND e.deleted = 0)
  WHEN 'question' THEN NOT EXISTS (SELECT 1 FROM questions AS q
    WHERE q.world_id = r.world_id AND q.id = r.question)
  ELSE r.user_id IS NULL END`;

const listing = perEngine(
  ({ isPresent }) => `SELECT ${COLUMNS}, ${isGone(isPresent)} AS gone FROM reports AS r
  WHERE r.world_id = $1 AND r.number < $2 AND (CAST($3 AS TEXT) IS NULL OR r.state = $3)
    AND (r.user_id IS NULL OR r.user_id <> $4)
    AND (r.room_id = ANY ($5) OR ($6 AND ${ROOM} IS NULL))
  ORDER BY r.number DESC LIMIT $7`,
);

const NOTES = `SELECT report, "user", reason, text, at, count FROM (
    SELECT report, user_id AS "user", reason, content AS text, reported_at AS at, number,
      row_number() OVER (PARTITION BY report ORDER BY number) AS place,
      count(*) OVER (PARTITION BY report) AS count
    FROM report_reasons WHERE world_id = $1 AND report = ANY ($2)) AS placed
  WHERE place <= $3 ORDER BY number`;

const openBy = (columns: string, condition: string) => `SELECT ${columns}room, count(*) AS count
  FROM (SELECT ${ROOM} AS room, r.user_id FROM reports AS r
    WHERE r.world_id = $1 AND r.state = 'open'${condition}) AS open
  GROUP BY ${columns && "user_id, "}room`;

const OPEN = openBy("", "");
const OPEN_ABOUT = openBy('user_id AS "user", ', " AND r.user_id = ANY ($2)");

const reads = (sql: Reading) => ({
  get: (world: string, id: string): Promise<Report | undefined> =>
    sql.one<Report>(GET, [world, id]),

  /**
   * Returns the reports that a moderator may handle, newest first.
   * @param before returns only reports before the one with this number.
   * @param state returns only reports in this state; null for all.
   */
  async list(
    world: string,
    { user, rooms, world: all }: ReportScope,
    { before = Number.MAX_SAFE_INTEGER, state = null, limit }: ReportSelection,
  ): Promise<ListedReport[]> {
    const params = [world, before, state, user, rooms, all, limit];
    const rows = await sql.all<Report & { gone: unknown }>(listing(sql), params);
    return rows.map(({ gone, ...report }) => ({ ...report, isGone: Boolean(gone) }));
  },

  /** Returns the reasons why people reported some items, oldest first, at most `each` per item. */
  async notes(world: string, reports: readonly number[], each: number): Promise<ReportNote[]> {
    const rows = await sql.all<ReportNote>(NOTES, [world, reports, each]);
    return rows.map((row) => ({ ...row, count: Number(row.count) }));
  },

  /** Counts all open reports, and those about some users. */
  open: (world: string, users: readonly string[]): Promise<OpenReports> =>
    sql.snapshot(async (sql) => {
      const counted = <R extends { count: number }>(rows: R[]) =>
        rows.map((row) => ({ ...row, count: Number(row.count) }));
      const all = await sql.all<OpenReports["all"][number]>(OPEN, [world]);
      const about = await sql.all<OpenReports["about"][number]>(OPEN_ABOUT, [world, users]);
      return { all: counted(all), about: counted(about) };
    }),
});

export interface ReportSelection {
  readonly before?: number | undefined;
  readonly state?: ReportState | null;
  readonly limit: number;
}

/** Maximum number of items that a person may report per hour. */
const MAX_REPORTS = 10;
const HOUR_MS = 60 * 60 * 1000;

const STATE = `SELECT moderation_state FROM users WHERE world_id = $1 AND id = $2 AND ${IS_KNOWN}`;

const QUESTION = `SELECT ${QUESTION_COLUMNS} FROM questions AS q
  WHERE q.world_id = $1 AND q.room_id = $2 AND q.id = $3`;

const USER = `SELECT ${USER_COLUMNS} FROM users WHERE world_id = $1 AND id = $2 AND ${IS_KNOWN}`;

const OF_KIND = { message: "r.event", question: "r.question", user: "r.user_id" } as const;

const SAME = (kind: ReportKind) =>
  `r.world_id = $1 AND r.kind = '${kind}' AND ${OF_KIND[kind]} = $2`;

/** Whether a person has already reported an item, including before an earlier decision. */
const known = (kind: ReportKind) => `SELECT 1 FROM reports AS r
  JOIN report_reasons AS n ON n.world_id = $1 AND n.report = r.number AND n.user_id = $3
  WHERE ${SAME(kind)} LIMIT 1`;

const openOf = (kind: ReportKind) =>
  `SELECT r.number, r.id FROM reports AS r WHERE ${SAME(kind)} AND r.state = 'open'`;

const KNOWN = { message: known("message"), question: known("question"), user: known("user") };
const OPEN_OF = { message: openOf("message"), question: openOf("question"), user: openOf("user") };

const RECENT = `SELECT count(*) FROM report_reasons
  WHERE world_id = $1 AND user_id = $2 AND reported_at > $3`;

const CREATE = `INSERT INTO reports (world_id, id, kind, room_id, channel, event, question, user_id,
    named, content, state, reported_at)
  VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, 'open', $11) RETURNING number`;

const ADD = `INSERT INTO report_reasons (world_id, report, user_id, reason, content, reported_at)
  VALUES ($1, $2, $3, $4, $5, $6)`;

const RESOLVE = `UPDATE reports SET state = $3, resolved_at = $4, resolved_by = $5
  WHERE world_id = $1 AND number = $2`;

/** An item at the time of its first report. */
interface Thing {
  /** The value that identifies the item among items of its kind. */
  readonly key: string | number;
  readonly owner: string | null;
  readonly named: boolean;
  readonly content: string;
}

function writes(sql: Sql, log: DomainLog, own: EngineWrites) {
  const { change, findMessage } = messageParts(sql, log, own);

  async function messageOf(world: string, id: string, event: number): Promise<Thing | undefined> {
    const channel = await sql.one<ChannelRow>(FIND_CHANNEL, [world, id]);
    const found = channel && (await findMessage(world, channel, event));
    if (found?.type !== MESSAGE || found.deleted) return undefined;
    const row = await readEvent(sql, world, id, found.id);
    if (typeof row?.content !== "string") return undefined;
    return { key: found.id, owner: found.sender, named: true, content: row.content };
  }

  async function thingOf(world: string, reported: Reported, by: string): Promise<Thing> {
    let thing: Thing | undefined;
    if (reported.kind === "message") {
      thing = await messageOf(world, reported.channel, reported.event);
    } else if (reported.kind === "question") {
      const params = [world, reported.room, reported.question];
      const row = await sql.one<QuestionRow>(QUESTION, params);
      if (row && seesQuestion(row, by, reported.all)) {
        const content = JSON.stringify({ type: "text", body: row.content });
        thing = { key: row.id, owner: row.sender, named: row.named === 1, content };
      }
    } else {
      const row = await sql.one<UserRow>(USER, [world, reported.user]);
      if (row && kindOf(row) === "person") {
        const profile = JSON.parse(row.profile ?? "{}") as Record<string, unknown>;
        const { display_name: name } = profile;
        const body = typeof name === "string" ? name : "";
        const content = JSON.stringify({ type: "profile", body, profile });
        thing = { key: row.id, owner: row.id, named: true, content };
      }
    }
    if (!thing || thing.owner === by) throw absent("report");
    return thing;
  }

  return {
    /**
     * Reports an item. A second report by the same person changes nothing.
     * @throws {StoreError} `absent` on `report` if there is no such item, if the person may not see
     * it, or if it is the person's own; `denied` if the person is banned, silenced or erased;
     * `quota` on `reports` if the person has reported too many items.
     */
    async create(world: string, reported: Reported, complaint: Complaint): Promise<void> {
      const { by, reason, text, at } = complaint;
      if ((await sql.value<string>(STATE, [world, by])) !== "") {
        throw denied("The user is banned or silenced.");
      }
      const { kind } = reported;
      const { key, owner, named, content } = await thingOf(world, reported, by);
      if (await sql.one(KNOWN[kind], [world, key, by])) return;
      const recent = Number(await sql.value<number>(RECENT, [world, by, at - HOUR_MS]));
      if (recent >= MAX_REPORTS) {
        throw new StoreError("quota", `At most ${MAX_REPORTS} reports an hour.`, "reports");
      }
      let open = await sql.one<{ number: number; id: string }>(OPEN_OF[kind], [world, key]);
      const isNew = !open;
      if (!open) {
        const id = randomUUID();
        const number = (await sql.value<number>(CREATE, [
          world,
          id,
          kind,
          reported.room,
          kind === "message" ? reported.channel : null,
          kind === "message" ? key : null,
          kind === "question" ? key : null,
          owner,
          Number(named),
          content,
          at,
        ]))!;
        open = { number, id };
      }
      await sql.run(ADD, [world, open.number, by, reason, text, at]);
      const entry = { report: open.id, kind, inRoom: reported.room };
      log.append(world, { type: "report.created", ...entry, ...(isNew && { isNew }) });
    },

    /**
     * Resolves the report of an item, and carries out the decision.
     * @param moderator the id of the user who decides.
     * @param at in milliseconds since 1970.
     * @throws {StoreError} `absent` on `report` if it is not open, or on `user` if the user has
     * been erased.
     */
    async resolve(
      world: string,
      id: string,
      action: ReportAction,
      moderator: string,
      at: number,
    ): Promise<void> {
      const report = await sql.one<Report>(GET, [world, id]);
      if (report?.state !== "open") throw absent("report");
      // Before the deletion, which would close reports that are open.
      await sql.run(RESOLVE, [world, report.number, action, at, moderator]);
      if (action === "deleted") await remove(world, report, moderator);
      else if (action !== "dismissed") {
        if (report.user === null) throw absent("user");
        await userWrites(sql, log).moderate(world, report.user, action);
      }
      const { kind, room: inRoom } = report;
      log.append(world, { type: "report.resolved", report: id, kind, inRoom, action });
    },
  };

  /** Deletes a reported message or question, unless it has been deleted already. */
  async function remove(
    world: string,
    { kind, room, channel: id, event, question }: Report,
    moderator: string,
  ): Promise<void> {
    if (kind === "user") throw absent("report");
    if (kind === "question") {
      const params = [world, room, question];
      if (room === null || !(await sql.one(QUESTION, params))) return;
      await questionWrites(sql, log).delete(world, room, question!);
      return;
    }
    const channel = await sql.one<ChannelRow>(FIND_CHANNEL, [world, id]);
    const found = channel && event !== null ? await findMessage(world, channel, event) : undefined;
    if (found && !found.deleted) await change(world, channel!, found, moderator, null);
  }
}

/** Creates the domain of reports to the moderators. */
export const reports = domain({ reads, writes, parameters: { create: 3, resolve: 5 } });
