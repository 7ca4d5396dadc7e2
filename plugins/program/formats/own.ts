import type { Static } from "@sinclair/typebox";
import { sessionFaults, speakerFaults, withTimes } from "../../../db/rules/program-checks.js";
import type { Faults } from "../../../schemas/errors.js";
import {
  ProgramDraft,
  type OwnSession,
  type OwnSpeaker,
} from "../../../schemas/program/program-import.js";
import type { Session, Speaker } from "../../../schemas/program/program.js";
import {
  importIdByStart,
  type DocumentSession,
  type DocumentSpeaker,
  type ProgramDocument,
} from "../../../schemas/documents/program-document.js";
import { compileValidator, InvalidData } from "../../../schemas/validate.js";

const check = compileValidator(ProgramDraft);

/**
 * Reads Foyer's own JSON, as returned by `GET …/program/`.
 * @throws {InvalidData} with paths such as `sessions.3.title`.
 */
export function readOwn(document: unknown): ProgramDocument {
  const found = check(document);
  if (found) throw found;
  const { sessions = [], speakers = [] } = document as Static<typeof ProgramDraft>;
  if (!("sessions" in (document as object)) && speakers.length === 0) {
    throw new InvalidData({ sessions: ["This field is required."] });
  }
  return {
    sessions: sessions.map(sessionOf),
    speakers: speakers.map(speakerOf),
    problems: [],
    isExact: true,
  };
}

function sessionOf(session: OwnSession, i: number): DocumentSession {
  const path = `sessions.${i}`;
  const { id, import_id, room_id, speaker_ids, ...fields } = session;
  const { session: timed, faults } = withTimes({
    starts_at: null,
    ends_at: null,
    ...session,
  } as Session);
  refuse(path, faults);
  refuse(path, sessionFaults({ ...empty, ...timed }, anything));
  const { starts_at, ends_at } = timed;
  const isTimed = session.starts_at !== undefined || session.ends_at !== undefined;
  return {
    fields: { ...fields, ...(isTimed && { starts_at, ends_at }) },
    ...(id !== undefined && { id }),
    import_id: import_id ?? id ?? importIdByStart(session.title, starts_at),
    ...(room_id !== undefined && { room: room_id === null ? null : { id: room_id } }),
    ...(speaker_ids && { speakers: speaker_ids }),
    position: { path },
  };
}

function speakerOf(speaker: OwnSpeaker, i: number): DocumentSpeaker {
  const path = `speakers.${i}`;
  const { id, import_id, ...fields } = speaker;
  const whole = { id: "", picture: null, user_id: null, ...speaker };
  refuse(path, speakerFaults({ ...empty, ...whole } as Speaker, anything));
  const key = id ?? import_id ?? importIdByStart(speaker.name);
  return {
    fields,
    key,
    ...(id !== undefined && { id }),
    import_id: import_id ?? key,
    position: { path },
  };
}

/** Defaults for fields that the checks read but documents may omit. */
const empty = {
  id: "",
  room_id: null,
  speaker_ids: [],
  links: [],
  stream: null,
  recording: null,
  import_id: null,
};

/** References are not checked until the document is compared with a world. */
const anything = {
  isRoom: () => true,
  isSpeaker: () => true,
  isUser: () => true,
  isUpload: () => true,
  imported: () => undefined,
};

function refuse(path: string, faults: Faults | undefined): void {
  if (!faults) return;
  throw new InvalidData(
    Object.fromEntries(
      Object.entries(faults).map(([field, messages]) => [`${path}.${field}`, messages]),
    ),
  );
}
