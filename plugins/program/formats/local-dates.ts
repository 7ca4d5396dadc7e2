import { localDay, timeOfDay } from "./zones.js";

// Dates as people write them in spreadsheets: 28.11.2026 9:30, 11/28/2026 9:30 AM.

/** The order of day and month in dates with slashes. */
export type DateOrder = "day first" | "month first";

const DATE = /^(\d{1,2})([./-])(\d{1,2})\.?\2(\d{4}|\d\d)\b[,]?\s*/;
const WEEKDAY = /^\p{L}{2,}\.?,?\s+/u;
const CLOCK = /^(\d{1,2})(?:[:.h](\d\d))?(?::\d\d)?\s*(a\.?m\.?|p\.?m\.?|uhr|h)?$/i;

/**
 * Finds the order of day and month in a table's dates.
 * @param fallback the order if no date tells.
 * @returns whether the order was only guessed.
 */
export function dateOrder(
  texts: Iterable<string>,
  fallback: DateOrder,
): { order: DateOrder; isGuess: boolean } {
  let hasSlash = false;
  for (const text of texts) {
    const match = DATE.exec(text.trim().replace(WEEKDAY, ""));
    if (!match || match[2] === ".") continue;
    hasSlash = true;
    if (Number(match[1]) > 12) return { order: "day first", isGuess: false };
    if (Number(match[3]) > 12) return { order: "month first", isGuess: false };
  }
  return { order: fallback, isGuess: hasSlash };
}

/**
 * Writes a date and a time as `2026-11-28T09:30`.
 * @param text a date, a time, or both.
 * @param day the date if the text is only a time.
 * @returns undefined if the text has no such form; other formats may read it.
 */
export function isoTime(text: string, order: DateOrder, day?: string): string | undefined {
  const whole = text.trim();
  const clock = clockOf(whole);
  if (clock !== undefined) return day === undefined ? undefined : `${day}T${clock}`;
  const found = dayIn(whole, order);
  if (!found) return undefined;
  const time = found.rest === "" ? "00:00" : clockOf(found.rest);
  return time === undefined ? undefined : `${found.day}T${time}`;
}

/** Writes a date as `2026-11-28`. Returns undefined if the text is no date. */
export function isoDay(text: string, order: DateOrder): string | undefined {
  return dayIn(text.trim(), order)?.day;
}

function dayIn(text: string, order: DateOrder): { day: string; rest: string } | undefined {
  const iso = /^(\d{4}-\d\d-\d\d)(?:[T ]\s*|$)/.exec(text);
  if (iso) return { day: iso[1]!, rest: text.slice(iso[0].length) };
  const plain = text.replace(WEEKDAY, "");
  const match = DATE.exec(plain);
  if (!match) return undefined;
  const [, first = "", separator, second = "", digits = ""] = match;
  const isDayFirst = separator === "." || order === "day first";
  const [date, month] = isDayFirst ? [first, second] : [second, first];
  const year = digits.length === 2 ? `20${digits}` : digits;
  const day = `${year}-${month.padStart(2, "0")}-${date.padStart(2, "0")}`;
  if (localDay(day) === undefined) return undefined;
  return { day, rest: plain.slice(match[0].length) };
}

/** Writes a time of day as `09:30`. */
function clockOf(text: string): string | undefined {
  const match = CLOCK.exec(text);
  if (!match) return undefined;
  const [, hours = "", minutes, mark = ""] = match;
  if (minutes === undefined && mark === "") return undefined;
  const half = mark.toLowerCase().replaceAll(".", "");
  let hour = Number(hours);
  if (half === "am" || half === "pm") {
    if (hour < 1 || hour > 12) return undefined;
    hour = (hour % 12) + (half === "pm" ? 12 : 0);
  }
  const clock = `${String(hour).padStart(2, "0")}:${minutes ?? "00"}`;
  return timeOfDay(clock) === undefined ? undefined : clock;
}
