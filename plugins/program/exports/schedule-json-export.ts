import { createHash } from "node:crypto";
import { guidOf } from "../../../schemas/documents/program-document.js";
import { version } from "../../../schemas/plain/version.js";
import type { Session, Speaker } from "../../../schemas/program/program.js";
import { clockAt, zonedText } from "../formats/zones.js";
import type { ExportedProgram } from "./exported-program.js";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** Start of a schedule's day, as in pretalx: night sessions belong to the previous day. */
const DAY_BEGINS = 4 * HOUR;

/** A scheduled session, with the day to which it belongs. */
interface Scheduled {
  session: Session;
  start: number;
  end: number;
  /** As `YYYY-MM-DD`. */
  day: string;
}

/**
 * Exports a program as pretalx's `schedule.json`, which apps and recording teams read. Includes
 * only public, scheduled sessions.
 */
export function scheduleOf(program: ExportedProgram): object {
  const { world, zone, page, event, rooms } = program;
  const sessions = program.sessions.flatMap((session): Scheduled[] => {
    if (session.state !== "public") return [];
    if (session.starts_at === null || session.ends_at === null) return [];
    const start = Date.parse(session.starts_at);
    const day = dayText(clockAt(zone, start) - DAY_BEGINS);
    return [{ session, start, end: Date.parse(session.ends_at), day }];
  });
  const days = [...new Set(sessions.map(({ day }) => day))].sort();
  const tracks = [...new Set(sessions.map(({ session }) => session.track).filter(Boolean))];
  const dayIn = (time: string | null | undefined) =>
    time ? dayText(clockAt(zone, Date.parse(time))) : undefined;
  const eventOf = eventWriter(program);
  const names = new Map(rooms.map(({ id, name }) => [id, name]));
  return {
    $schema: "https://c3voc.de/schedule/schema.json",
    generator: { name: "foyer", version },
    schedule: {
      url: page,
      version,
      base_url: page,
      conference: {
        acronym: world.id,
        title: world.title,
        start: dayIn(event?.starts_at) ?? days[0] ?? null,
        end: dayIn(event?.ends_at) ?? days.at(-1) ?? null,
        daysCount: days.length,
        timeslot_duration: "00:05",
        time_zone_name: zone,
        url: page,
        rooms: rooms.map(({ id, name, description }) => ({
          name,
          slug: slugOf(name, id),
          guid: id,
          description: description || null,
          capacity: null,
        })),
        tracks: tracks.map((name) => ({ name, slug: slugOf(name, name) })),
        days: days.map((date, i) => ({
          index: i + 1,
          date,
          day_start: zonedDay(zone, date, DAY_BEGINS),
          day_end: zonedDay(zone, date, DAY_BEGINS + DAY - MINUTE),
          rooms: grouped(
            sessions.filter(({ day }) => day === date),
            ({ session: { room_id } }) => names.get(room_id ?? "") ?? "",
            eventOf,
          ),
        })),
      },
    },
  };
}

function eventWriter({ world, zone, page, speakers }: ExportedProgram) {
  const people = new Map(speakers.map((speaker) => [speaker.id, speaker]));
  return ({ session, start, end }: Scheduled, room: string) => {
    const guid = guidOf(session);
    return {
      guid,
      code: guid.replaceAll("-", "").slice(0, 12).toUpperCase(),
      id: numberOf(guid),
      logo: null,
      date: zonedText(zone, start),
      start: new Date(clockAt(zone, start)).toISOString().slice(11, 16),
      duration: durationText(end - start),
      ...((end - start) % MINUTE !== 0 && { end: zonedText(zone, end) }),
      room,
      slug: `${world.id}-${numberOf(guid)}-${slugOf(session.title, "session")}`,
      url: page,
      title: session.title,
      subtitle: session.subtitle,
      track: session.track || null,
      type: session.kind,
      language: session.language,
      abstract: session.abstract,
      description: session.description,
      recording_license: "",
      do_not_record: false,
      persons: session.speaker_ids.flatMap((id) => {
        const speaker = people.get(id);
        return speaker ? [personOf(speaker, page)] : [];
      }),
      links: session.links.map(({ title, url }) => ({ title: title || url, url, type: "related" })),
      feedback_url: page,
      origin_url: page,
      attachments: [],
    };
  };
}

function personOf(speaker: Speaker, page: string) {
  const guid = guidOf(speaker);
  return {
    id: numberOf(guid),
    guid,
    code: guid.replaceAll("-", "").slice(0, 12).toUpperCase(),
    name: speaker.name,
    public_name: speaker.name,
    avatar: speaker.picture,
    biography: speaker.biography || null,
    url: page,
    answers: [],
  };
}

function grouped<T>(
  sessions: readonly Scheduled[],
  roomOf: (session: Scheduled) => string,
  write: (session: Scheduled, room: string) => T,
): Record<string, T[]> {
  const rooms = new Map<string, T[]>();
  for (const session of sessions) {
    const room = roomOf(session);
    const known = rooms.get(room) ?? [];
    known.push(write(session, room));
    rooms.set(room, known);
  }
  // `Object.fromEntries` is safe even for a room named `__proto__`.
  return Object.fromEntries(rooms);
}

const dayText = (clock: number) => new Date(clock).toISOString().slice(0, 10);

/** Formats a time of day on a date, with the zone's offset. */
function zonedDay(zone: string, date: string, time: number): string {
  const clock = Date.parse(`${date}T00:00:00Z`) + time;
  // This assumes that no clock change affects 4 o'clock.
  return zonedText(zone, clock - (clockAt(zone, clock) - clock));
}

/** Formats a duration as `HH:MM`, or as `D:HH:MM` if the duration is a day or longer. The minimum is one minute. */
function durationText(length: number): string {
  const minutes = Math.max(1, Math.round(length / MINUTE));
  const two = (n: number) => String(Math.floor(n)).padStart(2, "0");
  const days = Math.floor(minutes / (24 * 60));
  const rest = `${two((minutes / 60) % 24)}:${two(minutes % 60)}`;
  return days > 0 ? `${days}:${rest}` : rest;
}

/** Returns a stable numeric id, which readers require: 31 bits of the guid's hash. */
const numberOf = (guid: string): number =>
  createHash("sha256").update(guid).digest().readUInt32BE() >>> 1;

const slugOf = (text: string, otherwise: string): string =>
  text
    .normalize("NFKD")
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-/, "")
    .slice(0, 60)
    .replace(/-$/, "") || otherwise;
