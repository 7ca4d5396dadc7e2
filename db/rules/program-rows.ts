import { randomUUID } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import type { Session, SessionChanges, Speaker } from "../../schemas/program/program.js";
import { timeIn, timeText } from "../../schemas/plain/times.js";
import type { FieldChange } from "../contract/audit-store.js";
import type { Versioned } from "../contract/selections.js";
import { frozen, versioned } from "./versions.js";

// The stored form of sessions and speakers.

/** The columns of `program_sessions` after the world, in order. */
export const SESSION_COLUMNS =
  "id, revision, import_id, room_id, starts_at, ends_at, state, title, detail";

export interface SessionRow {
  id: string;
  revision: number;
  import_id: string | null;
  room_id: string | null;
  /** In milliseconds since 1970. */
  starts_at: number | null;
  ends_at: number | null;
  state: string;
  title: string;
  /** The remaining fields as JSON. */
  detail: string;
}

/** The columns of `program_speakers` after the world, in order. */
export const SPEAKER_COLUMNS = "id, revision, import_id, user_id, picture, name, detail";

export interface SpeakerRow {
  id: string;
  revision: number;
  import_id: string | null;
  user_id: string | null;
  picture: string | null;
  name: string;
  /** The remaining fields as JSON. */
  detail: string;
}

/** Converts a validated time to its column value. */
const columnOf = (time: string | null): number | null => (time === null ? null : timeIn(time)!);

export function sessionIn(row: SessionRow): Session {
  const detail = JSON.parse(row.detail) as Omit<Session, keyof SessionRow>;
  return {
    id: row.id,
    title: row.title,
    subtitle: detail.subtitle,
    abstract: detail.abstract,
    description: detail.description,
    room_id: row.room_id,
    starts_at: timeText(row.starts_at),
    ends_at: timeText(row.ends_at),
    speaker_ids: detail.speaker_ids,
    track: detail.track,
    language: detail.language,
    kind: detail.kind,
    tags: detail.tags,
    links: detail.links,
    stream: detail.stream,
    recording: detail.recording,
    import_id: row.import_id,
    state: row.state as Session["state"],
    ...(detail.overrun && { overrun: detail.overrun }),
  };
}

/** Returns the session in a row, with its version. */
export const sessionOf = (row: SessionRow): Versioned<Session> =>
  versionOf(sessionIn(row), row.revision);

export function sessionRow(session: Session, revision: number): SessionRow {
  const { id, import_id, room_id, starts_at, ends_at, state, title, overrun, ...rest } = session;
  return {
    id,
    revision,
    import_id,
    room_id,
    starts_at: columnOf(starts_at),
    ends_at: columnOf(ends_at),
    state,
    title,
    detail: JSON.stringify({ ...rest, ...(overrun && { overrun }) }),
  };
}

/**
 * Returns a session after a change. If the times change, what a host decided about the former end no
 * longer holds.
 * @param asked the fields to replace.
 */
export function changedSession(before: Session, asked: SessionChanges): Session {
  const { overrun = before.overrun, ...rest } = { ...before, ...asked, id: before.id };
  const hasSameTimes = (["starts_at", "ends_at"] as const).every(
    (field) => timeOf(rest[field]) === timeOf(before[field]),
  );
  const isKept = overrun && (asked.overrun !== undefined || hasSameTimes);
  return isKept ? { ...rest, overrun } : rest;
}

const timeOf = (time: string | null): number | null | undefined =>
  time === null ? null : timeIn(time);

export function speakerIn(row: SpeakerRow): Speaker {
  const detail = JSON.parse(row.detail) as Omit<Speaker, keyof SpeakerRow>;
  return {
    id: row.id,
    name: row.name,
    biography: detail.biography,
    organization: detail.organization,
    links: detail.links,
    picture: row.picture,
    user_id: row.user_id,
    import_id: row.import_id,
  };
}

/** Returns the speaker in a row, with its version. */
export const speakerOf = (row: SpeakerRow): Versioned<Speaker> =>
  versionOf(speakerIn(row), row.revision);

export function speakerRow(speaker: Speaker, revision: number): SpeakerRow {
  const { id, import_id, user_id, picture, name, ...rest } = speaker;
  const detail = JSON.stringify(rest);
  return { id, revision, import_id, user_id, picture, name, detail };
}

const versionOf = <T extends object>(value: T, revision: number): Versioned<T> =>
  versioned(
    () => frozen(value),
    () => JSON.stringify(value),
    revision,
  );

export const newSession = ({ overrun, ...given }: SessionChanges): Session => ({
  id: randomUUID(),
  title: "",
  subtitle: "",
  abstract: "",
  description: "",
  room_id: null,
  starts_at: null,
  ends_at: null,
  speaker_ids: [],
  track: "",
  language: "",
  kind: "",
  tags: [],
  links: [],
  stream: null,
  recording: null,
  import_id: null,
  state: "public",
  ...given,
  ...(overrun && { overrun }),
});

export const newSpeaker = (given: Partial<Speaker>): Speaker => ({
  id: randomUUID(),
  name: "",
  biography: "",
  organization: "",
  links: [],
  picture: null,
  user_id: null,
  import_id: null,
  ...given,
});

/** Returns the size of a row in characters, for a program's size limit. */
export const sizeOfRow = (row: SessionRow | SpeakerRow): number =>
  row.detail.length + ("title" in row ? row.title : row.name).length;

/** Whether two rows have the same values, regardless of their revisions. */
export const isSameRow = <R extends SessionRow | SpeakerRow>(before: R, after: R): boolean =>
  (Object.keys(after) as (keyof R)[]).every(
    (name) => name === "revision" || before[name] === after[name],
  );

export const changedFields = <T extends object>(before: T, after: T): string[] =>
  (Object.keys(after) as (keyof T & string)[]).filter(
    (name) => after[name] !== before[name] && !isDeepStrictEqual(after[name], before[name]),
  );

/** The fields of a session whose values the audit keeps. Texts are too long, and streams may hold secrets. */
const AUDITED = new Set([
  "title",
  "starts_at",
  "ends_at",
  "room_id",
  "state",
  "track",
  "kind",
  "language",
]);

/**
 * Returns what changed in a session, for the log.
 * @param before undefined for a new session, of which only the title is listed.
 * @param after undefined for a deleted session, of which only the title is listed.
 */
export function sessionChanges(
  before: Session | undefined,
  after: Session | undefined,
): FieldChange[] {
  const fields = before && after ? changedFields(before, after) : ["title"];
  const valueIn = (session: Session | undefined, field: string) =>
    AUDITED.has(field) ? (session?.[field as keyof Session] ?? null) : null;
  return fields.map((field) => ({
    field,
    before: valueIn(before, field),
    after: valueIn(after, field),
  }));
}
