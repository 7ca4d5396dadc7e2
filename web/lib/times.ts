import { currentLocale, t } from "../i18n/index.js";

// Times are ISO 8601 between programs, and local to people.

const two = (value: number): string => String(value).padStart(2, "0");

/** A time as `<input type="datetime-local">` wants it; empty for none. */
export function localInput(iso: string | null): string {
  if (iso === null) return "";
  const time = new Date(iso);
  if (Number.isNaN(time.getTime())) return "";
  const date = [time.getFullYear(), time.getMonth() + 1, time.getDate()];
  const clock = [time.getHours(), time.getMinutes()];
  return `${date.map(two).join("-")}T${clock.map(two).join(":")}`;
}

/** The value of `<input type="datetime-local">`; null for an empty one. */
export function isoOf(input: string): string | null {
  const time = new Date(input);
  return Number.isNaN(time.getTime()) ? null : time.toISOString();
}

/** Steps of time and how many seconds they have, the longest first. */
const STEPS: readonly [Intl.RelativeTimeFormatUnit, number][] = [
  ["day", 86_400],
  ["hour", 3600],
  ["minute", 60],
];

/**
 * A past time relative to now, such as "5 minutes ago".
 * @param now in milliseconds.
 */
export function agoText(iso: string, now: number, language: string): string {
  const seconds = Math.max(0, (now - Date.parse(iso)) / 1000);
  const format = new Intl.RelativeTimeFormat(language, { numeric: "auto" });
  for (const [unit, size] of STEPS) {
    if (seconds >= size) return format.format(-Math.floor(seconds / size), unit);
  }
  return format.format(0, "minute");
}

/** A point in time with its date, in a language. */
export const timeText = (iso: string, language: string): string =>
  new Intl.DateTimeFormat(language, { dateStyle: "medium", timeStyle: "short" }).format(
    new Date(iso),
  );

const formats = new Map<string, Intl.DateTimeFormat>();

function format(iso: string, options: Intl.DateTimeFormatOptions): string {
  const key = `${currentLocale()} ${JSON.stringify(options)}`;
  const known = formats.get(key) ?? new Intl.DateTimeFormat(currentLocale(), options);
  formats.set(key, known);
  const date = new Date(iso);
  return Number.isNaN(date.getTime()) ? "" : known.format(date);
}

/** A time of day, such as 14:05. */
export const timeOf = (iso: string): string => format(iso, { hour: "numeric", minute: "2-digit" });

/** A date and a time in full. */
export const momentOf = (iso: string): string =>
  format(iso, { dateStyle: "full", timeStyle: "short" });

/** A day, in relation to today. */
export function dayOf(iso: string): string {
  const today = new Date();
  const yesterday = new Date(today);
  yesterday.setDate(today.getDate() - 1);
  const day = new Date(iso).toDateString();
  if (day === today.toDateString()) return t("chat.today");
  if (day === yesterday.toDateString()) return t("chat.yesterday");
  return format(iso, { weekday: "long", day: "numeric", month: "long" });
}

/** When something was, in a list: the time of today, else the day. */
export const whenText = (iso: string): string =>
  new Date(iso).toDateString() === new Date().toDateString()
    ? timeOf(iso)
    : format(iso, { day: "numeric", month: "short" });

/** A list of names, of which only the first few are named. */
export function namesOf(names: readonly string[], most = 5): string {
  const shown = names.slice(0, most);
  const rest = names.length - shown.length;
  const all = rest > 0 ? [...shown, t("chat.others", { n: rest })] : shown;
  return new Intl.ListFormat(currentLocale()).format(all);
}
