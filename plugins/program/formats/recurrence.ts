import ICAL from "ical.js";
import {
  calendarTime,
  type CalendarTime,
  momentIn,
  type Zones,
} from "./calendar-times.js";

/** How far the occurrences of an event reach, in milliseconds: 31 days. */
const SPAN = 31 * 24 * 60 * 60 * 1000;

/** The most occurrences of one event. */
const MAX_OCCURRENCES = 500;

/** When a recurring event begins, each time. */
export interface Occurrences {
  /** In milliseconds since 1970, in order. */
  starts: number[];
  /** Whether there are more of them, later or too many. */
  more: boolean;
}

/** Whether an event recurs. */
export const recurs = (event: ICAL.Component): boolean =>
  event.hasProperty("rrule") || event.hasProperty("rdate");

/**
 * The occurrences of an event within 31 days of its start, without its EXDATEs (RFC 5545,
 * section 3.8.5). The times of a rule are on the clock of the event, so they keep their hour
 * when the clocks change.
 * @throws {TypeError} for a time that cannot be read, with a sentence.
 */
export function occurrencesOf(
  event: ICAL.Component,
  start: CalendarTime,
  zones: Zones,
): Occurrences {
  const last = start.at + SPAN;
  const starts = new Set([start.at]);
  let more = false;
  const take = (at: number): boolean => {
    if (at > last || starts.size > MAX_OCCURRENCES) {
      more = true;
      return false;
    }
    starts.add(at);
    return true;
  };
  for (const property of event.getAllProperties("rrule")) {
    const rule = property.getFirstValue();
    if (!(rule instanceof ICAL.Recur)) throw new TypeError("It is no rule.");
    // Its end is a moment, and the iterator would compare it with a clock.
    const until = rule.until as ICAL.Time | null | undefined;
    const end = until ? endOf(until, start) : Infinity;
    rule.until = null;
    const first = ICAL.Time.fromDateTimeString(start.text);
    const iterator = rule.iterator(first);
    for (let next; (next = iterator.next());) {
      const at = momentIn(start.zone, clockOf(next));
      if (at > end || !take(at)) break;
    }
  }
  for (const at of timesOf(event, "rdate", zones)) take(at);
  for (const at of timesOf(event, "exdate", zones)) starts.delete(at);
  return { starts: [...starts].sort((a, b) => a - b), more };
}

/** The last moment of a rule. A day counts until it ends, on the clock of the event. */
function endOf(until: ICAL.Time, start: CalendarTime): number {
  const clock = clockOf(until);
  if (until.isDate) {
    return momentIn(start.zone, clock + 24 * 60 * 60 * 1000) - 1;
  }
  return until.zone === ICAL.Timezone.utcTimezone
    ? clock
    : momentIn(start.zone, clock);
}

const clockOf = (time: ICAL.Time): number =>
  Date.UTC(
    ...([time.year, time.month - 1, time.day] as const),
    ...([time.hour, time.minute, time.second] as const),
  );

/** The times of all properties of a name. */
function timesOf(
  event: ICAL.Component,
  name: "rdate" | "exdate",
  zones: Zones,
): number[] {
  return event.getAllProperties(name).flatMap((property) => {
    const zone = zones.of(property);
    const [, , type, ...values] = property.jCal as unknown[];
    return values.map((value) => {
      // Of a period, its start.
      const text = type === "period" ? String(value).split("/", 1)[0] : value;
      const time = zone && calendarTime(text, zone);
      if (!time)
        throw new TypeError("RDATE or EXDATE has a time that cannot be read.");
      return time.at;
    });
  });
}
