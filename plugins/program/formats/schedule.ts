import type { Position } from "../../../schemas/documents/program-document.js";
import type { Draft } from "./draft.js";
import { type FoundSpeaker, quoted } from "./found.js";
import { localDay, localTime, timeOfDay, zoneNamed } from "./zones.js";

// What pretalx, frab and the tools of the c3voc call a schedule, of which JSON and XML are two
// forms. Sources: the exporters of pretalx (`schedule.json`, `schedule.xml`) and frab.

/** An event of a schedule. What its form does not have is undefined. */
export interface ScheduleEvent {
  position: Position;
  guid?: string | undefined;
  code?: string | undefined;
  id?: string | undefined;
  title?: string | undefined;
  subtitle?: string | undefined;
  abstract?: string | undefined;
  description?: string | undefined;
  track?: string | undefined;
  type?: string | undefined;
  language?: string | undefined;
  /** The start with its date. Older exports do not have it. */
  date?: string | undefined;
  /** The start on the clock: `HH:MM`. */
  start?: string | undefined;
  /** How long it is, as {@link ScheduleReader} reads it. */
  duration?: string | undefined;
  /** The exact end, in exports of Foyer whose duration leaves out seconds. */
  end?: string | undefined;
  room?: string | undefined;
  persons?: SchedulePerson[] | undefined;
  links?: { title?: string | undefined; url?: string | undefined }[];
}

export interface SchedulePerson {
  position: Position;
  guid?: string | undefined;
  code?: string | undefined;
  id?: string | undefined;
  name?: string | undefined;
  biography?: string | undefined;
}

/** A day of a schedule. */
export interface ScheduleDay {
  /** `YYYY-MM-DD`. */
  date?: string | undefined;
  /** When it begins: often at 4 o'clock, so that the night belongs to it. */
  start?: string | undefined;
}

/** What a schedule says of all its days. */
export interface Conference {
  /** The zone of times without an offset. */
  zone?: string | undefined;
  /** When a day begins, as Pentabarf and frab say it: `04:00:00`. */
  dayChange?: string | undefined;
}

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;

/** What some systems write for no id. */
const NO_ID = /^[0-]*$/;

/** Adds the events of a schedule to a draft. */
export class ScheduleReader {
  readonly #zone: string | undefined;
  readonly #dayChange: number | undefined;

  constructor(
    readonly draft: Draft,
    { zone = "", dayChange = "" }: Conference,
  ) {
    this.#zone = zone.trim() === "" ? undefined : zoneNamed(zone);
    this.#dayChange = timeOfDay(dayChange);
    if (zone.trim() !== "" && this.#zone === undefined) {
      draft.problem(
        {},
        `The time zone ${quoted(zone)} is unknown. Times without an offset were read in ${draft.zone}.`,
      );
    }
  }

  /** @param room that the event is listed in. */
  add(event: ScheduleEvent, day: ScheduleDay, room: string): void {
    const { position, title = "" } = event;
    this.draft.attempt(position, title, () => this.#add(event, day, room));
  }

  #add(event: ScheduleEvent, day: ScheduleDay, room: string): void {
    const { draft } = this;
    const { position, title = "" } = event;
    if (title.trim() === "") {
      throw draft.fault(position, "title", "May not be empty.");
    }
    const start = this.#start(event, day);
    const end = this.#end(event, start);
    const speakers = event.persons?.map((person): FoundSpeaker => {
      const unique = idOf(person.guid) ?? idOf(person.code);
      return {
        position: person.position,
        id: unique ?? idOf(person.id),
        isUnique: unique !== undefined,
        name: person.name ?? "",
        biography: person.biography,
      };
    });
    draft.session({
      position,
      name: idOf(event.guid) ?? idOf(event.code) ?? idOf(event.id),
      title,
      subtitle: event.subtitle,
      abstract: event.abstract,
      description: event.description,
      track: event.track,
      kind: event.type,
      language: event.language,
      room: event.room?.trim() || room,
      ...(speakers && { speakers }),
      ...(event.links && {
        links: event.links.map(({ title = "", url = "" }) => ({ title, url })),
      }),
      times: { start, end },
    });
  }

  #start(event: ScheduleEvent, day: ScheduleDay): number {
    const { draft } = this;
    const { position, date = "", title = "" } = event;
    const source = { position, title, zone: this.#zone };
    const own = localDay(date);
    if (date.trim() !== "" && own === undefined) {
      return draft.time(date, { ...source, field: "date" });
    }
    // A day without a time, of which the start says the rest.
    const listed = localDay(day.date ?? "");
    const midnight = own ?? listed;
    const clock = timeOfDay(event.start ?? "");
    if (midnight === undefined || clock === undefined) {
      throw draft.fault(position, "date", "Neither it nor the day and the start are a time.");
    }
    // What is earlier than the day begins is in the night after it.
    const isNight = (own === undefined || own === listed) && clock < this.#begin(day);
    return draft.moment(
      { clock: midnight + clock + (isNight ? DAY : 0) },
      { ...source, field: "start" },
    );
  }

  #end(event: ScheduleEvent, start: number): number {
    const end = start + this.#duration(event);
    const exact = Date.parse(localTime(event.end ?? "") ? event.end! : "");
    return Math.abs(exact - end) < MINUTE ? exact : end;
  }

  /** When a day begins on the clock, in milliseconds. */
  #begin({ start = "" }: ScheduleDay): number {
    const begins = /T(\d\d:\d\d)/.exec(start)?.[1] ?? "";
    return this.#dayChange ?? timeOfDay(begins) ?? 0;
  }

  /** `H:MM`, `H:MM:SS`, or `D:HH:MM` as schedules write what lasts for days. */
  #duration({ position, duration = "" }: ScheduleEvent): number {
    const parts = /^(?:(\d{1,3}):)?(\d{1,3}):(\d\d)$/.exec(duration.trim());
    if (!parts || Number(parts[3]) > 59) {
      throw this.draft.fault(
        position,
        "duration",
        `${quoted(duration)} is no duration such as 00:45.`,
      );
    }
    const [first = "", ...rest] = parts.slice(1);
    const [hours, minutes] = rest.map(Number) as [number, number];
    if (first === "") return (hours * 60 + minutes) * MINUTE;
    // A day has no 45th hour, and nobody writes a number of days with a zero before it.
    const isClock = first.startsWith("0") || hours > 23;
    if (isClock && hours <= 59) {
      return (Number(first) * 60 + hours) * MINUTE + minutes * 1000;
    }
    return ((Number(first) * 24 + hours) * 60 + minutes) * MINUTE;
  }
}

const idOf = (id: string | undefined): string | undefined => {
  const trimmed = id?.trim() ?? "";
  return NO_ID.test(trimmed) ? undefined : trimmed;
};
