import type { Access } from "../../schemas/access.js";
import type { Faults } from "../../schemas/errors.js";
import { LONGEST_SESSION, MAX_PROGRAM, MAX_PROGRAM_SIZE } from "../../schemas/plain/program.js";
import { timeIn, timeText } from "../../schemas/plain/times.js";
import type { Session, Speaker, Warning } from "../../schemas/program/program.js";
import type { RejectedWrite } from "../contract/program-store.js";

// Checks that the schemas of sessions and speakers cannot express.

/** Maximum number of warnings per response. */
const MAX_WARNINGS = 50;

/** Faults in field order. */
type Found = [field: string, message: string][];

const faultsOf = (found: Found): Faults | undefined => {
  if (found.length === 0) return undefined;
  const faults: Faults = {};
  for (const [field, message] of found) (faults[field] ??= []).push(message);
  return faults;
};

/** Whether an address can be followed. The schema has already checked how the address begins. */
const isAddress = (url: string): boolean => url.startsWith("/") || URL.canParse(url);

const BAD_ADDRESS = "Must be a valid URL.";

const linkFaults = (links: readonly { url: string }[]): Found =>
  links.flatMap(({ url }, i): Found => (isAddress(url) ? [] : [[`links.${i}.url`, BAD_ADDRESS]]));

/**
 * Normalizes a session's times to UTC with milliseconds.
 * @returns the session, and the faults in its times by field.
 */
export function withTimes(session: Session): {
  session: Session;
  faults: Faults | undefined;
} {
  const found: Found = [];
  const timeOf = (field: "starts_at" | "ends_at"): number | null => {
    const text = session[field];
    if (text === null) return null;
    const time = timeIn(text);
    if (time === undefined) {
      found.push([field, "Must be a valid time with an offset."]);
    }
    return time ?? null;
  };
  const start = timeOf("starts_at");
  const end = timeOf("ends_at");
  if (found.length === 0) found.push(...rangeFaults(start, end));
  return {
    session: { ...session, starts_at: timeText(start), ends_at: timeText(end) },
    faults: faultsOf(found),
  };
}

/** Checks a time range. @param longest the maximum duration of the range, in milliseconds. */
function rangeFaults(start: number | null, end: number | null, longest = LONGEST_SESSION): Found {
  if (start === null && end === null) return [];
  if (start === null) return [["starts_at", "Must be given with ends_at."]];
  if (end === null) return [["ends_at", "Must be given with starts_at."]];
  if (end <= start) return [["ends_at", "Must be later than starts_at."]];
  if (end - start > longest) {
    return [["ends_at", "Must be at most 31 days after starts_at."]];
  }
  return [];
}

/** Returns the faults in an event's dates, by field. */
export function eventFaults({
  starts_at = null,
  ends_at = null,
}: {
  starts_at?: string | null | undefined;
  ends_at?: string | null | undefined;
}): Faults | undefined {
  const found: Found = [];
  const times = Object.entries({ starts_at, ends_at }).map(([field, text]) => {
    const time = text === null ? null : timeIn(text);
    if (time === undefined) {
      found.push([field, "Must be a valid time with an offset."]);
    }
    return time ?? null;
  });
  if (found.length === 0) {
    found.push(...rangeFaults(times[0]!, times[1]!, Infinity));
  }
  return faultsOf(found);
}

/** Returns the faults in the times at which an event opens and closes, by field. */
export function accessFaults({ opens_at = null, closes_at = null }: Access): Faults | undefined {
  const times = Object.entries({ opens_at, closes_at }).map(([field, text]) => {
    const time = text === null ? null : timeIn(text);
    return { field, time };
  });
  const found: Found = times.flatMap(({ field, time }): Found =>
    time === undefined ? [[field, "Must be a valid time with an offset."]] : [],
  );
  const [opens, closes] = times.map(({ time }) => time ?? null);
  if (opens != null && closes != null && closes <= opens) {
    found.push(["closes_at", "Must be later than opens_at."]);
  }
  return faultsOf(found);
}

export interface SessionContext {
  readonly isRoom: (id: string) => boolean;
  readonly isSpeaker: (id: string) => boolean;
  /** Returns the id of the session with the given `import_id`. */
  readonly imported: (importId: string) => string | undefined;
}

