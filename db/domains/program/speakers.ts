import type { Faults } from "../../../schemas/errors.js";
import type { Speaker, SpeakerChanges, SpeakerDraft } from "../../../schemas/program/program.js";
import type { RejectedWrite } from "../../contract/program-store.js";
import { absent, expectVersion } from "../../rules/preconditions.js";
import { refused, refusedSize, speakerFaults } from "../../rules/program-checks.js";
import {
  changedFields,
  isSameRow,
  newSpeaker,
  SESSION_COLUMNS,
  sessionOf,
  sessionRow,
  type SessionRow,
  sizeOfRow,
  SPEAKER_COLUMNS,
  speakerOf,
  speakerRow,
  type SpeakerRow,
} from "../../rules/program-rows.js";
import type { DomainLog, Sql } from "../domain.js";
import { isWorld, referencesOf, tooLarge } from "./program-reads.js";
import { Changes, forgetEdits, markEdits, storeSessions, storeSpeakers } from "./stamps.js";

const GET = `SELECT ${SPEAKER_COLUMNS} FROM program_speakers WHERE world_id = $1 AND id = $2`;

const IMPORTED = "SELECT id FROM program_speakers WHERE world_id = $1 AND import_id = $2";

// Ids are UUIDs, which contain no wildcards.
const NAMING = `SELECT ${SESSION_COLUMNS} FROM program_sessions
  WHERE world_id = $1 AND detail LIKE '%' || $2 || '%'`;

const DELETE = "DELETE FROM program_speakers WHERE world_id = $1 AND id = $2";

export const speakerWrites = (sql: Sql, log: DomainLog) => ({
  async createSpeaker(
    world: string,
    draft: SpeakerDraft,
    hosts: readonly string[],
  ): Promise<SpeakerRow | RejectedWrite> {
    if (!(await isWorld(sql, world))) throw absent("world");
    const speaker = newSpeaker(draft);
    const faults = await faultsOf(sql, world, speaker, hosts);
    if (faults) return refused(faults);
    const row = speakerRow(speaker, 1);
    const growth = { speakers: 1, characters: sizeOfRow(row) };
    const large = await tooLarge(sql, world, growth);
    if (large) return refusedSize(large);
    await storeSpeakers(sql, world, [row]);
    const changes = new Changes();
    changes.speaker([]);
    await changes.store(sql, world);
    log.append(world, { type: "speaker.created", speaker: speaker.id });
    return row;
  },

  async updateSpeaker(
    world: string,
    id: string,
    asked: SpeakerChanges,
    hosts: readonly string[],
    versions?: readonly string[],
  ): Promise<SpeakerRow | RejectedWrite> {
    const row = await find(sql, world, id, versions);
    const before = speakerOf(row).value;
    const speaker = { ...before, ...asked, id };
    const faults = await faultsOf(sql, world, speaker, hosts, before);
    if (faults) return refused(faults);
    const after = speakerRow(speaker, row.revision + 1);
    const growth = { characters: sizeOfRow(after) - sizeOfRow(row) };
    const large = await tooLarge(sql, world, growth);
    if (large) return refusedSize(large);
    const fields = changedFields(before, speaker);
    log.append(world, { type: "speaker.updated", speaker: id, fields });
    if (isSameRow(row, after)) return row;
    await markEdits(sql, world, before, fields);
    await storeSpeakers(sql, world, [after]);
    const changes = new Changes();
    changes.speaker(await sessionsNaming(sql, world, id));
    await changes.store(sql, world);
    return after;
  },

  async deleteSpeaker(world: string, id: string, versions?: readonly string[]): Promise<void> {
    await find(sql, world, id, versions);
    const sessions = await sessionsNaming(sql, world, id);
    const rows = sessions.map(({ revision, ...session }) => {
      const speaker_ids = session.speaker_ids.filter((other) => other !== id);
      return sessionRow({ ...session, speaker_ids }, revision + 1);
    });
    await storeSessions(sql, world, rows);
    await sql.run(DELETE, [world, id]);
    await forgetEdits(sql, world, [id]);
    log.erased("program_speakers");
    const changes = new Changes();
    changes.speaker(sessions);
    await changes.store(sql, world);
    for (const session of sessions) {
      log.append(world, { type: "session.updated", session: session.id, fields: ["speaker_ids"] });
    }
    log.append(world, { type: "speaker.deleted", speaker: id });
  },

  async mergeSpeakers(
    world: string,
    id: string,
    other: string,
    versions?: readonly string[],
  ): Promise<SpeakerRow> {
    const row = await find(sql, world, id, versions);
    if (id === other) return row;
    const [into, from] = [row, await find(sql, world, other, undefined)].map(
      (row) => speakerOf(row).value,
    ) as [Speaker, Speaker];
    const merged = mergedSpeaker(into, from);
    const after = speakerRow(merged, row.revision + 1);
    const sessions = await sessionsNaming(sql, world, other);
    const rows = sessions.map(({ revision, ...session }) => {
      const named = session.speaker_ids.map((each) => (each === other ? id : each));
      return sessionRow({ ...session, speaker_ids: [...new Set(named)] }, revision + 1);
    });
    await storeSessions(sql, world, rows);
    await sql.run(DELETE, [world, other]);
    await forgetEdits(sql, world, [other]);
    log.erased("program_speakers");
    await storeSpeakers(sql, world, [after]);
    const changes = new Changes();
    changes.speaker([...sessions, ...(await sessionsNaming(sql, world, id))]);
    await changes.store(sql, world);
    for (const session of sessions) {
      await markEdits(sql, world, session, ["speaker_ids"]);
      log.append(world, { type: "session.updated", session: session.id, fields: ["speaker_ids"] });
    }
    const fields = changedFields(into, merged);
    log.append(world, { type: "speaker.updated", speaker: id, fields });
    log.append(world, { type: "speaker.deleted", speaker: other });
    return after;
  },
});

