import type { EventPreview } from "./page.js";

// Times as a time zone has them. A zone is an IANA name, such as `Europe/Berlin`.

const formats = new Map<string, Intl.DateTimeFormat>();

/** A format, made once: there are hundreds of times on a page. */
function formatOf(
  locale: string,
  zone: string,
  options: Intl.DateTimeFormatOptions,
): Intl.DateTimeFormat {
  const key = `${locale} ${zone} ${JSON.stringify(options)}`;
  let format = formats.get(key);
  if (!format) {
    format = new Intl.DateTimeFormat(locale, { ...options, timeZone: zone });
    formats.set(key, format);
  }
  return format;
}

/** The zone of this browser. */
export const ownZone = (): string => new Intl.DateTimeFormat().resolvedOptions().timeZone || "UTC";

/** A zone as it was given, or another, by default the browser's, if there is no such zone. */
export function zoneOr(zone: string | undefined, otherwise: string = ownZone()): string {
  try {
    if (zone) return plainOf(zone).resolvedOptions().timeZone;
  } catch {
    // No name that this browser knows.
  }
  return otherwise;
}

/** Writes a time as `2027-03-01 09:05`. One for each zone: a browser needs 5 ms to make it. */
const plainOf = (zone: string): Intl.DateTimeFormat =>
  formatOf("sv-SE", zone, {
    year: "numeric",
    month: "2-digit",
    day: "2-digit",
    hour: "2-digit",
    minute: "2-digit",
  });

/** A time as `<input type="datetime-local">` has it. */
export const localOf = (time: number, zone: string): string =>
  plainOf(zone).format(time).replace(" ", "T");

/** The day of a time, as `2027-03-01`. */
export const dayOf = (time: number, zone: string): string => localOf(time, zone).split("T")[0]!;

/** The time of the day, as `09:05`. */
export const clockOf = (time: number, zone: string): string => localOf(time, zone).split("T")[1]!;

/** How far a zone is ahead of UTC at a time, in milliseconds, in whole minutes. */
const aheadOf = (time: number, zone: string): number =>
  Date.parse(`${localOf(time, zone)}Z`) - Math.floor(time / 60_000) * 60_000;

/**
 * The time at which the clocks of a zone show a text. Of a time that occurs twice, the first;
 * of one that is left out, the same time after the change.
 * @param text as `2027-03-01T09:05`.
 * @returns milliseconds since 1970; undefined for another text.
 */
export function timeAt(text: string, zone: string): number | undefined {
  const asUtc = Date.parse(`${text}Z`);
  if (Number.isNaN(asUtc)) return undefined;
  const DAY = 24 * 60 * 60_000;
  const [before, after] = [asUtc - aheadOf(asUtc - DAY, zone), asUtc - aheadOf(asUtc + DAY, zone)];
  const isRight = (time: number) => localOf(time, zone) === text;
  return !isRight(before) && isRight(after) ? after : before;
}

/** Whether the clocks of two zones differ at a time. */
export const differAt = (time: number, a: string, b: string): boolean =>
  a !== b && localOf(time, a) !== localOf(time, b);

/** A clock in a language: `9:05 AM`. */
export const clockText = (time: number, zone: string, locale: string): string =>
  formatOf(locale, zone, { hour: "numeric", minute: "2-digit" }).format(time);

/** A day in a language: `Monday, March 1`. */
export const dayText = (
  time: number,
  zone: string,
  locale: string,
  weekday: "long" | "short" = "long",
): string => formatOf(locale, zone, { weekday, day: "numeric", month: weekday }).format(time);

/** From and to: `9:00 – 9:40 AM`. */
export function rangeText(
  [from, to]: readonly [from: number, to: number],
  zone: string,
  locale: string,
): string {
  const sameDay = dayOf(from, zone) === dayOf(to, zone);
  if (!sameDay) {
    return `${clockText(from, zone, locale)} – ${dayText(to, zone, locale, "short")}, ${clockText(to, zone, locale)}`;
  }
  const options = { hour: "numeric", minute: "2-digit" } as const;
  return formatOf(locale, zone, options).formatRange(from, to);
}

/** The name of a language by its tag; the tag itself if it is none. */
export function languageText(tag: string, locale: string): string {
  try {
    const names = new Intl.DisplayNames([locale], { type: "language" });
    return names.of(tag) ?? tag;
  } catch {
    return tag;
  }
}

/** The short name of a zone at a time, such as `GMT+1` or `CET`. */
export const zoneText = (time: number, zone: string, locale: string): string =>
  formatOf(locale, zone, { timeZoneName: "short" })
    .formatToParts(time)
    .find(({ type }) => type === "timeZoneName")?.value ?? zone;

/**
 * When an event is, on its own clock: days, and the hours if it is one day; undefined if that
 * is not known.
 */
export function datesText(
  { starts_at, ends_at, timezone }: EventPreview,
  locale: string,
): string | undefined {
  if (starts_at === undefined) return undefined;
  const timeZone = zoneOr(timezone);
  const day = { day: "numeric", month: "long", year: "numeric" } as const;
  const full = new Intl.DateTimeFormat(locale, {
    weekday: "long",
    ...day,
    timeZone,
    hour: "numeric",
    minute: "2-digit",
    timeZoneName: "short",
  });
  const start = Date.parse(starts_at);
  if (ends_at === undefined) return full.format(start);
  const end = Date.parse(ends_at);
  if (dayOf(start, timeZone) === dayOf(end, timeZone)) {
    return full.formatRange(start, end);
  }
  const days = { weekday: "short", ...day, timeZone } as const;
  return new Intl.DateTimeFormat(locale, days).formatRange(start, end);
}
