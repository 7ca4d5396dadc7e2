import type { EventDates } from "../../../schemas/event-dates.js";
import {
  SPEAKER_COLUMNS,
  speakerIn,
  speakerRow,
  type SpeakerRow,
} from "../../rules/program-rows.js";
import type { DomainLog, EngineWrites } from "../domain.js";
import type { Sql } from "../sql.js";
import { storeSpeakers } from "./rows.js";
import { sessionsNaming } from "./speakers.js";
import { Changes } from "./stamps.js";

// The underscores in a key match more than themselves.
const PICTURED = `SELECT ${SPEAKER_COLUMNS} FROM program_speakers
  WHERE world_id = $1 AND picture LIKE '%' || $2`;

const CONFIG = "SELECT config FROM worlds WHERE id = $1";

/**
 * An upload was deleted: takes it out of the speakers and of the cover of the event.
 * @param key the last part of its address.
 */
export async function uploadDeleted(
  sql: Sql,
  log: DomainLog,
  { configureWorld }: Pick<EngineWrites, "configureWorld">,
  world: string,
  key: string,
): Promise<void> {
  const isIt = (url: unknown) =>
    typeof url === "string" && url.endsWith(`/media/${key}`);
  const rows = await sql.all<SpeakerRow>(PICTURED, [world, key]);
  const pictured = rows.filter(({ picture }) => isIt(picture));
  const changes = new Changes();
  const after = pictured.map((row) =>
    speakerRow({ ...speakerIn(row), picture: null }, row.revision + 1),
  );
  await storeSpeakers(sql, world, after);
  for (const { id } of pictured) {
    changes.speaker(await sessionsNaming(sql, world, id));
    log.append(world, {
      ...{ type: "speaker.updated", speaker: id },
      fields: ["picture"],
    });
  }
  if (pictured.length > 0) await changes.store(sql, world);
  const config = (await sql.value<string>(CONFIG, [world]))!;
  const { event } = JSON.parse(config) as { event?: EventDates };
  if (isIt(event?.cover?.url)) {
    await configureWorld(world, { event: { ...event, cover: null } });
  }
}
