import ICAL from "ical.js";
import { plainLine, type ScannedComponent } from "./calendar-scan.js";
import { clockAt, ianaZone, localDay, localTime, momentOf, zoneNamed } from "./zones.js";

/** A time in a calendar. */
export interface CalendarTime {
  /** Milliseconds since 1970. For a day, midnight UTC. */
  at: number;
  isDay: boolean;
  /** The local time, such as `2027-03-01T10:00:00`. */
  text: string;
  zone: Zone;
}

/** A zone: an IANA name, UTC, an offset, or a zone described by the calendar. */
export type Zone = string | DescribedZone;

/** Maximum number of observances in all zones of a calendar. */
const MAX_OBSERVANCES = 300;

/** The last year for which clock changes are computed. */
const LAST_YEAR = 2100;

/** Maximum number of clock changes in one observance within two years. */
const MAX_CHANGES = 4;

/** A calendar's zones, and the default zone. */
export class Zones {
  readonly #components = new Map<string, ICAL.Component>();
  readonly #found = new Map<string, Zone | undefined>();

  /** @param floating the zone for times that do not name a zone. */
  constructor(
    zones: readonly ScannedComponent[],
    readonly floating: string,
  ) {
    let left = MAX_OBSERVANCES;
    for (const zone of zones) {
      const component = componentOf("VTIMEZONE", zone);
      const tzid = component?.getFirstPropertyValue("tzid");
      left -= zone.lines.length / 4;
      if (typeof tzid !== "string" || left < 0) continue;
      this.#components.set(tzid, component!);
    }
  }

  /**
   * Returns the zone that a property names.
   * @returns undefined if the zone is neither known nor described by the calendar.
   */
  of(property: ICAL.Property): Zone | undefined {
    const tzid = property.getFirstParameter("tzid");
    if (!tzid) return this.floating;
    if (!this.#found.has(tzid)) this.#found.set(tzid, this.#named(tzid));
    return this.#found.get(tzid);
  }

  #named(tzid: string): Zone | undefined {
    const known = ianaZone(tzid);
    if (known !== undefined) return known;
    const component = this.#components.get(tzid);
    const described = component && DescribedZone.of(component);
    if (described) return described;
    const location = component?.getFirstPropertyValue("x-lic-location");
    return (typeof location === "string" ? zoneNamed(location) : undefined) ?? zoneNamed(tzid);
  }
}

class DescribedZone {
  private constructor(
    private readonly zone: ICAL.Timezone,
    /** The local time at which the first observance begins, and the offset that applies before it. */
    private readonly first: { clock: number; before: number },
  ) {}

  /** @returns undefined if the component does not describe a plausible zone. */
  static of(component: ICAL.Component): DescribedZone | undefined {
    try {
      return DescribedZone.#of(component);
    } catch {
      // The library throws for rules that it does not support.
      return undefined;
    }
  }

  static #of(component: ICAL.Component): DescribedZone | undefined {
    const observances = component
      .getAllSubcomponents()
      .filter(({ name }) => name === "standard" || name === "daylight");
    if (observances.length === 0 || !observances.every(isObservance)) {
      return undefined;
    }
    const [first] = observances
      .map((observance) => ({
        clock: clockOf(timeOf(observance, "dtstart")!),
        before: offsetOf(observance, "tzoffsetfrom")!,
      }))
      .sort((a, b) => a.clock - b.clock);
    return new DescribedZone(new ICAL.Timezone({ component }), first!);
  }

  /** Returns the offset from UTC at a local time, in milliseconds. */
  offsetAt(clock: number): number {
    if (clock < this.first.clock) return this.first.before;
    const date = new Date(clock);
    // The library computes every change up to this date. Rules repeat yearly, so the year can be
    // capped.
    if (date.getUTCFullYear() > LAST_YEAR) date.setUTCFullYear(LAST_YEAR);
    const time = ICAL.Time.fromJSDate(date, true);
    time.zone = ICAL.Timezone.localTimezone;
    return this.zone.utcOffset(time) * 1000;
  }
}

