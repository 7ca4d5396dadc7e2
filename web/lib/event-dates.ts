import type { EventPreview } from "./page.js";
import { dayOf, zoneOr } from "./zones.js";

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
