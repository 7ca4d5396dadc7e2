// Times as written in documents and requests.

/** RFC 3339, section 5.6: a date, a time and an offset. */
const TIME =
  /^(\d{4}-\d\d-\d\d)[Tt]([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d{1,9})?([Zz]|[+-]([01]\d|2[0-3]):[0-5]\d)$/;

/** The pattern that {@link timeIn} uses, for schemas. The pattern does not check that the day exists. */
export const TIME_PATTERN = TIME.source;

/** The range of times that have a four-digit year in UTC, in milliseconds since 1970. */
const FIRST = Date.parse("0000-01-01T00:00:00Z");
const LAST = Date.parse("9999-12-31T23:59:59.999Z");

/**
 * Parses an RFC 3339 timestamp with an offset.
 * @returns milliseconds since 1970; undefined if the string is not such a timestamp, or the day
 * does not exist.
 */
export function timeIn(text: string): number | undefined {
  const day = TIME.exec(text)?.[1];
  // `Date.parse` turns February 30 into March 2.
  if (day === undefined || !isDay(day)) return undefined;
  const time = Date.parse(text.toUpperCase());
  return time >= FIRST && time <= LAST ? time : undefined;
}

function isDay(day: string): boolean {
  const time = Date.parse(`${day}T00:00:00Z`);
  return !Number.isNaN(time) && new Date(time).toISOString().startsWith(day);
}

/** Formats a time for responses: in UTC, with milliseconds. */
export const timeText = (time: number | null): string | null =>
  time === null ? null : new Date(time).toISOString();

/** Whether a string is the name of an IANA time zone. */
export function isTimezone(name: string): boolean {
  // Offsets are not names, but some versions of Node.js accept them.
  if (!/^[A-Za-z]/.test(name)) return false;
  try {
    new Intl.DateTimeFormat("en", { timeZone: name });
    return true;
  } catch {
    return false;
  }
}
