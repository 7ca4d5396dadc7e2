import type { Faults } from "../../../schemas/errors.js";
import type {
  Session,
  SessionChanges,
  SessionDraft,
  Warning,
} from "../../../schemas/program/program.js";
import type { RejectedWrite } from "../../contract/program-store.js";
import { absent, expectVersion } from "../../rules/preconditions.js";
import {
  overlaps,
  refused,
  refusedSize,
  sessionFaults,
  withTimes,
} from "../../rules/program-checks.js";
import {
  changedSession,
  isSameRow,
  newSession,
  SESSION_COLUMNS,
  sessionChanges,
  sessionOf,
  sessionRow,
  type SessionRow,
  sizeOfRow,
} from "../../rules/program-rows.js";
import { type RunRequest, runSession } from "../../../schemas/plain/stage/run.js";
import type { DomainLog, Sql } from "../domain.js";
import { isRoom, isWorld, knownSpeakers, tooLarge } from "./program-reads.js";
import { Changes, markEdits, removeSessions, storeSessions } from "./stamps.js";

const GET = `SELECT ${SESSION_COLUMNS} FROM program_sessions WHERE world_id = $1 AND id = $2`;

const IMPORTED = "SELECT id FROM program_sessions WHERE world_id = $1 AND import_id = $2";

const OVERLAPPING = `SELECT ${SESSION_COLUMNS} FROM program_sessions
  WHERE world_id = $1 AND room_id = $2 AND starts_at < $3 AND ends_at > $4
  ORDER BY starts_at, title, id LIMIT 51`;

const OF_ROOM = `SELECT ${SESSION_COLUMNS} FROM program_sessions
  WHERE world_id = $1 AND room_id = $2 AND state = 'public' AND starts_at IS NOT NULL
  ORDER BY starts_at, title, id`;

export interface StoredSession {
  readonly row: SessionRow;
  readonly warnings: readonly Warning[];
}

export const sessionWrites = (sql: Sql, log: DomainLog) => ({
  async createSession(world: string, draft: SessionDraft): Promise<StoredSession | RejectedWrite> {
    if (!(await isWorld(sql, world))) throw absent("world");
    const { session, faults } = await checked(sql, world, newSession(draft));
    if (faults) return refused(faults);
    const row = sessionRow(session, 1);
    const growth = { sessions: 1, characters: sizeOfRow(row) };
    const large = await tooLarge(sql, world, growth);
    if (large) return refusedSize(large);
    await storeSessions(sql, world, [row]);
    const changes = new Changes();
    changes.session(session);
    await changes.store(sql, world);
    log.append(world, {
      type: "session.created",
      session: session.id,
      changes: sessionChanges(undefined, session),
    });
    return { row, warnings: await warningsOf(sql, world, session) };
  },

  async updateSession(
    world: string,
    id: string,
    asked: SessionChanges,
    versions?: readonly string[],
  ): Promise<StoredSession | RejectedWrite> {
    const row = await find(sql, world, id, versions);
    const before = sessionOf(row).value;
    const { session, faults } = await checked(sql, world, changedSession(before, asked));
    if (faults) return refused(faults);
    const after = sessionRow(session, row.revision + 1);
    if (isSameRow(row, after)) {
      log.append(world, { type: "session.updated", session: id });
      return { row, warnings: await warningsOf(sql, world, session) };
    }
    const growth = { characters: sizeOfRow(after) - sizeOfRow(row) };
    const large = await tooLarge(sql, world, growth);
    if (large) return refusedSize(large);
    await storeSessions(sql, world, [after]);
    const changes = new Changes();
    changes.session(before);
    changes.session(session);
    await changes.store(sql, world);
    const changed = sessionChanges(before, session);
    await markEdits(
      sql,
      world,
      before,
      changed.map(({ field }) => field),
    );
    log.append(world, { type: "session.updated", session: id, changes: changed });
    return { row: after, warnings: await warningsOf(sql, world, session) };
  },

  async deleteSession(world: string, id: string, versions?: readonly string[]): Promise<void> {
    const before = sessionOf(await find(sql, world, id, versions)).value;
    await removeSessions(sql, log, world, [id]);
    const changes = new Changes();
    changes.session(before);
    await changes.store(sql, world);
    log.append(world, {
      type: "session.deleted",
      session: id,
      changes: sessionChanges(before, undefined),
    });
  },

  async runSession(
    world: string,
    room: string,
    asked: RunRequest,
    times: { now: number; overrun: number },
  ): Promise<string[] | undefined> {
    const rows = await sql.all<SessionRow>(OF_ROOM, [world, room]);
    const sessions = rows.map((row) => sessionOf(row).value);
    const moved = runSession(sessions, asked, times.now, times.overrun);
    if (moved === undefined) {
      const isInRoom = sessions.some(({ id }) => id === asked.session);
      if (!isInRoom) throw absent("session");
      return undefined;
    }
    if (moved.length === 0) return [];
    const changes = new Changes();
    const after: SessionRow[] = [];
    for (const { id, ...asked } of moved) {
      const i = sessions.findIndex((session) => session.id === id);
      const before = sessions[i]!;
      const session = changedSession(before, asked);
      after.push(sessionRow(session, rows[i]!.revision + 1));
      changes.session(session);
      const changed = sessionChanges(before, session);
      await markEdits(
        sql,
        world,
        before,
        changed.map(({ field }) => field),
      );
      log.append(world, { type: "session.updated", session: id, changes: changed });
    }
    await storeSessions(sql, world, after);
    await changes.store(sql, world);
    return moved.map(({ id }) => id);
  },
});

/** @throws {StoreError} `absent` or `changed`. */
async function find(
  sql: Sql,
  world: string,
  id: string,
  versions: readonly string[] | undefined,
): Promise<SessionRow> {
  const row = await sql.one<SessionRow>(GET, [world, id]);
  if (!row) throw absent("session");
  expectVersion(() => sessionOf(row).version, versions);
  return row;
}

/** Returns a session with its times in UTC, along with all faults found in the session. */
async function checked(
  sql: Sql,
  world: string,
  given: Session,
): Promise<{ session: Session; faults: Faults | undefined }> {
  const { session, faults: times } = withTimes(given);
  const { room_id, speaker_ids, import_id } = session;
  const hasRoom = await isRoom(sql, world, room_id);
  const speakers = await knownSpeakers(sql, world, speaker_ids);
  const imported =
    import_id === null ? undefined : await sql.value<string>(IMPORTED, [world, import_id]);
  const others = sessionFaults(session, {
    isRoom: () => hasRoom,
    isSpeaker: (id) => speakers.has(id),
    imported: () => imported,
  });
  const faults = times || others ? { ...times, ...others } : undefined;
  return { session, faults };
}

async function warningsOf(sql: Sql, world: string, session: Session): Promise<Warning[]> {
  const { room_id, starts_at, ends_at } = session;
  if (room_id === null || starts_at === null || ends_at === null) return [];
  const rows = await sql.all<SessionRow>(OVERLAPPING, [
    world,
    room_id,
    Date.parse(ends_at),
    Date.parse(starts_at),
  ]);
  return overlaps(
    session,
    rows.map((row) => sessionOf(row).value),
  );
}
