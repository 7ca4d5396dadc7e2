import ICAL from "ical.js";
import { isZone, localDay, localTime, momentOf } from "./zones.js";

/** A time of a calendar. */
export interface CalendarTime {
  /** Milliseconds since 1970, or of a day its midnight as if clocks were UTC. */
  at: number;
  isDay: boolean;
  /** On the clock of its zone: `2027-03-01T10:00:00`. */
  text: string;
  /** The zone of its clock. */
  zone: Zone;
}

/** A zone: a name of the IANA, UTC, or one that the calendar describes. */
export type Zone = string | ICAL.Timezone;

/** The zones of a calendar, and of the clocks that name none. */
export class Zones {
  readonly #described = new Map<string, ICAL.Timezone>();

  /** @param floating the zone of times without one. */
  constructor(
    calendar: ICAL.Component,
    readonly floating: string,
  ) {
    for (const component of calendar.getAllSubcomponents("vtimezone")) {
      const tzid = component.getFirstPropertyValue("tzid");
      if (typeof tzid !== "string") continue;
      this.#described.set(tzid, new ICAL.Timezone({ component, tzid }));
    }
  }

  /**
   * The zone that a property names.
   * @returns undefined if it is unknown.
   */
  of(property: ICAL.Property): Zone | undefined {
    const tzid = property.getFirstParameter("tzid");
    if (!tzid) return this.floating;
    // Some programs put a path before the name of the IANA.
    const parts = tzid.split("/").filter(Boolean);
    for (let from = 0; from < parts.length; from++) {
      const name = parts.slice(from).join("/");
      // Intl takes offsets, such as `+01`, and words, such as `EST`, for zones.
      if ((name.includes("/") || name === "UTC") && isZone(name)) return name;
    }
    return this.#described.get(tzid) ?? (isZone(tzid) ? tzid : undefined);
  }
}

/**
 * Reads a time of a property as jCal has it.
 * @param value such as `2027-03-01`, `2027-03-01T10:00:00` or the same with `Z`.
 * @returns undefined if no such time exists.
 */
export function calendarTime(
  value: unknown,
  zone: Zone,
): CalendarTime | undefined {
  if (typeof value !== "string") return undefined;
  const day = localDay(value);
  if (day !== undefined) {
    return { at: day, isDay: true, text: `${value}T00:00:00`, zone };
  }
  const local = localTime(value);
  if (!local) return undefined;
  const text = value.replace(/Z$/i, "");
  if (local.offset !== undefined) {
    return { at: local.clock, isDay: false, text, zone: "UTC" };
  }
  return { at: momentIn(zone, local.clock), isDay: false, text, zone };
}

/** The moment of a clock in a zone: milliseconds since 1970. */
export function momentIn(zone: Zone, clock: number): number {
  if (typeof zone === "string") return momentOf({ clock }, zone).at;
  const time = ICAL.Time.fromJSDate(new Date(clock), true);
  time.zone = ICAL.Timezone.localTimezone;
  return clock - zone.utcOffset(time) * 1000;
}
