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

/** Maximum time span of an event's occurrences, in milliseconds: 31 days. */
const SPAN = 31 * 24 * 60 * 60 * 1000;

const MAX_OCCURRENCES = 500;

/** A recurring event's occurrences. */
export interface Occurrences {
  /**
   * The occurrences in order. Each occurrence has its start in milliseconds since 1970, and its
   * length if the length differs from the event's length.
   */
  starts: [at: number, length: Length | undefined][];
  /** Whether occurrences were omitted because they are too late or too many. */
  more: boolean;
}

/** Limits the number of evaluations of a document's rules, because some rules never match. */
export class Steps {
  #left = 200_000;

  /** @throws {TypeError} with a sentence, if the limit is exceeded. */
  take(ofRule: number): void {
    if (--this.#left < 0 || ofRule > 10_000) {
      throw new TypeError("It recurs too often.");
    }
  }
}

/** Whether an event recurs. */
export const recurs = (event: ICAL.Component): boolean =>
  event.hasProperty("rrule") || event.hasProperty("rdate");

/**
 * Returns an event's occurrences within 31 days of its start, without its EXDATEs (RFC 5545,
 * section 3.8.5). A rule is evaluated in the event's local time, so occurrences keep their hour
 * when the clocks change.
 * @param leaveOut is called with a sentence for a time that cannot be read.
 * @throws {TypeError} with a sentence, for a rule that cannot be read.
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
      throw new TypeError("It is not a recurrence rule.");
    }
    // UNTIL is a point in time, but the iterator would compare it with local times.
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

/** Limits an iterator. Without a limit, the iterator would never stop evaluating a rule that has no matches. */
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

/**
 * Returns the end of a rule, in milliseconds since 1970. If UNTIL is a date, the rule includes that
 * whole day in the event's local time.
 */
function endOf(until: ICAL.Time, start: CalendarTime): number {
  const clock = clockOf(until);
  if (until.isDate) {
    return momentIn(start.zone, clock + 24 * 60 * 60 * 1000) - 1;
  }
  return until.zone === ICAL.Timezone.utcTimezone ? clock : momentIn(start.zone, clock);
}

/** Returns the times in all properties with this name, along with the lengths of periods. */
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
      leaveOut(`${label}: A time cannot be read. It was skipped.`);
      return [];
    });
  });
}
