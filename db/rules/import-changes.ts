import { createHash } from "node:crypto";
import type {
  ImportOptions,
  ImportResult,
  ProgramDocument,
} from "../../schemas/documents/program-document.js";
import type { Faults } from "../../schemas/errors.js";
import type { Session, Speaker } from "../../schemas/program/program.js";
import type {
  ImportChanges,
  ImportReferences,
  NewRoom,
  Program,
} from "../contract/program-store.js";
import { type ProgramSize, sizeFaults } from "./program-checks.js";
import { type ImportPlan, planImport } from "./program-import.js";
import {
  changedFields,
  sessionChanges,
  sessionRow,
  type SessionRow,
  sizeOfRow,
  speakerRow,
  type SpeakerRow,
} from "./program-rows.js";
import { ScopeChanges } from "./program-views.js";

// An import is planned from a snapshot, in a thread, because the comparison is slow. The write then
// checks that the world has not changed since the snapshot.

interface NamedRoom {
  readonly id: string;
  readonly name: string;
}

/** The state that an import is compared with, in the form that is passed to a thread. */
export interface ImportBasis {
  readonly stamp: string;
  /** As JSON. */
  readonly sessions: readonly string[];
  readonly speakers: readonly string[];
  readonly revisions: Program["revisions"];
  /** The {@link roomsDigest} of all rooms. */
  readonly rooms: string;
  /** The rooms that the author may see, in order. */
  readonly visible: readonly NamedRoom[];
  /** The visible rooms whose modules and rules new rooms copy. */
  readonly models: readonly NewRoom[];
  /** The manually edited fields, by the id of the session or speaker. */
  readonly edits: Readonly<Record<string, readonly string[]>>;
  /** The users that the document names and that exist in the world. In the same way, `pictures` lists uploads. */
  readonly users: readonly string[];
  readonly pictures: readonly string[];
}

/** Hashes the ids and names of a world's rooms, in order. An import finds rooms by name. */
export const roomsDigest = (rooms: readonly NamedRoom[]): string => {
  const text = JSON.stringify(rooms.map(({ id, name }) => [id, name]));
  return createHash("sha256").update(text).digest("base64url");
};

export function referencesIn({ speakers }: ProgramDocument): ImportReferences {
  const all = (values: (string | null | undefined)[]) => [
    ...new Set(values.filter((value) => typeof value === "string")),
  ];
  return {
    users: all(speakers.map(({ fields }) => fields.user_id)),
    pictures: all(speakers.map(({ fields }) => fields.picture)),
  };
}

/** The result of an import, and the changes to write. */
export interface PlannedImport {
  readonly result: ImportResult;
  /** Undefined if there is nothing to write. */
  readonly changes: ImportChanges | undefined;
}

export function planChanges(
  document: ProgramDocument,
  basis: ImportBasis,
  options: ImportOptions,
): PlannedImport | { faults: Faults } {
  const before = {
    sessions: basis.sessions.map((json) => JSON.parse(json) as Session),
    speakers: basis.speakers.map((json) => JSON.parse(json) as Speaker),
  };
  const [users, pictures] = [new Set(basis.users), new Set(basis.pictures)];
  const present = {
    ...before,
    rooms: basis.visible,
    models: basis.models,
    edits: basis.edits,
    isUser: (id: string) => users.has(id),
    isUpload: (url: string) => pictures.has(url),
  };
  const plan = planImport(document, present, options);
  const after = rowsAfter(plan, basis);
  const faults = sizeFaults(sizeAfter(before, after, plan));
  if (faults) return { faults };
  const { result } = plan;
  if (plan.isEmpty || options.dryRun) return { result, changes: undefined };
  const { stamp, rooms } = basis;
  const changes: ImportChanges = {
    basis: { stamp, rooms, users: basis.users, pictures: basis.pictures },
    rooms: plan.rooms,
    ...after,
    deleted: plan.sessions.deleted,
    followed: plan.followed,
    places: scopesOf(before, plan),
    entries: entriesOf(before, plan),
  };
  return { result, changes };
}

