// Exports a session as an iCalendar file (RFC 5545).

/** A calendar entry. */
export interface Entry {
  /** Stable across all exports of the entry. */
  readonly uid: string;
  readonly title: string;
  readonly description: string;
  readonly location: string;
  /** In milliseconds since 1970. */
  readonly start: number;
  readonly end: number;
  /** The entry's web address. */
  readonly url: string;
}

const encoder = new TextEncoder();

/** Folds a line at 75 bytes, as RFC 5545 requires. */
function folded(line: string): string {
  const parts: string[] = [];
  let part = "";
  let size = 0;
  for (const character of line) {
    const bytes = encoder.encode(character).length;
    if (size + bytes > 74) {
      parts.push(part);
      part = "";
      size = 0;
    }
    part += character;
    size += bytes;
  }
  return [...parts, part].join("\r\n ");
}

const escaped = (text: string): string =>
  text
    .replace(/[\\;,]/g, (it) => `\\${it}`)
    .replace(/\r\n|\r|\n/g, "\\n")
    // oxlint-disable-next-line no-control-regex
    .replace(/[\u0000-\u0008\u000b-\u001f\u007f]/g, "");

const utc = (time: number): string => new Date(time).toISOString().replace(/[-:]|\.\d{3}/g, "");

/**
 * Returns a calendar with one entry.
 * @param now in milliseconds since 1970.
 */
export const calendarOf = (entry: Entry, now: number): string =>
  [
    "BEGIN:VCALENDAR",
    "VERSION:2.0",
    "PRODID:-//Foyer//Program//EN",
    "BEGIN:VEVENT",
    `UID:${escaped(entry.uid)}`,
    `DTSTAMP:${utc(now)}`,
    `DTSTART:${utc(entry.start)}`,
    `DTEND:${utc(entry.end)}`,
    `SUMMARY:${escaped(entry.title)}`,
    ...(entry.description ? [`DESCRIPTION:${escaped(entry.description)}`] : []),
    ...(entry.location ? [`LOCATION:${escaped(entry.location)}`] : []),
    `URL:${entry.url}`,
    "END:VEVENT",
    "END:VCALENDAR",
    "",
  ]
    .map(folded)
    .join("\r\n");
