import type { SourcePosition } from "../../../schemas/documents/program-document.js";
import type { ParsedProgram } from "./draft.js";
import { type FoundSpeaker, quoted } from "./found.js";
import { localDay, localTime, timeOfDay, zoneNamed } from "./zones.js";

// The schedule format of pretalx, frab and the c3voc's tools, which exists as JSON and as XML.
// Sources: the exporters of pretalx (`schedule.json`, `schedule.xml`) and frab.

/** An event in a schedule. Fields that the format lacks are undefined. */
export interface ScheduleEvent {
  position: SourcePosition;
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
  /** The date and time of the start. Some exports omit this field or contain only the date. */
  date?: string | undefined;
  /** The start in local time: `HH:MM`. */
  start?: string | undefined;
  /** The duration, in a format that {@link ScheduleReader} parses. */
  duration?: string | undefined;
  /** The exact end, which only Foyer's own exports contain, because durations omit seconds. */
  end?: string | undefined;
  room?: string | undefined;
  persons?: SchedulePerson[] | undefined;
  links?: { title?: string | undefined; url?: string | undefined }[];
}

export interface SchedulePerson {
  position: SourcePosition;
  guid?: string | undefined;
  code?: string | undefined;
  id?: string | undefined;
  name?: string | undefined;
  biography?: string | undefined;
}

/** A day in a schedule. */
export interface ScheduleDay {
  /** `YYYY-MM-DD`. */
  date?: string | undefined;
  /** The start of the day, often at 4 o'clock, so that the hours after midnight belong to the previous day. */
  start?: string | undefined;
}

/** Settings that apply to all days of a schedule. */
export interface Conference {
  /** The zone for times without an offset. */
  zone?: string | undefined;
  /** The start of a day, in the format of Pentabarf and frab: `04:00:00`. */
  dayChange?: string | undefined;
}

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;

/** Placeholders that some systems write instead of an id. */
const NO_ID = /^[0-]*$/;

/** Adds a schedule's events to a draft. */
export class ScheduleReader {
  readonly #zone: string | undefined;
  readonly #dayChange: number | undefined;

  constructor(
    readonly draft: ParsedProgram,
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

  /**
   * Adds an event.
   * @param room the room under which the event is listed.
   */
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
    // If `date` has no time, the day is combined with `start`.
    const listed = localDay(day.date ?? "");
    const midnight = own ?? listed;
    const clock = timeOfDay(event.start ?? "");
    if (midnight === undefined || clock === undefined) {
      throw draft.fault(position, "date", "Neither it nor the day and start form a valid time.");
    }
    // A time before the start of a day belongs to the night at the end of that day.
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

  /** Returns the local time at which a day begins, in milliseconds. */
  #begin({ start = "" }: ScheduleDay): number {
    const begins = /T(\d\d:\d\d)/.exec(start)?.[1] ?? "";
    return this.#dayChange ?? timeOfDay(begins) ?? 0;
  }

  /** Parses `H:MM`, `H:MM:SS`, or `D:HH:MM`, which schedules use for durations of several days. */
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
    // In `D:HH:MM`, hours end at 23, and the number of days has no leading zero. Any other value is
    // `H:MM:SS`.
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