/** Whether an observance is readable, and changes the clocks at most a few times a year. */
function isObservance(observance: ICAL.Component): boolean {
  const start = timeOf(observance, "dtstart");
  if (
    !start ||
    offsetOf(observance, "tzoffsetfrom") === undefined ||
    offsetOf(observance, "tzoffsetto") === undefined
  ) {
    return false;
  }
  return observance.getAllProperties("rrule").every((property) => {
    const rule = property.getFirstValue();
    if (!(rule instanceof ICAL.Recur)) return false;
    // The library would expand rules with any other frequency over centuries.
    if (rule.freq !== "YEARLY") return false;
    const iterator = rule.iterator(start);
    let last: ICAL.Time | null = start;
    for (let i = 0; i <= MAX_CHANGES && last; i++) last = iterator.next();
    return !last || last.year > start.year + 1;
  });
}

function timeOf(component: ICAL.Component, name: string): ICAL.Time | undefined {
  const value = component.getFirstPropertyValue(name);
  return value instanceof ICAL.Time && localTime(value.toString()) ? value : undefined;
}

function offsetOf(component: ICAL.Component, name: string) {
  const value = component.getFirstPropertyValue(name);
  return value instanceof ICAL.UtcOffset ? value.toSeconds() * 1000 : undefined;
}

/** Parses a component, or returns undefined if its lines are invalid. */
export function componentOf(
  name: string,
  { lines }: Pick<ScannedComponent, "lines">,
): ICAL.Component | undefined {
  const text = lines.map(({ text }) => plainLine(text)).join("\r\n");
  try {
    return new ICAL.Component(ICAL.parse(`BEGIN:${name}\r\n${text}\r\nEND:${name}`) as never);
  } catch {
    return undefined;
  }
}

/** Converts a local time to milliseconds since 1970, as if the time were in UTC. */
export const clockOf = (time: ICAL.Time): number =>
  Date.UTC(time.year, time.month - 1, time.day, time.hour, time.minute, time.second);

/** Whether a value is a time in UTC, for which the property's zone is ignored. */
export const isUtc = (value: unknown): boolean => typeof value === "string" && /Z$/i.test(value);

/**
 * Parses a property's time in jCal format.
 * @param value such as `2027-03-01`, `2027-03-01T10:00:00` or `2027-03-01T10:00:00Z`.
 * @returns undefined if no such time exists.
 */
export function calendarTime(value: unknown, zone: Zone): CalendarTime | undefined {
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

/** Converts a local time in a zone to milliseconds since 1970. */
export function momentIn(zone: Zone, clock: number): number {
  if (typeof zone === "string") return momentOf({ clock }, zone).at;
  return clock - zone.offsetAt(clock);
}

/** A duration. Days are nominal: a day ends at the local time at which it began (RFC 5545, section 3.3.6). */
export interface Length {
  days: number;
  /** The part of the duration in addition to the days, in milliseconds. */
  time: number;
}

/** Parses a DURATION value, or returns undefined if the value is invalid. */
export function lengthOf(text: unknown): Length | undefined {
  if (typeof text !== "string" || !ICAL.Duration.isValueString(text)) {
    return undefined;
  }
  const { isNegative, weeks, days, hours, minutes, seconds } = ICAL.Duration.fromString(text);
  const sign = isNegative ? -1 : 1;
  return {
    days: sign * (weeks * 7 + days),
    time: sign * ((hours * 60 + minutes) * 60 + seconds) * 1000,
  };
}

/** Returns the end of an event that begins at `at`, in milliseconds since 1970. */
export function endAfter(zone: Zone, at: number, { days, time }: Length): number {
  if (days === 0) return at + time;
  const clock =
    typeof zone === "string"
      ? clockAt(zone, at)
      : // `offsetAt` expects a local time, so pass an approximate local time.
        at + zone.offsetAt(at + zone.offsetAt(at));
  return momentIn(zone, clock + days * 24 * 60 * 60 * 1000) + time;
}
