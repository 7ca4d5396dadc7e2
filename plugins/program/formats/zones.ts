// Local times and time zones, by the data of `Intl`.

/** A time on the clock of some zone. */
export interface LocalTime {
  /** As if the clock were UTC: milliseconds since 1970. */
  readonly clock: number;
  /** The offset from UTC that the text names, in milliseconds; undefined without one. */
  readonly offset?: number;
}

/** How a local time met a change of the clocks. */
export type ClockChange = "repeated" | "skipped";

const TEXT =
  /^(\d{4})-(\d\d)-(\d\d)[T ](\d\d):(\d\d)(?::(\d\d)(?:[.,](\d{1,9}))?)?(?: ?(Z|[+-]\d\d:?\d\d))?$/i;
const CLOCK = /^(\d{1,2}):(\d\d)(?::(\d\d))?$/;
const DAY = 24 * 60 * 60 * 1000;

/**
 * A time in a text: a date, a time, and an offset if it has one.
 * @returns undefined if the text has another form, or if no such day or time exists.
 */
export function localTime(text: string): LocalTime | undefined {
  const match = TEXT.exec(text.trim());
  if (!match) return undefined;
  const [year, month, day, hour, minute, second = 0] = match
    .slice(1, 7)
    .map((digits) => (digits === undefined ? undefined : Number(digits)));
  const date = dayOf(year!, month!, day!);
  if (date === undefined || hour! > 23 || minute! > 59 || second > 59) {
    return undefined;
  }
  const milliseconds = Number((match[7] ?? "").padEnd(3, "0").slice(0, 3));
  const clock =
    date + ((hour! * 60 + minute!) * 60 + second) * 1000 + milliseconds;
  const zone = match[8]?.toUpperCase();
  if (zone === undefined) return { clock };
  if (zone === "Z") return { clock, offset: 0 };
  const hours = Number(zone.slice(1, 3));
  const minutes = Number(zone.slice(-2));
  if (hours > 23 || minutes > 59) return undefined;
  const sign = zone.startsWith("-") ? -1 : 1;
  return { clock, offset: sign * (hours * 60 + minutes) * 60_000 };
}

/** The beginning of a day as `YYYY-MM-DD`, as if its clock were UTC. */
export function localDay(text: string): number | undefined {
  const match = /^(\d{4})-(\d\d)-(\d\d)$/.exec(text.trim());
  if (!match) return undefined;
  const [year, month, day] = match.slice(1).map(Number);
  return dayOf(year!, month!, day!);
}

/** The milliseconds of `HH:MM` or `HH:MM:SS` since midnight. */
export function timeOfDay(text: string): number | undefined {
  const match = CLOCK.exec(text.trim());
  if (!match) return undefined;
  const [hour, minute, second = 0] = match
    .slice(1)
    .map((digits) => (digits === undefined ? undefined : Number(digits)));
  if (hour! > 23 || minute! > 59 || second > 59) return undefined;
  return ((hour! * 60 + minute!) * 60 + second) * 1000;
}

function dayOf(year: number, month: number, day: number): number | undefined {
  if (year < 1) return undefined;
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  return date.getUTCMonth() === month - 1 && date.getUTCDate() === day
    ? date.getTime()
    : undefined;
}

/** Whether `Intl` knows a zone. */
export function isZone(name: string): boolean {
  try {
    formatOf(name);
    return true;
  } catch {
    return false;
  }
}

const formats = new Map<string, Intl.DateTimeFormat>();

/** @throws {RangeError} if the zone is unknown. */
function formatOf(zone: string): Intl.DateTimeFormat {
  let format = formats.get(zone);
  if (!format) {
    format = new Intl.DateTimeFormat("en-US", {
      timeZone: zone,
      calendar: "gregory",
      numberingSystem: "latn",
      hourCycle: "h23",
      era: "short",
      year: "numeric",
      month: "numeric",
      day: "numeric",
      hour: "numeric",
      minute: "numeric",
      second: "numeric",
    });
    if (formats.size < 1000) formats.set(zone, format);
  }
  return format;
}

/**
 * The clock of a zone at a moment, as if it were UTC.
 * @param at milliseconds since 1970.
 */
export function clockAt(zone: string, at: number): number {
  const parts: Partial<Record<Intl.DateTimeFormatPartTypes, string>> = {};
  for (const { type, value } of formatOf(zone).formatToParts(at)) {
    parts[type] = value;
  }
  const { year, month, day, hour, minute, second } = parts;
  const date = new Date(0);
  date.setUTCFullYear(
    parts.era?.startsWith("B") ? 1 - Number(year) : Number(year),
    Number(month) - 1,
    Number(day),
  );
  date.setUTCHours(Number(hour), Number(minute), Number(second));
  return date.getTime() + (((at % 1000) + 1000) % 1000);
}

const offsetAt = (zone: string, at: number) => clockAt(zone, at) - at;

/**
 * The moment of a local time, as RFC 5545 (3.3.5) decides: of an hour that occurs twice, the
 * first; a time that is skipped counts with the offset before the gap.
 * @returns milliseconds since 1970, and the change of the clocks that it met.
 */
export function momentOf(
  { clock, offset }: LocalTime,
  zone: string,
): { at: number; change?: ClockChange } {
  if (offset !== undefined) return { at: clock - offset };
  const before = offsetAt(zone, clock - DAY);
  const after = offsetAt(zone, clock + DAY);
  const first = clock - before;
  if (before === after) return { at: first };
  const second = clock - after;
  const isFirst = offsetAt(zone, first) === before;
  const isSecond = offsetAt(zone, second) === after;
  if (isFirst && isSecond) return { at: first, change: "repeated" };
  if (isFirst) return { at: first };
  return isSecond ? { at: second } : { at: first, change: "skipped" };
}

/** A moment with the offset of a zone, such as `2027-03-01T10:00:00+01:00`. */
export function zonedText(zone: string, at: number): string {
  const clock = clockAt(zone, at);
  const minutes = Math.round((clock - at) / 60_000);
  const two = (n: number) => String(Math.floor(n)).padStart(2, "0");
  const offset = `${minutes < 0 ? "-" : "+"}${two(Math.abs(minutes) / 60)}:${two(Math.abs(minutes) % 60)}`;
  return `${new Date(clock).toISOString().slice(0, 19)}${offset}`;
}