export function sessionFaults(
  session: Session,
  { isRoom, isSpeaker, imported }: SessionContext,
): Faults | undefined {
  const { room_id, speaker_ids, links, stream, recording, import_id } = session;
  const found: Found = [];
  if (room_id !== null && !isRoom(room_id)) {
    found.push(["room_id", "The world has no such room."]);
  }
  speaker_ids.forEach((id, i) => {
    if (!isSpeaker(id)) {
      found.push([`speaker_ids.${i}`, "The world has no such speaker."]);
    } else if (speaker_ids.indexOf(id) !== i) {
      found.push([`speaker_ids.${i}`, "Must not be listed twice."]);
    }
  });
  found.push(...linkFaults(links));
  if (stream) {
    const { url, alternatives = [] } = stream;
    if (!isAddress(url)) found.push(["stream.url", BAD_ADDRESS]);
    alternatives.forEach(({ url }, i) => {
      if (isAddress(url)) return;
      found.push([`stream.alternatives.${i}.url`, BAD_ADDRESS]);
    });
  }
  if (recording && !isAddress(recording.url)) {
    found.push(["recording.url", BAD_ADDRESS]);
  }
  if (import_id !== null && (imported(import_id) ?? session.id) !== session.id) {
    found.push(["import_id", "Another session already has it."]);
  }
  return faultsOf(found);
}

export interface SpeakerContext {
  readonly isUser: (id: string) => boolean;
  readonly isUpload: (url: string) => boolean;
  /** Returns the id of the speaker with the given `import_id`. */
  readonly imported: (importId: string) => string | undefined;
}

export function speakerFaults(
  { id, links, picture, user_id, import_id }: Speaker,
  { isUser, isUpload, imported }: SpeakerContext,
): Faults | undefined {
  const found: Found = linkFaults(links);
  if (picture !== null && !isUpload(picture)) {
    found.push(["picture", "Must be the URL of an upload in this world."]);
  }
  if (user_id !== null && !isUser(user_id)) {
    found.push(["user_id", "The world has no such user."]);
  }
  if (import_id !== null && (imported(import_id) ?? id) !== id) {
    found.push(["import_id", "Another speaker already has it."]);
  }
  return faultsOf(found);
}

/** Builds the rejection of a write with invalid values. An `import_id` is invalid only if it is taken. */
export const refused = (faults: Faults): RejectedWrite => {
  const isTaken = Object.keys(faults).join() === "import_id";
  return { faults, ...(isTaken && { problem: "taken" }) };
};

export const refusedSize = (faults: Faults): RejectedWrite => ({ faults, problem: "quota" });

export interface ProgramSize {
  readonly sessions: number;
  readonly speakers: number;
  /** The total size of all sessions and speakers as JSON, in characters. */
  readonly characters: number;
}

export function sizeFaults(size: ProgramSize): Faults | undefined {
  for (const kind of ["sessions", "speakers"] as const) {
    if (size[kind] > MAX_PROGRAM) {
      const message = `A world may have at most ${MAX_PROGRAM} ${kind}.`;
      return { non_field_errors: [message] };
    }
  }
  if (size.characters <= MAX_PROGRAM_SIZE) return undefined;
  const message = `The program of a world may have at most ${MAX_PROGRAM_SIZE / 2 ** 20} Mi characters.`;
  return { non_field_errors: [message] };
}

/** Returns warnings about sessions that take place in the same room at the same time as the given session. */
export function overlaps(session: Session, others: Iterable<Session>): Warning[] {
  const { id, room_id, starts_at, ends_at } = session;
  const warnings: Warning[] = [];
  if (room_id === null || starts_at === null || ends_at === null) return [];
  for (const other of others) {
    if (other.id === id || other.room_id !== room_id) continue;
    if (other.starts_at === null || other.ends_at === null) continue;
    // UTC times with milliseconds can be compared as strings.
    if (other.starts_at >= ends_at || other.ends_at <= starts_at) continue;
    const message = `Overlaps “${other.title}”.`;
    warnings.push({ field: "starts_at", message, session_id: other.id });
    if (warnings.length === MAX_WARNINGS) break;
  }
  return warnings;
}
