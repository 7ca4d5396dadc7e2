import type { Position } from "../../../schemas/documents/program-document.js";
import { type Draft, quoted } from "./draft.js";
import { isZone, localDay, localTime, timeOfDay } from "./zones.js";

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
  /** `HH:MM`, or days before it: `D:HH:MM`. */
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

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;

/** Adds the events of a schedule to a draft. */
export class ScheduleReader {
  readonly #zone: string | undefined;

  /** @param zone of the conference, for times without an offset. */
  constructor(
    readonly draft: Draft,
    zone: string | undefined,
  ) {
    this.#zone = zone !== undefined && isZone(zone) ? zone : undefined;
  }

  /** @param room that the event is listed in. */
  add(event: ScheduleEvent, day: ScheduleDay, room: string): void {
    const { draft } = this;
    const { position, persons } = event;
    const title = event.title ?? "";
    const start = this.#start(event, day);
    draft.session({
      position,
      name: event.guid || event.code || event.id,
      title,
      subtitle: event.subtitle,
      abstract: event.abstract,
      description: event.description,
      track: event.track,
      kind: event.type,
      language: event.language,
      room: event.room || room,
      ...(persons && {
        speakers: [
          ...new Set(
            persons.map((person) =>
              draft.speaker({
                position: person.position,
                id: person.guid || person.code || person.id,
                name: person.name ?? "",
                biography: person.biography,
              }),
            ),
          ),
        ],
      }),
      ...(event.links && {
        links: event.links.map(({ title = "", url = "" }) => ({ title, url })),
      }),
      times: { start, end: this.#end(event, start) },
    });
  }

  #start(event: ScheduleEvent, day: ScheduleDay): number {
    const { draft } = this;
    const { position, date, start, title = "" } = event;
    const source = { position, title, zone: this.#zone };
    if (date) return draft.time(date, { ...source, field: "date" });
    const midnight = localDay(day.date ?? "");
    const clock = timeOfDay(start ?? "");
    if (midnight === undefined || clock === undefined) {
      throw draft.fault(
        position,
        "date",
        "Neither it nor the day and the start are a time.",
      );
    }
    const at = (time: number) =>
      draft.moment({ clock: time }, { ...source, field: "start" });
    // What is earlier than the day begins is in the night after it.
    const begins = /T(\d\d:\d\d)/.exec(day.start ?? "")?.[1];
    const isNight = clock < (timeOfDay(begins ?? "00:00") ?? 0);
    return at(midnight + clock + (isNight ? DAY : 0));
  }

  #end(event: ScheduleEvent, start: number): number {
    const end = start + this.#duration(event);
    const exact = Date.parse(localTime(event.end ?? "") ? event.end! : "");
    return Math.abs(exact - end) < MINUTE ? exact : end;
  }

  #duration({ position, duration = "" }: ScheduleEvent): number {
    const parts = /^(?:(\d{1,3}):)?(\d{1,3}):(\d\d)$/.exec(duration.trim());
    if (!parts || Number(parts[3]) > 59) {
      throw this.draft.fault(
        position,
        "duration",
        `${quoted(duration)} is no duration such as 00:45.`,
      );
    }
    const [days = 0, hours, minutes] = parts
      .slice(1)
      .map((digits) => (digits === undefined ? undefined : Number(digits)));
    return ((days * 24 + hours!) * 60 + minutes!) * MINUTE;
  }
}
