import type {
  ImportOptions,
  ImportResult,
  ProgramDocument,
} from "../../../schemas/documents/program-document.js";
import type { Faults } from "../../../schemas/errors.js";
import type { Session, Speaker } from "../../../schemas/program/program.js";
import type { ImportScope } from "../../contract/program.js";
import { absent, changed } from "../../rules/preconditions.js";
import { type ProgramSize, sizeFaults } from "../../rules/program-checks.js";
import { type ImportPlan, planImport } from "../../rules/program-import.js";
import {
  sessionIn,
  sessionRow,
  type SessionRow,
  sizeOfRow,
  speakerIn,
  speakerRow,
  type SpeakerRow,
} from "../../rules/program-rows.js";
import type { DomainLog } from "../domain.js";
import type { Sql } from "../sql.js";
import { isWorld, referencesOf } from "./context.js";
import { SESSIONS, SPEAKERS, STAMP } from "./reads.js";
import { removeSessions, storeSessions, storeSpeakers } from "./rows.js";
import { addRooms } from "./rooms.js";
import { changedFields } from "./sessions.js";
import { Changes } from "./stamps.js";

const ROOMS =
  "SELECT id, name FROM rooms WHERE world_id = $1 ORDER BY sorting_priority, name, id";

/** The write of an import. */
export const importWrites = (sql: Sql, log: DomainLog) => ({
  async import(
    world: string,
    document: ProgramDocument,
    options: ImportOptions,
    { visibleRooms, hosts, stamp }: ImportScope,
  ): Promise<ImportResult | { faults: Faults }> {
    if (!(await isWorld(sql, world))) throw absent("world");
    const present = (await sql.value<string>(STAMP, [world])) ?? "";
    if (stamp !== undefined && stamp !== present) throw changed();
    const before: Before = {
      sessions: await known(sql, SESSIONS, world, sessionIn),
      speakers: await known(sql, SPEAKERS, world, speakerIn),
    };
    const rooms = await sql.all<{ id: string; name: string }>(ROOMS, [world]);
    const visible = new Set(visibleRooms);
    const references = await referencesOf(
      sql,
      world,
      document.speakers.map(({ fields }) => fields),
      hosts,
    );
    const plan = planImport(
      document,
      {
        sessions: valuesOf(before.sessions),
        speakers: valuesOf(before.speakers),
        rooms: rooms.filter(({ id }) => visible.has(id)),
        ...references,
      },
      options,
    );
    const after = rowsAfter(before, plan);
    const faults = sizeFaults(sizeAfter(before, after, plan));
    if (faults) return { faults };
    if (plan.isEmpty || options.dryRun) return plan.result;
    await addRooms(sql, log, world, plan.rooms);
    await storeSpeakers(sql, world, after.speakers);
    await storeSessions(sql, world, after.sessions);
    await removeSessions(sql, world, plan.sessions.deleted);
    await changesOf(before, plan).store(sql, world);
    append(log, world, plan, before);
    return plan.result;
  },
});

/** A row, and what is in it. */
interface Known<R, T> {
  readonly row: R;
  readonly value: T;
}

/** What was there before, by id. */
interface Before {
  readonly sessions: ReadonlyMap<string, Known<SessionRow, Session>>;
  readonly speakers: ReadonlyMap<string, Known<SpeakerRow, Speaker>>;
}

async function known<R extends { id: string }, T>(
  sql: Sql,
  statement: string,
  world: string,
  valueIn: (row: R) => T,
): Promise<Map<string, Known<R, T>>> {
  const rows = await sql.all<R>(statement, [world]);
  return new Map(rows.map((row) => [row.id, { row, value: valueIn(row) }]));
}

const valuesOf = <R, T>(known: ReadonlyMap<string, Known<R, T>>): T[] =>
  Array.from(known.values(), ({ value }) => value);

/** The rows that an import writes. */
interface After {
  readonly sessions: readonly SessionRow[];
  readonly speakers: readonly SpeakerRow[];
}

function rowsAfter(before: Before, { sessions, speakers }: ImportPlan): After {
  const revision = (known: Known<{ revision: number }, unknown> | undefined) =>
    (known?.row.revision ?? 0) + 1;
  return {
    sessions: [...sessions.created, ...sessions.updated].map((session) =>
      sessionRow(session, revision(before.sessions.get(session.id))),
    ),
    speakers: [...speakers.created, ...speakers.updated].map((speaker) =>
      speakerRow(speaker, revision(before.speakers.get(speaker.id))),
    ),
  };
}

/** The size of a program after an import. */
function sizeAfter(
  before: Before,
  after: After,
  { sessions, speakers }: ImportPlan,
): ProgramSize {
  const charactersOf = (rows: Iterable<SessionRow | SpeakerRow>) =>
    Array.from(rows, sizeOfRow).reduce((sum, size) => sum + size, 0);
  const present = [...before.sessions.values(), ...before.speakers.values()];
  const gone = [
    ...sessions.updated.map(({ id }) => before.sessions.get(id)!.row),
    ...sessions.deleted.map((id) => before.sessions.get(id)!.row),
    ...speakers.updated.map(({ id }) => before.speakers.get(id)!.row),
  ];
  return {
    sessions:
      before.sessions.size + sessions.created.length - sessions.deleted.length,
    speakers: before.speakers.size + speakers.created.length,
    characters:
      charactersOf(present.map(({ row }) => row)) -
      charactersOf(gone) +
      charactersOf([...after.sessions, ...after.speakers]),
  };
}

/** Where an import changes the program. */
function changesOf(
  before: Before,
  { sessions, speakers }: ImportPlan,
): Changes {
  const changes = new Changes();
  for (const session of [...sessions.created, ...sessions.updated]) {
    changes.session(session);
  }
  for (const { id } of sessions.updated) {
    changes.session(before.sessions.get(id)!.value);
  }
  for (const id of sessions.deleted) {
    changes.session(before.sessions.get(id)!.value);
  }
  if (speakers.created.length + speakers.updated.length > 0) {
    // Sessions that name new speakers are new or changed themselves.
    const ids = new Set(speakers.updated.map(({ id }) => id));
    changes.speaker(
      valuesOf(before.sessions).filter(({ speaker_ids }) =>
        speaker_ids.some((id) => ids.has(id)),
      ),
    );
  }
  return changes;
}

/** Appends the changed speakers and sessions, and one entry for all of the import. */
function append(
  log: DomainLog,
  world: string,
  { sessions, speakers }: ImportPlan,
  before: Before,
): void {
  for (const { id } of speakers.created) {
    log.append(world, { type: "speaker.created", speaker: id });
  }
  for (const speaker of speakers.updated) {
    const former = before.speakers.get(speaker.id)!.value;
    log.append(world, {
      type: "speaker.updated",
      speaker: speaker.id,
      fields: changedFields(former, speaker),
    });
  }
  const { created, updated, deleted } = sessions;
  for (const { id } of created) {
    log.append(world, { type: "session.created", session: id });
  }
  for (const session of updated) {
    const former = before.sessions.get(session.id)!.value;
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
