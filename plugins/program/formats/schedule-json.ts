import { UnreadableDocument } from "../../../schemas/documents/unreadable.js";
import type { ParsedProgram } from "./draft.js";
import {
  type ScheduleDay,
  ScheduleReader,
  type ScheduleEvent,
  type SchedulePerson,
} from "./schedule.js";

type Json = Record<string, unknown>;

/** An event's day and room, from the objects that enclose the event. */
interface DayAndRoom {
  day: ScheduleDay;
  room: string;
}

/** The lists in which every entry is an event, regardless of its fields. */
const EVENTS = new Set(["events", "talks", "sessions"]);

/** Whether a document is a `schedule.json`. */
export const isScheduleJson = (document: unknown): boolean =>
  isObject(document) && (isObject(document.schedule) || Array.isArray(document.schedule));

/**
 * Reads a `schedule.json` from pretalx, frab or the c3voc. Events are found at any level.
 * @throws {UnreadableDocument} with a path such as `schedule.conference.days.0`.
 */
export function readScheduleJson(document: unknown, draft: ParsedProgram): void {
  const { schedule } = document as { schedule: unknown };
  const inside = (value: unknown, name: string): unknown =>
    isObject(value) ? value[name] : undefined;
  const conference = inside(schedule, "conference");
  const days = inside(conference, "days");
  if (days !== undefined && !Array.isArray(days)) {
    const path = "schedule.conference.days";
    throw new UnreadableDocument({ path }, "Must be a list.");
  }
  const of = (name: string) => textOf(inside(conference, name)) ?? textOf(inside(schedule, name));
  const reader = new ScheduleReader(draft, {
    zone: of("time_zone_name"),
    dayChange: of("day_change"),
  });
  new Walk(reader).into(schedule, "schedule", { day: {}, room: "" });
}

/** Walks a schedule to find its events. */
class Walk {
  constructor(private readonly reader: ScheduleReader) {}

  /** Reads the events within a value that is not an event itself. */
  into(value: unknown, path: string, place: DayAndRoom): void {
    if (Array.isArray(value)) {
      value.forEach((entry, i) => {
        const where = `${path}.${i}`;
        if (isObject(entry) && isEvent(entry)) this.#event(entry, where, place);
        else this.into(entry, where, place);
      });
    } else if (isObject(value)) {
      const around = { ...place, day: dayOf(value) ?? place.day };
      for (const [name, inner] of Object.entries(value)) {
        const where = `${path}.${name.slice(0, 100)}`;
        if (name === "rooms") this.#rooms(inner, where, around);
        else if (EVENTS.has(name)) this.#events(inner, where, around);
        else if (isObject(inner) && isEvent(inner)) this.#event(inner, where, around);
        else this.into(inner, where, around);
      }
    }
  }

  /** Reads either an object that contains events by room name, or a list of rooms that have names. */
  #rooms(rooms: unknown, path: string, place: DayAndRoom): void {
    if (Array.isArray(rooms)) {
      rooms.forEach((room, i) => {
        const name = isObject(room) ? textOf(room.name) : undefined;
        const around = { ...place, room: name ?? place.room };
        this.into(room, `${path}.${i}`, around);
      });
    } else if (isObject(rooms)) {
      for (const [name, events] of Object.entries(rooms)) {
        const where = `${path}.${name.slice(0, 100)}`;
        const around = { ...place, room: name };
        if (Array.isArray(events)) this.#events(events, where, around);
        else if (isObject(events)) this.into(events, where, around);
        else this.#leaveOut(where, events, "It is not a list.");
      }
    } else this.#leaveOut(path, rooms, "It is neither an object nor a list.");
  }

  #events(events: unknown, path: string, place: DayAndRoom): void {
    const entries = Array.isArray(events)
      ? [...events.entries()]
      : isObject(events)
        ? Object.entries(events)
        : undefined;
    if (entries) {
      for (const [name, event] of entries) {
        const where = `${path}.${String(name).slice(0, 100)}`;
        if (Array.isArray(event)) this.into(event, where, place);
        else this.#event(event, where, place);
      }
    } else this.#leaveOut(path, events, "It is not a list.");
  }

  #event(event: unknown, path: string, { day, room }: DayAndRoom): void {
    if (isObject(event)) this.reader.add(eventOf(event, path), day, room);
    else {
      const { draft } = this.reader;
      draft.attempt({ path }, "", () => {
        throw draft.fault({ path }, undefined, "It is not an object.");
      });
    }
  }

  #leaveOut(path: string, value: unknown, why: string): void {
    if (value === undefined || value === null) return;
    this.reader.draft.problem({}, `${path}: ${why} It was skipped.`);
  }
}

/** Whether an object outside of the known lists looks like an event. */
const isEvent = (value: Json): boolean =>
  "title" in value && "duration" in value && ("start" in value || "date" in value);

/** Returns the day described by an object that contains events. */
function dayOf(value: Json): ScheduleDay | undefined {
  const { date, day_start } = value;
  if (date === undefined && day_start === undefined) return undefined;
  return { date: textOf(date), start: textOf(day_start) };
}

function eventOf(event: Json, path: string): ScheduleEvent {
  const { persons, links, attachments } = event;
  const linked = [...listOf(links), ...listOf(attachments)];
  return {
    position: { path },
    guid: textOf(event.guid),
    code: textOf(event.code),
    id: textOf(event.id),
    // Exporters write null for an empty field; a missing field is unspecified.
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
        : listOf(persons).map((person, i) => personOf(person, `${path}.persons.${i}`)),
    ...((links !== undefined || attachments !== undefined) && {
      links: linked.map((link) =>
        isObject(link)
          ? { title: textOf(link.title), url: textOf(link.url) }
          : { url: textOf(link) },
      ),
    }),
  };
}

function personOf(person: unknown, path: string): SchedulePerson {
  if (!isObject(person)) return { position: { path }, name: textOf(person) };
  return {
    position: { path },
    guid: textOf(person.guid),
    code: textOf(person.code),
    id: textOf(person.id),
    name: textOf(person.public_name) ?? textOf(person.name) ?? textOf(person.full_public_name),
    biography: textOrEmpty(person, "biography"),
  };
}

const isObject = (value: unknown): value is Json =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Returns a non-empty string, or a number as a string. Returns undefined for any other value. */
function textOf(value: unknown): string | undefined {
  if (typeof value === "string") return value === "" ? undefined : value;
  return typeof value === "number" ? String(value) : undefined;
}

/** Returns a field's text: empty if the field has no text, or undefined if the field is missing. */
const textOrEmpty = (object: Json, field: string): string | undefined =>
  field in object ? (textOf(object[field]) ?? "") : undefined;

/** Maximum number of list entries examined: more than a session may have. */
const MAX_ENTRIES = 200;

/** Returns the entries of a list. Any other value is treated as the only entry. */
const listOf = (value: unknown): unknown[] =>
  Array.isArray(value)
    ? value.slice(0, MAX_ENTRIES)
    : value === undefined || value === null
      ? []
      : [value];
