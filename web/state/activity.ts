import { writable, type Readable } from "svelte/store";
import type { Activity } from "../../client/index.js";

/** A value at a time in milliseconds. Null if the value is unknown. */
export interface Point {
  readonly at: number;
  readonly value: number | null;
}

/** The data for the plots of the last few minutes, oldest first. */
export interface Series {
  readonly now: Activity | undefined;
  readonly connections: readonly Point[];
  /** Messages per second. */
  readonly messages: readonly Point[];
  /** Dropped connections per second. */
  readonly slowReaders: readonly Point[];
  /** Time of the newest sample, or undefined if there are no samples. */
  readonly at: number | undefined;
}

/** Time span of the plots, in milliseconds. */
export const SPAN = 5 * 60_000;

const EMPTY: Series = {
  now: undefined,
  connections: [],
  messages: [],
  slowReaders: [],
  at: undefined,
};

/** Samples of a world's activity over time. */
export class ActivitySeries implements Readable<Series> {
  readonly #clock: () => number;
  readonly #span: number;
  readonly #store = writable<Series>(EMPTY);
  readonly subscribe = this.#store.subscribe;
  #last = EMPTY;

  /**
   * @param clock returns the time in milliseconds.
   * @param span how long samples are kept, in milliseconds.
   */
  constructor(clock: () => number = Date.now, span = SPAN) {
    this.#clock = clock;
    this.#span = span;
  }

  /** Adds a sample of the server's current counts. */
  add(now: Activity): void {
    const at = this.#clock();
    const { now: before, at: then } = this.#last;
    const rate = (read: (activity: Activity) => number): number | null => {
      if (!before || then === undefined || at <= then) return null;
      const more = read(now) - read(before);
      // A restarted server counts from zero, so the rate since the previous sample is unknown.
      if (now.since !== before.since || more < 0) return null;
      return (more * 1000) / (at - then);
    };
    this.#set({
      now,
      at,
      connections: this.#with("connections", at, now.connections),
      messages: this.#with(
        "messages",
        at,
        rate((it) => it.messages),
      ),
      slowReaders: this.#with(
        "slowReaders",
        at,
        rate((it) => it.slow_readers),
      ),
    });
  }

  /** Records a missing sample, which plots show as a gap. */
  miss(): void {
    const at = this.#clock();
    this.#set({
      ...this.#last,
      connections: this.#with("connections", at, null),
      messages: this.#with("messages", at, null),
      slowReaders: this.#with("slowReaders", at, null),
    });
  }

  #with(
    name: "connections" | "messages" | "slowReaders",
    at: number,
    value: number | null,
  ): readonly Point[] {
    const kept = this.#last[name].filter((point) => point.at > at - this.#span);
    return [...kept, { at, value }];
  }

  #set(series: Series): void {
    this.#last = series;
    this.#store.set(series);
  }
}

/**
 * Returns the minimum, the maximum and the newest value of a series, or undefined if the series has
 * no known value.
 */
export function extremes(
  points: readonly Point[],
): { least: number; most: number; last: number | null } | undefined {
  const values = points.flatMap(({ value }) => value ?? []);
  if (values.length === 0) return undefined;
  return { least: Math.min(...values), most: Math.max(...values), last: points.at(-1)!.value };
}

/**
 * Returns a plot's line as an SVG path, with gaps where values are unknown.
 * @param end the time at the right edge, in milliseconds; the left edge is `span` earlier.
 * @param top the value at the top edge; the bottom edge is zero.
 */
export function pathOf(points: readonly Point[], { width, height, end, span, top }: Frame): string {
  let isDrawing = false;
  let path = "";
  for (const { at, value } of points) {
    if (value === null) {
      isDrawing = false;
      continue;
    }
    const x = Math.max(0, width * (1 - (end - at) / span));
    const y = height * (1 - value / top);
    path += `${isDrawing ? "L" : "M"}${x.toFixed(1)} ${y.toFixed(1)}`;
    isDrawing = true;
  }
  return path;
}

/** Size and scale of a plot. */
export interface Frame {
  width: number;
  height: number;
  end: number;
  span: number;
  top: number;
}

/** Returns a few evenly spaced points, including the newest, for screen readers. */
export function samples(points: readonly Point[], count: number): Point[] {
  const step = Math.max(1, Math.ceil(points.length / count));
  return points.filter((_, at) => (points.length - 1 - at) % step === 0);
}
