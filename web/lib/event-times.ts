import type { EventPreview } from "./page.js";

// The times of an event, in its own time zone.

/** A time zone that this browser knows; undefined for its own. */
export function knownZone(zone: string | undefined): string | undefined {
  if (zone === undefined) return undefined;
  try {
    return new Intl.DateTimeFormat("en", { timeZone: zone }).resolvedOptions()
      .timeZone;
  } catch {
    return undefined;
  }
}

/** Formats times in a time zone; undefined stands for the browser's own. */
export const formatIn = (
  locale: string,
  timeZone: string | undefined,
  options: Intl.DateTimeFormatOptions,
): Intl.DateTimeFormat =>
  new Intl.DateTimeFormat(locale, {
    ...options,
    ...(timeZone !== undefined && { timeZone }),
  });

/** When an event is: days, and the hours if it is one day; undefined if that is not known. */
export function datesText(
  { starts_at, ends_at, timezone }: EventPreview,
  locale: string,
): string | undefined {
  if (starts_at === undefined) return undefined;
  const zone = knownZone(timezone);
  const start = new Date(starts_at);
  const day = { day: "numeric", month: "long", year: "numeric" } as const;
  const days = formatIn(locale, zone, { weekday: "short", ...day });
  const full = formatIn(locale, zone, {
    ...{ weekday: "long", ...day },
    ...{ hour: "numeric", minute: "2-digit", timeZoneName: "short" },
  });
  if (ends_at === undefined) return full.format(start);
  const end = new Date(ends_at);
  return days.format(start) === days.format(end)
    ? full.formatRange(start, end)
    : days.formatRange(start, end);
}

/** Whether the clocks of a time zone show another time than the browser's. */
export function isForeign(zone: string | undefined, at: Date): boolean {
  const text = (timeZone: string | undefined) =>
    formatIn("en", timeZone, { dateStyle: "short", timeStyle: "short" }).format(
      at,
    );
  return zone !== undefined && text(zone) !== text(undefined);
}
