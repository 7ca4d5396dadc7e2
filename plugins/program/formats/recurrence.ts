import ICAL from "ical.js";
import {
  calendarTime,
  type CalendarTime,
  clockOf,
  isUtc,
  type Length,
  lengthOf,
  momentIn,
  type Zones,
} from "./calendar-times.js";

/** How far the occurrences of an event reach, in milliseconds: 31 days. */
const SPAN = 31 * 24 * 60 * 60 * 1000;

/** The most occurrences of one event. */
const MAX_OCCURRENCES = 500;

/** When a recurring event begins, each time. */
export interface Occurrences {
  /** In milliseconds since 1970, in order, with the length of those that have their own. */
  starts: [at: number, length: Length | undefined][];
  /** Whether there are more of them, later or too many. */
  more: boolean;
}

/** Counts how often the rules of a document are tried, as some never match. */
export class Steps {
  #left = 200_000;

  /** @throws {TypeError} with a sentence. */
  take(ofRule: number): void {
    if (--this.#left < 0 || ofRule > 10_000) {
      throw new TypeError("It recurs too often to be read.");
    }
  }
}

/** Whether an event recurs. */
export const recurs = (event: ICAL.Component): boolean =>
  event.hasProperty("rrule") || event.hasProperty("rdate");

/**
 * The occurrences of an event within 31 days of its start, without its EXDATEs (RFC 5545,
 * section 3.8.5). The times of a rule are on the clock of the event, so they keep their hour
 * when the clocks change.
 * @param leaveOut is called for a time that cannot be read, with a sentence.
 * @throws {TypeError} for a rule that cannot be read, with a sentence.
 */
export function occurrencesOf(
  event: ICAL.Component,
  start: CalendarTime,
  { zones, steps, leaveOut }: OccurrenceOptions,
): Occurrences {
  const last = start.at + SPAN;
  const starts = new Map<number, Length | undefined>([[start.at, undefined]]);
  let more = false;
  const take = (at: number, length?: Length): boolean => {
    if (at > last || starts.size > MAX_OCCURRENCES) {
      more = true;
      return false;
    }
    starts.set(at, length);
    return true;
  };
  for (const property of event.getAllProperties("rrule")) {
    const rule = property.getFirstValue();
    if (!(rule instanceof ICAL.Recur) || !rule.freq) {
      throw new TypeError("It is no rule.");
    }
    // Its end is a moment, and the iterator would compare it with a clock.
    const until = rule.until as ICAL.Time | null | undefined;
    const end = until ? endOf(until, start) : Infinity;
    rule.until = null;
    const first = ICAL.Time.fromDateTimeString(start.text);
    const iterator = bounded(rule.iterator(first), steps);
    for (let next; (next = iterator.next());) {
      const at = momentIn(start.zone, clockOf(next));
      if (at > end || !take(at)) break;
    }
  }
  const of = (name: "rdate" | "exdate") => timesOf(event, name, zones, leaveOut);
  for (const { at, length } of of("rdate")) take(at, length);
  for (const { at } of of("exdate")) starts.delete(at);
  return { starts: [...starts].sort(([a], [b]) => a - b), more };
}

interface OccurrenceOptions {
  zones: Zones;
  steps: Steps;
  leaveOut: (message: string) => void;
}

/** An iterator that gives up: it would try a rule that never matches until the end of time. */
function bounded(iterator: ICAL.RecurIterator, steps: Steps): ICAL.RecurIterator {
  const checked = iterator as unknown as {
    check_contracting_rules: () => boolean;
  };
  const check = checked.check_contracting_rules.bind(iterator);
  let count = 0;
  checked.check_contracting_rules = () => {
    steps.take(++count);
    return check();
  };
  return iterator;
}

/** The last moment of a rule. A day counts until it ends, on the clock of the event. */
function endOf(until: ICAL.Time, start: CalendarTime): number {
  const clock = clockOf(until);
  if (until.isDate) {
    return momentIn(start.zone, clock + 24 * 60 * 60 * 1000) - 1;
  }
  return until.zone === ICAL.Timezone.utcTimezone ? clock : momentIn(start.zone, clock);
}

/** The times of all properties of a name, with the lengths of periods. */
function timesOf(
  event: ICAL.Component,
  name: "rdate" | "exdate",
  zones: Zones,
  leaveOut: (message: string) => void,
): { at: number; length?: Length }[] {
  return event.getAllProperties(name).flatMap((property) => {
    const zone = zones.of(property);
    const read = (value: unknown) =>
      isUtc(value) ? calendarTime(value, "UTC") : zone && calendarTime(value, zone);
    const [, , , ...values] = property.jCal as unknown[];
    return values.flatMap((value) => {
      const [first, last] = Array.isArray(value) ? (value as unknown[]) : [value];
      const start = read(first);
      const end = last === undefined ? undefined : read(last);
      const length = start && end ? { days: 0, time: end.at - start.at } : lengthOf(last);
      if (start && (last === undefined || length)) {
        return [{ at: start.at, ...(length && { length }) }];
      }
      const label = name.toUpperCase();
      leaveOut(`${label}: A time cannot be read. It was left out.`);
      return [];
    });
  });
}
