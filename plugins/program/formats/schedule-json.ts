import { UnreadableDocument } from "../../../schemas/documents/unreadable.js";
import type { Draft } from "./draft.js";
import {
  ScheduleReader,
  type ScheduleEvent,
  type SchedulePerson,
} from "./schedule.js";

type Json = Record<string, unknown>;

/** Whether a document is a `schedule.json`. */
export const isScheduleJson = (document: unknown): boolean =>
  isObject(document) &&
  isObject(document.schedule) &&
  isObject(document.schedule.conference) &&
  "days" in document.schedule.conference;

/**
 * Reads a `schedule.json` of pretalx, frab or the c3voc.
 * @throws {UnreadableDocument} with a path such as `schedule.conference.days.0`.
 */
export function readScheduleJson(document: unknown, draft: Draft): void {
  const path = "schedule.conference";
  const { conference } = (document as { schedule: { conference: Json } })
    .schedule;
  const reader = new ScheduleReader(draft, textOf(conference.time_zone_name));
  listAt(conference.days, `${path}.days`).forEach((value, d) => {
    const dayPath = `${path}.days.${d}`;
    const day = objectAt(value, dayPath);
    const rooms = objectAt(day.rooms ?? {}, `${dayPath}.rooms`);
    const times = { date: textOf(day.date), start: textOf(day.day_start) };
    for (const [room, events] of Object.entries(rooms)) {
      const roomPath = `${dayPath}.rooms.${room.slice(0, 100)}`;
      listAt(events, roomPath).forEach((event, e) => {
        const eventPath = `${roomPath}.${e}`;
        reader.add(eventOf(objectAt(event, eventPath), eventPath), times, room);
      });
    }
  });
}

function eventOf(event: Json, path: string): ScheduleEvent {
  const { persons, links, attachments } = event;
  const linked = [
    ...listAt(links ?? [], `${path}.links`),
    ...listAt(attachments ?? [], `${path}.attachments`),
  ];
  return {
    position: { path },
    guid: textOf(event.guid),
    code: textOf(event.code),
    id: textOf(event.id),
    // Null is what an exporter writes for nothing; a missing field says nothing.
    title: textOf(event.title),
    subtitle: textOrEmpty(event, "subtitle"),
    abstract: textOrEmpty(event, "abstract"),
    description: textOrEmpty(event, "description"),
    track: textOrEmpty(event, "track"),
    type: textOrEmpty(event, "type"),
    language: textOrEmpty(event, "language"),
    date: textOf(event.date),
    start: textOf(event.start),
    duration: textOf(event.duration),
    end: textOf(event.end),
    room: textOf(event.room),
    persons:
      persons === undefined
        ? undefined
        : listAt(persons ?? [], `${path}.persons`).map((person, i) =>
            personOf(person, `${path}.persons.${i}`),
          ),
    ...((links !== undefined || attachments !== undefined) && {
      links: linked.map((link) =>
        isObject(link)
          ? { title: textOf(link.title), url: textOf(link.url) }
          : { url: textOf(link) },
      ),
    }),
  };
}

function personOf(value: unknown, path: string): SchedulePerson {
  const person = objectAt(value, path);
  return {
    position: { path },
    guid: textOf(person.guid),
    code: textOf(person.code),
    id: textOf(person.id),
    name:
      textOf(person.public_name) ??
      textOf(person.name) ??
      textOf(person.full_public_name),
    biography: textOrEmpty(person, "biography"),
  };
}

const isObject = (value: unknown): value is Json =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** A text, or a number or a word in its place; undefined for anything else, and for none. */
function textOf(value: unknown): string | undefined {
  if (typeof value === "string") return value === "" ? undefined : value;
  return typeof value === "number" ? String(value) : undefined;
}

/** The text of a field; empty if the field is there without one. */
const textOrEmpty = (object: Json, field: string): string | undefined =>
  field in object ? (textOf(object[field]) ?? "") : undefined;

function objectAt(value: unknown, path: string): Json {
  if (isObject(value)) return value;
  throw new UnreadableDocument({ path }, "Must be an object.");
}

function listAt(value: unknown, path: string): unknown[] {
  if (Array.isArray(value)) return value;
  throw new UnreadableDocument({ path }, "Must be a list.");
}
