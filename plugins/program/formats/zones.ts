import { WINDOWS_ZONES } from "./windows-zones.js";

// Local times and time zones, based on `Intl`.

/** A wall-clock time in some zone. */
export interface LocalTime {
  /** Milliseconds since 1970, as if the clock were UTC. */
  readonly clock: number;
  /** The UTC offset in the text, in milliseconds; undefined if the text has no offset. */
  readonly offset?: number;
}

/** How a clock change affects a local time. */
export type ClockChange = "repeated" | "skipped";

const TEXT =
  /^(\d{4})-(\d\d)-(\d\d)[T ](\d\d):(\d\d)(?::(\d\d)(?:[.,](\d{1,9}))?)?(?: ?(Z|[+-]\d\d:?\d\d))?$/i;
const CLOCK = /^(\d{1,2}):(\d\d)(?::(\d\d))?$/;
const HOUR = 60 * 60 * 1000;
const DAY = 24 * HOUR;

/**
 * Parses a date and a time, with an optional UTC offset.
 * @returns undefined if the text has another format, or if the day or time does not exist.
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
  const clock = date + ((hour! * 60 + minute!) * 60 + second) * 1000 + milliseconds;
  const zone = match[8]?.toUpperCase();
  if (zone === undefined) return { clock };
  if (zone === "Z") return { clock, offset: 0 };
  const hours = Number(zone.slice(1, 3));
  const minutes = Number(zone.slice(-2));
  if (hours > 23 || minutes > 59) return undefined;
  const sign = zone.startsWith("-") ? -1 : 1;
  return { clock, offset: sign * (hours * 60 + minutes) * 60_000 };
}

/** Parses `YYYY-MM-DD`. Returns the start of the day in milliseconds since 1970, as if the local time were UTC. */
export function localDay(text: string): number | undefined {
  const match = /^(\d{4})-(\d\d)-(\d\d)$/.exec(text.trim());
  if (!match) return undefined;
  const [year, month, day] = match.slice(1).map(Number);
  return dayOf(year!, month!, day!);
}

/** Parses `HH:MM` or `HH:MM:SS` into milliseconds since midnight. */
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
  return date.getUTCMonth() === month - 1 && date.getUTCDate() === day ? date.getTime() : undefined;
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

/** IANA zones by lowercase Windows name. */
const windows = new Map(
  Object.entries(WINDOWS_ZONES).map(([name, zone]) => [name.toLowerCase(), zone]),
);

const AREAS = ["Europe", "America", "Asia", "Africa", "Australia", "Pacific", "Atlantic", "Indian"];

/** Regions in Windows display names for which the IANA name uses a city. */
const REGIONS: Readonly<Record<string, string>> = {
  arizona: "America/Phoenix",
  brasilia: "America/Sao_Paulo",
  hawaii: "Pacific/Honolulu",
  saskatchewan: "America/Regina",
};

/** A zone's Windows display name: the offset, then cities or a region. */
const SHOWN = /^\((?:UTC|GMT) ?(?:([+-])(\d\d?)[:.]?(\d\d)?)?\)(.+)$/i;

/** Maximum length of a zone name to look up. */
const MAX_NAME = 200;

/** An offset alone: `+01:00`, `UTC+1`, `GMT-0330`. */
const OFFSET = /^\(?(?:UTC|GMT)?\s*([+-])(\d\d?)(?:[:.]?(\d\d))?\)?$/i;

/**
 * Resolves the zone that a calendar or a schedule names: an IANA name (possibly after a path), a
 * Windows name or display name, or an offset.
 * @returns a zone that {@link clockAt} accepts, or undefined if the zone is unknown.
 */
export function zoneNamed(text: string): string | undefined {
  const whole = text.trim();
  if (whole.length > MAX_NAME) return undefined;
  const last = whole.split("/").filter(Boolean).at(-1)?.trim() ?? "";
  if (/^(UTC|GMT|Z)$/i.test(last)) return "UTC";
  return (
    ianaZone(whole) ??
    windowsZone(last) ??
    offsetZone(OFFSET.exec(whole)) ??
    shownZone(whole) ??
    // `Intl` also accepts abbreviations such as `EST` as zones.
    (isZone(whole) ? whole : undefined)
  );
}

