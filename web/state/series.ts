// Charts of a whole event: values over time, in steps coarse enough to draw.

export interface Value {
  /** Start of a step, in milliseconds since 1970. */
  readonly at: number;
  readonly value: number;
}

/** A chart's time span, in milliseconds since 1970, and its step. */
export interface Span {
  readonly from: number;
  readonly to: number;
  /** In milliseconds; always whole minutes. */
  readonly step: number;
}

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;
/** Maximum number of steps in a chart. */
const STEPS = 150;

/** A room's activity in the step that starts at `at`. */
export interface Activity {
  /** In milliseconds since 1970. */
  readonly at: number;
  /** Null if the number is unknown, or hidden from the reader. */
  readonly people: number | null;
  readonly messages: number | null;
}

/**
 * Returns an event's span so far: from an hour before its start to an hour after its end. Returns
 * undefined for an event that has no dates or has not begun.
 * @param event `config.event`, which may be any JSON.
 */
export function spanOf(
  event: { readonly starts_at?: unknown; readonly ends_at?: unknown },
  now: number,
): Span | undefined {
  const timeOf = (value: unknown) => (typeof value === "string" ? Date.parse(value) : Number.NaN);
  const start = timeOf(event.starts_at) - 60 * MINUTE;
  const end = timeOf(event.ends_at) + 60 * MINUTE;
  const to = end < now ? end : now;
  return start < to ? between(start, to) : undefined;
}

function between(from: number, to: number): Span {
  const step = Math.max(1, Math.ceil((to - from) / STEPS / MINUTE)) * MINUTE;
  return { from: Math.floor(from / step) * step, to, step };
}

/** Returns the span from the first to the last day with activity, or the last 24 hours if there was no activity. */
export function livelyDays(days: readonly Activity[], now: number): Span {
  const [first, last] = livelyOf(days) ?? [now - DAY, now - DAY];
  return between(first, Math.min(now, last + DAY));
}

/**
 * Returns the part of a span with activity, plus one step before and after, or the whole span if
 * there was no activity.
 */
export function livelyPart(rows: readonly Activity[], span: Span): Span {
  const [first, last] = livelyOf(rows) ?? [span.from, span.to];
  const { step } = span;
  const at = Math.floor((first - span.from) / step) * step + span.from;
  return { from: Math.max(span.from, at - step), to: Math.min(span.to, last + 2 * step), step };
}

/** Returns the first and the last time with activity. */
function livelyOf(rows: readonly Activity[]): [number, number] | undefined {
  let found: [number, number] | undefined;
  for (const { at, people, messages } of rows) {
    if (!messages && !people) continue;
    found = [Math.min(found?.[0] ?? at, at), Math.max(found?.[1] ?? at, at)];
  }
  return found;
}

/** Sums amounts per step of a span. Amounts outside the span are ignored. */
export function summed(
  amounts: Iterable<{ readonly at: number; readonly value: number }>,
  { from, to, step }: Span,
): Value[] {
  const values = Array.from({ length: Math.max(1, Math.ceil((to - from) / step)) }, (_, n) => ({
    at: from + n * step,
    value: 0,
  }));
  for (const { at, value } of amounts) {
    const found = values[Math.floor((at - from) / step)];
    if (found) found.value += value;
  }
  return values;
}

/** Returns the largest value and its time, or undefined if no value is above 0. */
export function peakOf(values: readonly Value[]): Value | undefined {
  let peak: Value | undefined;
  for (const it of values) {
    if (it.value > (peak?.value ?? 0)) peak = it;
  }
  return peak;
}
