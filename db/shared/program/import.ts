import type {
  ImportOptions,
  ImportResult,
  ProgramDocument,
} from "../../../schemas/program-document.js";
import type { Faults } from "../../../schemas/errors.js";
import type { Speaker } from "../../../schemas/program.js";
import type { ImportScope } from "../../contract/program.js";
import { absent } from "../../rules/preconditions.js";
import { type ProgramSize, sizeFaults } from "../../rules/program-checks.js";
import { type ImportPlan, planImport } from "../../rules/program-import.js";
import {
  sessionOf,
  sessionRow,
  type SessionRow,
  sizeOfRow,
  speakerOf,
  speakerRow,
  type SpeakerRow,
} from "../../rules/program-rows.js";
import type { DomainLog } from "../domain.js";
import type { Sql } from "../sql.js";
import { isWorld, referencesOf } from "./context.js";
import { SESSIONS, SPEAKERS } from "./reads.js";
import {
  insertSessions,
  insertSpeakers,
  replaceSession,
  replaceSpeaker,
} from "./rows.js";
import { addRooms } from "./rooms.js";
import { changedFields, removeSession } from "./sessions.js";
import { Changes } from "./stamps.js";

const ROOMS =
  "SELECT id, name FROM rooms WHERE world_id = $1 ORDER BY sorting_priority, name, id";

/** The write of an import. */
export const importWrites = (sql: Sql, log: DomainLog) => ({
  async import(
    world: string,
    document: ProgramDocument,
    options: ImportOptions,
    { visibleRooms, hosts }: ImportScope,
  ): Promise<ImportResult | { faults: Faults }> {
    if (!(await isWorld(sql, world))) throw absent("world");
    const sessions = await sql.all<SessionRow>(SESSIONS, [world]);
    const speakers = await sql.all<SpeakerRow>(SPEAKERS, [world]);
    const rooms = await sql.all<{ id: string; name: string }>(ROOMS, [world]);
    const visible = new Set(visibleRooms);
    const references = await referencesOf(
      sql,
      world,
      document.speakers.map(({ fields }) => fields),
      hosts,
    );
    const before = {
      sessions: new Map(sessions.map((row) => [row.id, row])),
      speakers: new Map(speakers.map((row) => [row.id, row])),
    };
    const plan = planImport(
      document,
      {
        sessions: sessions.map((row) => sessionOf(row).value),
        speakers: speakers.map((row) => speakerOf(row).value),
        rooms: rooms.map((room) => ({
          ...room,
          isVisible: visible.has(room.id),
        })),
        ...references,
      },
      options,
    );
    const faults = sizeFaults(sizeAfter(before, plan));
    if (faults) return { faults };
    if (plan.isEmpty || options.dryRun) return plan.result;
    await addRooms(sql, log, world, plan.rooms);
    await write(sql, world, plan, before);
    append(log, world, plan, before);
    return plan.result;
  },
});

/** What was there before, by id. */
interface Before {
  readonly sessions: ReadonlyMap<string, SessionRow>;
  readonly speakers: ReadonlyMap<string, SpeakerRow>;
}

/** The size of a program after an import. */
function sizeAfter(
  before: Before,
  { sessions, speakers }: ImportPlan,
): ProgramSize {
  const after = new Map<string, SessionRow | SpeakerRow>([
    ...before.sessions,
    ...before.speakers,
  ]);
  for (const session of [...sessions.created, ...sessions.updated]) {
    after.set(session.id, sessionRow(session, 0));
  }
  for (const speaker of [...speakers.created, ...speakers.updated]) {
    after.set(speaker.id, speakerRow(speaker, 0));
  }
  for (const id of sessions.deleted) after.delete(id);
  const rows = [...after.values()];
  const inSessions = rows.filter((row) => "title" in row).length;
  return {
    sessions: inSessions,
    speakers: rows.length - inSessions,
    characters: rows.reduce((sum, row) => sum + sizeOfRow(row), 0),
  };
}

async function write(
  sql: Sql,
  world: string,
  { sessions, speakers }: ImportPlan,
  before: Before,
): Promise<void> {
  const changes = new Changes();
  await insertSpeakers(
    sql,
    world,
    speakers.created.map((speaker) => speakerRow(speaker, 1)),
  );
  for (const speaker of speakers.updated) {
    const { revision } = before.speakers.get(speaker.id)!;
    await replaceSpeaker(sql, world, speakerRow(speaker, revision + 1));
  }
  await insertSessions(
    sql,
    world,
    sessions.created.map((session) => sessionRow(session, 1)),
  );
  for (const session of sessions.updated) {
    const row = before.sessions.get(session.id)!;
    changes.session(sessionOf(row).value);
    const after = sessionRow(session, row.revision + 1);
    await replaceSession(sql, world, after);
  }
  for (const id of sessions.deleted) {
    changes.session(sessionOf(before.sessions.get(id)!).value);
    await removeSession(sql, world, id);
  }
  for (const session of [...sessions.created, ...sessions.updated]) {
    changes.session(session);
  }
  noteSpeakers(changes, before, speakers);
  await changes.store(sql, world);
}

/** Notes the places at which changed speakers are named. */
function noteSpeakers(
  changes: Changes,
  before: Before,
  {
    created,
    updated,
  }: { created: readonly Speaker[]; updated: readonly Speaker[] },
): void {
  if (created.length + updated.length === 0) return;
  // Sessions that name new speakers are new or changed themselves.
  const ids = new Set(updated.map(({ id }) => id));
  const naming = [...before.sessions.values()]
    .map((row) => sessionOf(row).value)
    .filter(({ speaker_ids }) => speaker_ids.some((id) => ids.has(id)));
  changes.speaker(naming);
}

/** Appends the changed sessions, and one entry for all of the import. */
function append(
  log: DomainLog,
  world: string,
  { sessions }: ImportPlan,
  before: Before,
): void {
  const { created, updated, deleted } = sessions;
  for (const { id } of created) {
    log.append(world, { type: "session.created", session: id });
  }
  for (const session of updated) {
    const former = sessionOf(before.sessions.get(session.id)!).value;
    log.append(world, {
      type: "session.updated",
      session: session.id,
      fields: changedFields(former, session),
    });
  }
  for (const id of deleted) {
    log.append(world, { type: "session.deleted", session: id });
  }
  log.append(world, {
    type: "program.imported",
    created: created.length,
    updated: updated.length,
    deleted: deleted.length,
  });
}