/** Returns a speaker who has what they lack from another record of the same person. */
const mergedSpeaker = (into: Speaker, from: Speaker): Speaker => ({
  ...into,
  biography: into.biography || from.biography,
  organization: into.organization || from.organization,
  links: into.links.length > 0 ? into.links : from.links,
  picture: into.picture ?? from.picture,
  user_id: into.user_id ?? from.user_id,
  import_id: into.import_id ?? from.import_id,
});

/** Returns the sessions that name a speaker, with their revisions. */
export async function sessionsNaming(sql: Sql, world: string, id: string) {
  const rows = await sql.all<SessionRow>(NAMING, [world, id]);
  return rows
    .map((row) => ({ ...sessionOf(row).value, revision: row.revision }))
    .filter(({ speaker_ids }) => speaker_ids.includes(id));
}

/** @throws {StoreError} `absent` or `changed`. */
async function find(
  sql: Sql,
  world: string,
  id: string,
  versions: readonly string[] | undefined,
): Promise<SpeakerRow> {
  const row = await sql.one<SpeakerRow>(GET, [world, id]);
  if (!row) throw absent("speaker");
  expectVersion(() => speakerOf(row).version, versions);
  return row;
}

/** Returns a speaker's faults. @param before the speaker's current values, which may always stay. */
async function faultsOf(
  sql: Sql,
  world: string,
  speaker: Speaker,
  hosts: readonly string[],
  before?: Speaker,
): Promise<Faults | undefined> {
  const { import_id } = speaker;
  const { isUser, isUpload } = await referencesOf(sql, world, [speaker], hosts);
  const imported =
    import_id === null ? undefined : await sql.value<string>(IMPORTED, [world, import_id]);
  return speakerFaults(speaker, {
    isUser: (id) => id === before?.user_id || isUser(id),
    isUpload: (url) => url === before?.picture || isUpload(url),
    imported: () => imported,
  });
}
