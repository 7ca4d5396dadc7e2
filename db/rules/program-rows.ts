import { randomUUID } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import type { Session, Speaker } from "../../schemas/program/program.js";
import { timeIn, timeText } from "../../schemas/plain/times.js";
import type { Versioned } from "../contract/selections.js";
import { frozen, versioned } from "./versions.js";

// Sessions and speakers as they are stored.

/** The columns of `program_sessions` beside the world, in their order. */
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
  /** JSON of the other fields. */
  detail: string;
}

/** The columns of `program_speakers` beside the world, in their order. */
export const SPEAKER_COLUMNS = "id, revision, import_id, user_id, picture, name, detail";

export interface SpeakerRow {
  id: string;
  revision: number;
  import_id: string | null;
  user_id: string | null;
  picture: string | null;
  name: string;
  /** JSON of the other fields. */
  detail: string;
}

/** The times as the columns have them. They were checked. */
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
  };
}

/** The session in a row, with its version. */
export const sessionOf = (row: SessionRow): Versioned<Session> =>
  versionOf(sessionIn(row), row.revision);

export function sessionRow(session: Session, revision: number): SessionRow {
  const { id, import_id, room_id, starts_at, ends_at, state, title, ...rest } = session;
  return {
    id,
    revision,
    import_id,
    room_id,
    starts_at: columnOf(starts_at),
    ends_at: columnOf(ends_at),
    state,
    title,
    detail: JSON.stringify(rest),
  };
}

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

/** The speaker in a row, with its version. */
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

export const newSession = (given: Partial<Session>): Session => ({
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

/** The size of a row for the bound of a program, in characters. */
export const sizeOfRow = (row: SessionRow | SpeakerRow): number =>
  row.detail.length + ("title" in row ? row.title : row.name).length;

/** Whether two rows have the same values, whatever their revisions. */
export const isSameRow = <R extends SessionRow | SpeakerRow>(before: R, after: R): boolean =>
  (Object.keys(after) as (keyof R)[]).every(
    (name) => name === "revision" || before[name] === after[name],
  );

export const changedFields = <T extends object>(before: T, after: T): string[] =>
  (Object.keys(after) as (keyof T & string)[]).filter(
    (name) => after[name] !== before[name] && !isDeepStrictEqual(after[name], before[name]),
  );
