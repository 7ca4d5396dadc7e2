import type { EventPreview } from "./page.js";

// Times in a time zone. A zone is an IANA name, such as `Europe/Berlin`.

const formats = new Map<string, Intl.DateTimeFormat>();

/** Returns a cached format, because a page formats hundreds of timestamps. */
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

/** Returns the browser's time zone. */
export const ownZone = (): string => new Intl.DateTimeFormat().resolvedOptions().timeZone || "UTC";

/**
 * Returns a zone, or a fallback if the browser does not know the zone. The default fallback is the
 * browser's own zone.
 */
export function zoneOr(zone: string | undefined, otherwise: string = ownZone()): string {
  try {
    if (zone) return plainOf(zone).resolvedOptions().timeZone;
  } catch {
    // This browser does not know the name.
  }
  return otherwise;
}

/**
 * Returns a format such as `2027-03-01 09:05`. Formats are cached per zone, because a browser needs
 * 5 ms to create a format.
 */
const plainOf = (zone: string): Intl.DateTimeFormat =>
  formatOf("sv-SE", zone, {
    year: "numeric",
    month: "2-digit",
    day: "2-digit",
    hour: "2-digit",
    minute: "2-digit",
  });

/** Formats a time for `<input type="datetime-local">`. */
export const localOf = (time: number, zone: string): string =>
  plainOf(zone).format(time).replace(" ", "T");

/** Formats the date of a time, as `2027-03-01`. */
export const dayOf = (time: number, zone: string): string => localOf(time, zone).split("T")[0]!;

/** Formats the time of day, as `09:05`. */
export const clockOf = (time: number, zone: string): string => localOf(time, zone).split("T")[1]!;

/** Returns a zone's offset from UTC at a time: whole minutes, in milliseconds. */
const aheadOf = (time: number, zone: string): number =>
  Date.parse(`${localOf(time, zone)}Z`) - Math.floor(time / 60_000) * 60_000;

/**
 * Returns the time at which a zone's clocks show a local time. A local time that occurs twice
 * resolves to its first occurrence; a local time that is skipped shifts forward by the length of
 * the gap.
 * @param text the local time, such as `2027-03-01T09:05`.
 * @returns milliseconds since 1970, or undefined if the text is not a time.
 */
export function timeAt(text: string, zone: string): number | undefined {
  const asUtc = Date.parse(`${text}Z`);
  if (Number.isNaN(asUtc)) return undefined;
  const DAY = 24 * 60 * 60_000;
  const [before, after] = [asUtc - aheadOf(asUtc - DAY, zone), asUtc - aheadOf(asUtc + DAY, zone)];
  const isRight = (time: number) => localOf(time, zone) === text;
  return !isRight(before) && isRight(after) ? after : before;
}

/** Whether the clocks of two zones differ at a given time. */
export const differAt = (time: number, a: string, b: string): boolean =>
  a !== b && localOf(time, a) !== localOf(time, b);

/** Formats a time of day for a locale: `9:05 AM`. */
export const clockText = (time: number, zone: string, locale: string): string =>
  formatOf(locale, zone, { hour: "numeric", minute: "2-digit" }).format(time);

/** Formats a day for a locale: `Monday, March 1`. */
export const dayText = (
  time: number,
  zone: string,
  locale: string,
  weekday: "long" | "short" = "long",
): string => formatOf(locale, zone, { weekday, day: "numeric", month: weekday }).format(time);

/** Formats a range of times: `9:00 – 9:40 AM`. */
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

/** Returns the name of a language, or the language's tag if the name is unknown. */
export function languageText(tag: string, locale: string): string {
  try {
    const names = new Intl.DisplayNames([locale], { type: "language" });
    return names.of(tag) ?? tag;
  } catch {
    return tag;
  }
}

/** Returns the short name of a zone at a given time, such as `GMT+1` or `CET`. */
export const zoneText = (time: number, zone: string, locale: string): string =>
  formatOf(locale, zone, { timeZoneName: "short" })
    .formatToParts(time)
    .find(({ type }) => type === "timeZoneName")?.value ?? zone;

/**
 * Formats an event's dates in the event's time zone. The time of day is included unless the event
 * spans several days. Returns undefined if the start is unknown.
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
