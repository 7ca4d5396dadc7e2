// Times as documents and requests write them.

/** RFC 3339, section 5.6: a date, a time and an offset. */
const TIME =
  /^(\d{4}-\d\d-\d\d)[Tt]([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d{1,9})?([Zz]|[+-]([01]\d|2[0-3]):[0-5]\d)$/;

/** The pattern of {@link timeIn} for schemas, which checks no days of months. */
export const TIME_PATTERN = TIME.source;

/** The times that UTC writes with a year of four digits, in milliseconds since 1970. */
const FIRST = Date.parse("0000-01-01T00:00:00Z");
const LAST = Date.parse("9999-12-31T23:59:59.999Z");

/**
 * The time in a text of RFC 3339 with an offset.
 * @returns milliseconds since 1970; undefined if the text has another form, or no such day exists.
 */
export function timeIn(text: string): number | undefined {
  const day = TIME.exec(text)?.[1];
  // `Date.parse` takes February 30 for March 2.
  if (day === undefined || !isDay(day)) return undefined;
  const time = Date.parse(text.toUpperCase());
  return time >= FIRST && time <= LAST ? time : undefined;
}

function isDay(day: string): boolean {
  const time = Date.parse(`${day}T00:00:00Z`);
  return !Number.isNaN(time) && new Date(time).toISOString().startsWith(day);
}

/** A time as answers have it: in UTC, with milliseconds. */
export const timeText = (time: number | null): string | null =>
  time === null ? null : new Date(time).toISOString();

/** Whether a text is the name of a zone of the IANA. */
export function isTimezone(name: string): boolean {
  // Offsets are no names, though some versions of Node.js take them.
  if (!/^[A-Za-z]/.test(name)) return false;
  try {
    new Intl.DateTimeFormat("en", { timeZone: name });
    return true;
  } catch {
    return false;
  }
}
