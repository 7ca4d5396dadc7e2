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

/**
 * The span of an event so far: from an hour before its start to an hour after its end. Without
 * dates, or before it starts, the last seven days.
 * @param event `config.event`, as any JSON.
 */
export function spanOf(
  event: { readonly starts_at?: unknown; readonly ends_at?: unknown },
  now: number,
): Span {
  const timeOf = (value: unknown) =>
    typeof value === "string" ? Date.parse(value) : Number.NaN;
  const start = timeOf(event.starts_at) - 60 * MINUTE;
  const end = timeOf(event.ends_at) + 60 * MINUTE;
  const to = end < now ? end : now;
  const from = start < to ? start : to - 7 * DAY;
  const step = Math.ceil((to - from) / STEPS / MINUTE) * MINUTE;
  return { from: Math.floor(from / step) * step, to, step };
}

/** Sums up amounts by the steps of a span. Amounts outside of it are left out. */
export function summed(
  amounts: Iterable<{ readonly at: number; readonly value: number }>,
  { from, to, step }: Span,
): Value[] {
  const values = Array.from(
    { length: Math.max(1, Math.ceil((to - from) / step)) },
    (_, n) => ({ at: from + n * step, value: 0 }),
  );
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
