// Charts over a whole event: values by time, in a number of steps that can be drawn.

export interface Value {
  /** In milliseconds since 1970: the beginning of a step. */
  readonly at: number;
  readonly value: number;
}

/** The span of a chart, in milliseconds since 1970, and its steps. */
export interface Span {
  readonly from: number;
  readonly to: number;
  /** In milliseconds: whole minutes. */
  readonly step: number;
}

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;
/** How many steps a chart has at most. */
const STEPS = 150;

/** What happened in a room, in a step that begins at `at`. */
export interface Activity {
  /** In milliseconds since 1970. */
  readonly at: number;
  /** Null if it is not known, or not for the reader. */
  readonly people: number | null;
  readonly messages: number | null;
}

/**
 * The span of an event so far: from an hour before its start to an hour after its end. An event
 * without dates, or one that has not begun, has none.
 * @param event `config.event`, as any JSON.
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

/** The days in which something happened, from the first to the last; today if nothing ever did. */
export function livelyDays(days: readonly Activity[], now: number): Span {
  const [first, last] = livelyOf(days) ?? [now - DAY, now - DAY];
  return between(first, Math.min(now, last + DAY));
}

/** The part of a span in which something happened, with a step before and after; all if nothing did. */
export function livelyPart(rows: readonly Activity[], span: Span): Span {
  const [first, last] = livelyOf(rows) ?? [span.from, span.to];
  const { step } = span;
  const at = Math.floor((first - span.from) / step) * step + span.from;
  return { from: Math.max(span.from, at - step), to: Math.min(span.to, last + 2 * step), step };
}

/** The first and the last time at which something happened. */
function livelyOf(rows: readonly Activity[]): [number, number] | undefined {
  let found: [number, number] | undefined;
  for (const { at, people, messages } of rows) {
    if (!messages && !people) continue;
    found = [Math.min(found?.[0] ?? at, at), Math.max(found?.[1] ?? at, at)];
  }
  return found;
}

/** Sums up amounts by the steps of a span. Amounts outside of it are left out. */
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

/** The largest value, and when; undefined without one above 0. */
export function peakOf(values: readonly Value[]): Value | undefined {
  let peak: Value | undefined;
  for (const it of values) {
    if (it.value > (peak?.value ?? 0)) peak = it;
  }
  return peak;
}