interface Before {
  readonly sessions: readonly Session[];
  readonly speakers: readonly Speaker[];
}

interface After {
  readonly sessions: readonly SessionRow[];
  readonly speakers: readonly SpeakerRow[];
}

function rowsAfter({ sessions, speakers }: ImportPlan, { revisions }: ImportBasis): After {
  const revision = ({ id }: { id: string }) => (revisions.get(id) ?? -1) + 2;
  return {
    sessions: [...sessions.created, ...sessions.updated].map((session) =>
      sessionRow(session, revision(session)),
    ),
    speakers: [...speakers.created, ...speakers.updated].map((speaker) =>
      speakerRow(speaker, revision(speaker)),
    ),
  };
}

function sizeAfter(before: Before, after: After, { sessions, speakers }: ImportPlan): ProgramSize {
  const charactersOf = (rows: readonly (SessionRow | SpeakerRow)[]) =>
    rows.reduce((sum, row) => sum + sizeOfRow(row), 0);
  const replaced = new Set([
    ...sessions.deleted,
    ...[...sessions.updated, ...speakers.updated].map(({ id }) => id),
  ]);
  const isKept = ({ id }: { id: string }) => !replaced.has(id);
  const kept = [
    ...before.sessions.filter(isKept).map((one) => sessionRow(one, 0)),
    ...before.speakers.filter(isKept).map((one) => speakerRow(one, 0)),
  ];
  return {
    sessions: before.sessions.length + sessions.created.length - sessions.deleted.length,
    speakers: before.speakers.length + speakers.created.length,
    characters: charactersOf([...kept, ...after.sessions, ...after.speakers]),
  };
}

function scopesOf(before: Before, { sessions, speakers }: ImportPlan) {
  const former = new Map(before.sessions.map((one) => [one.id, one]));
  const changes = new ScopeChanges();
  for (const session of [...sessions.created, ...sessions.updated]) {
    changes.session(session);
  }
  for (const { id } of sessions.updated) changes.session(former.get(id)!);
  for (const id of sessions.deleted) changes.session(former.get(id)!);
  if (speakers.created.length + speakers.updated.length > 0) {
    // Sessions that name a new speaker are themselves new or changed.
    const ids = new Set(speakers.updated.map(({ id }) => id));
    changes.speaker(
      before.sessions.filter(({ speaker_ids }) => speaker_ids.some((id) => ids.has(id))),
    );
  }
  return changes.list();
}

/** Builds the log entries: one for each changed speaker and session, and one for the whole import. */
function entriesOf(before: Before, { sessions, speakers }: ImportPlan): ImportChanges["entries"] {
  const formerSpeakers = new Map(before.speakers.map((one) => [one.id, one]));
  const formerSessions = new Map(before.sessions.map((one) => [one.id, one]));
  const fieldsOf = (after: Speaker) => changedFields(formerSpeakers.get(after.id)!, after);
  const { created, updated, deleted } = sessions;
  const entry = (event: "created" | "updated" | "deleted", id: string, after?: Session) =>
    ({
      type: `session.${event}`,
      session: id,
      changes: sessionChanges(formerSessions.get(id), after),
    }) as const;
  return [
    ...speakers.created.map(({ id }) => ({ type: "speaker.created", speaker: id }) as const),
    ...speakers.updated.map(
      (speaker) =>
        ({ type: "speaker.updated", speaker: speaker.id, fields: fieldsOf(speaker) }) as const,
    ),
    ...created.map((session) => entry("created", session.id, session)),
    ...updated.map((session) => entry("updated", session.id, session)),
    ...deleted.map((id) => entry("deleted", id)),
    {
      type: "program.imported",
      created: created.length,
      updated: updated.length,
      deleted: deleted.length,
    },
  ];
}
