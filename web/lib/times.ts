import { currentLocale, t } from "../i18n/index.js";

// Times are exchanged as ISO 8601 and shown in local time.

const two = (value: number): string => String(value).padStart(2, "0");

/** Formats a time for `<input type="datetime-local">`. Returns an empty string if there is no valid time. */
export function localInput(iso: string | null): string {
  if (iso === null) return "";
  const time = new Date(iso);
  if (Number.isNaN(time.getTime())) return "";
  const date = [time.getFullYear(), time.getMonth() + 1, time.getDate()];
  const clock = [time.getHours(), time.getMinutes()];
  return `${date.map(two).join("-")}T${clock.map(two).join(":")}`;
}

/** Parses the value of `<input type="datetime-local">`. Returns null if the value is not a time. */
export function isoOf(input: string): string | null {
  const time = new Date(input);
  return Number.isNaN(time.getTime()) ? null : time.toISOString();
}

/** Units of time and their length in seconds, longest first. */
const STEPS: readonly [Intl.RelativeTimeFormatUnit, number][] = [
  ["day", 86_400],
  ["hour", 3600],
  ["minute", 60],
];

/**
 * Formats a past time relative to now, such as "5 minutes ago".
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

/** Formats a length of time in seconds or, if they are whole, in minutes or hours, such as "5 minutes". */
export function lengthText(seconds: number): string {
  const [unit, size] = STEPS.find(([, size]) => seconds > 0 && seconds % size === 0) ?? [
    "second",
    1,
  ];
  const style = { style: "unit", unit, unitDisplay: "long" } as const;
  return new Intl.NumberFormat(currentLocale(), style).format(seconds / size);
}

/** Formats a time along with its date. */
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

/** Formats a time of day, such as 14:05. */
export const timeOf = (iso: string): string => format(iso, { hour: "numeric", minute: "2-digit" });

/** Formats a full date and time. */
export const momentOf = (iso: string): string =>
  format(iso, { dateStyle: "full", timeStyle: "short" });

/** Formats a day, as "today" or "yesterday" where possible. */
export function dayOf(iso: string): string {
  const today = new Date();
  const yesterday = new Date(today);
  yesterday.setDate(today.getDate() - 1);
  const day = new Date(iso).toDateString();
  if (day === today.toDateString()) return t("chat.today");
  if (day === yesterday.toDateString()) return t("chat.yesterday");
  return format(iso, { weekday: "long", day: "numeric", month: "long" });
}

/** Formats a time for a list: the time of day if it is today, otherwise the date. */
export const whenText = (iso: string): string =>
  new Date(iso).toDateString() === new Date().toDateString()
    ? timeOf(iso)
    : format(iso, { day: "numeric", month: "short" });

/** Joins names into a list that spells out only the first few names. */
export function namesOf(names: readonly string[], most = 5): string {
  const shown = names.slice(0, most);
  const rest = names.length - shown.length;
  const all = rest > 0 ? [...shown, t("chat.others", { n: rest })] : shown;
  return new Intl.ListFormat(currentLocale()).format(all);
}
