import ICAL from "ical.js";
import { plainLine, type ScannedComponent } from "./calendar-scan.js";
import { clockAt, ianaZone, localDay, localTime, momentOf, zoneNamed } from "./zones.js";

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

/** A zone: a name of the IANA, UTC, an offset, or one that the calendar describes. */
export type Zone = string | DescribedZone;

/** The most observances of the zones of a calendar. */
const MOST_OBSERVANCES = 300;

/** The last year whose changes of clocks are computed. */
const LAST_YEAR = 2100;

/** The most changes of an observance within two years. */
const MOST_CHANGES = 4;

/** The zones of a calendar, and of the clocks that name none. */
export class Zones {
  readonly #components = new Map<string, ICAL.Component>();
  readonly #found = new Map<string, Zone | undefined>();

  /** @param floating the zone of times without one. */
  constructor(
    zones: readonly ScannedComponent[],
    readonly floating: string,
  ) {
    let left = MOST_OBSERVANCES;
    for (const zone of zones) {
      const component = componentOf("VTIMEZONE", zone);
      const tzid = component?.getFirstPropertyValue("tzid");
      left -= zone.lines.length / 4;
      if (typeof tzid !== "string" || left < 0) continue;
      this.#components.set(tzid, component!);
    }
  }

  /**
   * The zone that a property names.
   * @returns undefined if it is unknown, or described by nothing.
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

/** A zone that a calendar describes. */
class DescribedZone {
  private constructor(
    private readonly zone: ICAL.Timezone,
    /** When its first observance begins on the clock, and what counts before. */
    private readonly first: { clock: number; before: number },
  ) {}

  /** @returns undefined if the component says nothing, or what no zone does. */
  static of(component: ICAL.Component): DescribedZone | undefined {
    try {
      return DescribedZone.#of(component);
    } catch {
      // The library throws for rules that it cannot follow.
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

  /** The offset from UTC at a time on the clock, in milliseconds. */
  offsetAt(clock: number): number {
    if (clock < this.first.clock) return this.first.before;
    const date = new Date(clock);
    // The library computes each change until then, and rules repeat each year.
    if (date.getUTCFullYear() > LAST_YEAR) date.setUTCFullYear(LAST_YEAR);
    const time = ICAL.Time.fromJSDate(date, true);
    time.zone = ICAL.Timezone.localTimezone;
    return this.zone.utcOffset(time) * 1000;
  }
}

/** Whether an observance can be read, and changes the clocks no more than a few times a year. */
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
    // The library would expand others for all centuries.
    if (rule.freq !== "YEARLY") return false;
    const iterator = rule.iterator(start);
    let last: ICAL.Time | null = start;
    for (let i = 0; i <= MOST_CHANGES && last; i++) last = iterator.next();
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

/** A component as the parser reads it; undefined if it fails. */
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

/** The clock of a time, as if it were UTC. */
export const clockOf = (time: ICAL.Time): number =>
  Date.UTC(time.year, time.month - 1, time.day, time.hour, time.minute, time.second);

/** Whether a text is a time in UTC, of which the zone does not count. */
export const isUtc = (value: unknown): boolean => typeof value === "string" && /Z$/i.test(value);

/**
 * Reads a time of a property as jCal has it.
 * @param value such as `2027-03-01`, `2027-03-01T10:00:00` or the same with `Z`.
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

/** The moment of a clock in a zone: milliseconds since 1970. */
export function momentIn(zone: Zone, clock: number): number {
  if (typeof zone === "string") return momentOf({ clock }, zone).at;
  return clock - zone.offsetAt(clock);
}

/** A length. Days are nominal: they end at the same time on the clock (RFC 5545, section 3.3.6). */
export interface Length {
  days: number;
  /** In milliseconds. */
  time: number;
}

/** The length of a DURATION; undefined if it is none. */
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

/** The moment at which something ends that begins at another. */
export function endAfter(zone: Zone, at: number, { days, time }: Length): number {
  if (days === 0) return at + time;
  const clock =
    typeof zone === "string"
      ? clockAt(zone, at)
      : // The offset of a clock that is near enough.
        at + zone.offsetAt(at + zone.offsetAt(at));
  return momentIn(zone, clock + days * 24 * 60 * 60 * 1000) + time;
}