/** Returns the IANA zone that `text` names, possibly after a path, or undefined if `text` names no IANA zone. */
export function ianaZone(text: string): string | undefined {
  if (text.length > MAX_NAME) return undefined;
  const parts = text.trim().split("/").filter(Boolean);
  for (let from = 0; from < parts.length; from++) {
    const name = parts.slice(from).join("/").replaceAll(" ", "_");
    if (name === "UTC" || (name.includes("/") && isZone(name))) return name;
  }
  return undefined;
}

/**
 * Resolves a Windows zone name. Programs may write the zone's daylight-saving name, or append a
 * number to distinguish two zones that have the same name.
 */
function windowsZone(name: string): string | undefined {
  const plain = name.trim().toLowerCase();
  const standard = plain
    .replace(/ \d+$/, "")
    .replace(/ (daylight|summer) time\b/, " standard time");
  const zone = windows.get(plain) ?? windows.get(standard);
  return zone !== undefined && isZone(zone) ? zone : undefined;
}

function offsetZone(match: RegExpExecArray | null): string | undefined {
  if (!match) return undefined;
  const [, sign = "+", hours = "0", minutes = "00"] = match;
  if (Number(hours) > 23 || Number(minutes) > 59) return undefined;
  return `${sign}${hours.padStart(2, "0")}:${minutes}`;
}

/** Resolves a Windows display name to the first of its cities or regions whose offset matches. */
function shownZone(text: string): string | undefined {
  const match = SHOWN.exec(text);
  const shown = match?.[4]?.trim();
  if (!match || shown === undefined) return undefined;
  if (/^coordinated universal time/i.test(shown)) return "UTC";
  const hours = Number(match[2] ?? 0) + Number(match[3] ?? 0) / 60;
  const offset = (match[1] === "-" ? -hours : hours) * HOUR;
  for (const place of shown.split(/[,/;]/)) {
    const name = place.trim().replace(/^City of /i, "");
    const region = name.replace(/ Time\b.*$/i, "");
    const found = [
      ...AREAS.map((area) => `${area}/${name.replaceAll(" ", "_")}`),
      REGIONS[region.toLowerCase()],
      windowsZone(`${region} Standard Time`),
      windowsZone(`${region}n Standard Time`),
    ].find((zone) => zone !== undefined && isZone(zone) && standardOffset(zone) === offset);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Returns a zone's offset outside of daylight saving time, by this year's rules. */
function standardOffset(zone: string): number {
  const year = new Date().getUTCFullYear();
  return Math.min(...[0, 6].map((month) => offsetAt(zone, Date.UTC(year, month))));
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
 * Converts a moment to a zone's wall-clock time, as if that clock were UTC.
 * @param at milliseconds since 1970.
 */
export function clockAt(zone: string, at: number): number {
  // Not every version of Intl accepts an offset as a zone.
  const offset = /^([+-])(\d\d):(\d\d)$/.exec(zone);
  if (offset) {
    const minutes = Number(offset[2]) * 60 + Number(offset[3]);
    return at + (offset[1] === "-" ? -minutes : minutes) * 60_000;
  }
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
 * Converts a local time to a moment as RFC 5545 (3.3.5) specifies. If a local time occurs twice,
 * the first occurrence applies. If a local time is skipped, the offset before the gap applies.
 * @returns milliseconds since 1970, and the clock change that affects the time.
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

/** Formats a moment with a zone's offset, such as `2027-03-01T10:00:00+01:00`. */
export function zonedText(zone: string, at: number): string {
  const clock = clockAt(zone, at);
  const minutes = Math.round((clock - at) / 60_000);
  const two = (n: number) => String(Math.floor(n)).padStart(2, "0");
  const offset = `${minutes < 0 ? "-" : "+"}${two(Math.abs(minutes) / 60)}:${two(Math.abs(minutes) % 60)}`;
  return `${new Date(clock).toISOString().slice(0, 19)}${offset}`;
}
