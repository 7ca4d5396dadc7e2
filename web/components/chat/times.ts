import { currentLocale, t } from "../../i18n/index.js";

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
