import type { EventDates } from "../../schemas/event-dates.js";
import { fileIdOf, previewKeyOf } from "../../schemas/plain/file-types.js";
import {
  type FileDigest,
  type FilePage,
  type FileRecord,
  type PageSelection,
  StoreError,
  type Visitor,
} from "../contract/store.js";
import { FILE_COLUMNS, type FileRow, keyRange, toFile } from "../rules/file-rows.js";
import { absent } from "../rules/preconditions.js";
import { SPEAKER_COLUMNS, speakerIn, speakerRow, type SpeakerRow } from "../rules/program-rows.js";
import { domain, type DomainLog, following, rangeOf, type Reading, type Sql } from "./domain.js";
import { sessionsNaming } from "./program/speakers.js";
import { Changes, storeSpeakers } from "./program/stamps.js";
import { enterUser } from "./users/users.js";
import { configureWorld } from "./worlds/worlds.js";

// Underscores in a key act as wildcards here, so the caller filters the rows again.
const PICTURED = `SELECT ${SPEAKER_COLUMNS} FROM program_speakers
  WHERE world_id = $1 AND picture LIKE '%' || $2`;

const CONFIG = "SELECT config FROM worlds WHERE id = $1";

/**
 * Removes a deleted upload from speakers and from the event's cover.
 * @param key the last part of the upload's URL.
 */
async function uploadDeleted(sql: Sql, log: DomainLog, world: string, key: string): Promise<void> {
  const isIt = (url: unknown) => typeof url === "string" && url.endsWith(`/media/${key}`);
  const rows = await sql.all<SpeakerRow>(PICTURED, [world, key]);
  const pictured = rows.filter(({ picture }) => isIt(picture));
  const changes = new Changes();
  const after = pictured.map((row) =>
    speakerRow({ ...speakerIn(row), picture: null }, row.revision + 1),
  );
  await storeSpeakers(sql, world, after);
  for (const { id } of pictured) {
    changes.speaker(await sessionsNaming(sql, world, id));
    log.append(world, { type: "speaker.updated", speaker: id, fields: ["picture"] });
  }
  if (pictured.length > 0) await changes.store(sql, world);
  const config = (await sql.value<string>(CONFIG, [world]))!;
  const { event } = JSON.parse(config) as { event?: EventDates };
  if (isIt(event?.cover?.url)) {
    await configureWorld(sql, log, world, { config: { event: { ...event, cover: null } } });
  }
}

// A picture's preview is a file with a record of its own, so that copies, checks and erasures need no
// rules for it. Lists show only the picture.
const IS_LISTED = "key NOT LIKE '%.preview.webp'";

const FIND = `SELECT ${FILE_COLUMNS} FROM files
  WHERE world_id = $1 AND key >= $2 AND key < $3 AND ${IS_LISTED}`;

/**
 * Selects a file with a visible record. Files in a hidden world, which is still being imported or
 * deleted, are not selected.
 */
export const HAS_FILE = `SELECT 1 FROM files WHERE key = $1
  AND EXISTS (SELECT 1 FROM worlds WHERE id = files.world_id)`;

const COUNT = `SELECT count(*) FROM files WHERE world_id = $1 AND ${IS_LISTED}`;

const ORDER = "created DESC, number DESC";

const list = (where: string) =>
  `SELECT ${FILE_COLUMNS} FROM files WHERE world_id = $1 AND ${IS_LISTED} AND ${where}
   ORDER BY ${ORDER} LIMIT $2 OFFSET $3`;

const LIST = list("TRUE");
const LIST_AFTER = list(following(ORDER, (i) => `CAST($${4 + i} AS BIGINT)`));

const ADD_BYTES =
  "UPDATE worlds SET file_bytes = file_bytes + $2 WHERE id = $1 RETURNING file_bytes";

const INSERT = `INSERT INTO files (world_id, key, user_id, size, sha256, created)
  VALUES ($1, $2, $3, $4, $5, $6)`;

const REMOVE = "DELETE FROM files WHERE world_id = $1 AND key = $2 RETURNING size";

/** Finds a file in a world by its id, using the index on keys, which contain the id. */
async function find(sql: Sql, world: string, id: string): Promise<FileRow | undefined> {
  const row = await sql.one<FileRow>(FIND, [world, ...keyRange(world, id)]);
  return row && fileIdOf(row.key) === id ? row : undefined;
}

export const fileReads = (sql: Reading) => ({
  has: async (key: string): Promise<boolean> => (await sql.one(HAS_FILE, [key])) !== undefined,

  async get(world: string, id: string): Promise<FileRecord | undefined> {
    const row = await find(sql, world, id);
    return row && toFile(row);
  },

  list: (world: string, selection: PageSelection): Promise<FilePage> =>
    sql.snapshot(async (sql) => {
      const count = (await sql.value<number>(COUNT, [world]))!;
      const { limit, offset } = rangeOf(selection, count);
      const { after } = selection;
      const rows = await sql.all<FileRow>(after ? LIST_AFTER : LIST, [
        world,
        limit,
        offset,
        ...(after ?? []),
      ]);
      return { count, files: rows.map(toFile) };
    }),

  keys: (world: string): Promise<string[]> =>
    sql.column<string>("SELECT key FROM files WHERE world_id = $1", [world]),

  size: async (world: string): Promise<number> =>
    (await sql.value<number>("SELECT file_bytes FROM worlds WHERE id = $1", [world])) ?? 0,
});

export const fileWrites = (sql: Sql, log: DomainLog) => ({
  async add(
    world: string,
    visitor: Visitor,
    file: FileDigest,
    quota: number,
    preview?: FileDigest,
  ): Promise<void> {
    const user = await enterUser(sql, log, world, visitor);
    if (user.moderation_state !== "") {
      throw new StoreError("denied", "The user is banned or silenced.");
    }
    const all = preview ? [file, preview] : [file];
    const added = all.reduce((sum, { size }) => sum + size, 0);
    const total = await sql.value<number>(ADD_BYTES, [world, added]);
    if (total! > quota) {
      throw new StoreError("quota", "The files of this world are too large.");
    }
    const now = Date.now();
    for (const { key, size, sha256 } of all) {
      await sql.run(INSERT, [world, key, user.id, size, sha256, now]);
    }
    const change = { type: "file.added", file: fileIdOf(file.key) } as const;
    log.appendOf(world, user.id, change);
  },

  async delete(world: string, id: string): Promise<string[]> {
    const file = await find(sql, world, id);
    if (!file) throw absent("file");
    log.erased("files");
    const removed: string[] = [];
    for (const key of [file.key, previewKeyOf(file.key)]) {
      const size = await sql.value<number>(REMOVE, [world, key]);
      if (size === undefined) continue;
      await sql.run(ADD_BYTES, [world, -size]);
      removed.push(key);
    }
    log.append(world, { type: "file.deleted", file: id });
    await uploadDeleted(sql, log, world, file.key);
    return removed;
  },
});

export const files = domain({
  reads: fileReads,
  writes: fileWrites,
  parameters: { add: 5, delete: 2 },
});
