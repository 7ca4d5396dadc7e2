import { LONGEST_SESSION, nowAndNext, overrunning, type Scheduled } from "../program.js";

// How hosts run a room's program while the event is on. Shared by the server, which moves the
// program, and the pages, which say beforehand what will move.

/** What a host does with a session. */
export const runActions = ["start", "plus", "hold", "end"] as const;
export type RunAction = (typeof runActions)[number];

/** The maximum number of minutes by which one action may extend a session, and the default. */
export const MAX_RUN_MINUTES = 180;
export const RUN_MINUTES = 5;

/** A session's fields that an action may change. Times are RFC 3339 timestamps. */
export interface Moved {
  readonly id: string;
  readonly starts_at: string;
  readonly ends_at: string;
  readonly overrun: "held" | "ended" | null;
}

export interface RunRequest {
  /** A session's id. */
  readonly session: string;
  readonly action: RunAction;
  /** For `plus`: the number of minutes. */
  readonly minutes?: number | undefined;
}

type Running = Scheduled & { readonly recording: unknown };

interface Times {
  readonly start: number;
  readonly end: number;
}

const MINUTE_MS = 60_000;

/**
 * How long after a session's end a host may still extend it although the next session has begun, in
 * milliseconds. A late click must not move the whole day.
 */
const RESUMABLE_MS = 30 * MINUTE_MS;

const textOf = (time: number): string => new Date(time).toISOString();

const timesOf = ({ starts_at, ends_at }: Scheduled): Times | undefined =>
  starts_at === null || ends_at === null
    ? undefined
    : { start: Date.parse(starts_at), end: Date.parse(ends_at) };

/**
 * Returns the sessions of a room that an action changes. `start` begins a session now, for its
 * planned duration, and ends the session that is on. `plus` moves a session's end, counted from now
 * if the end has passed. `hold` keeps a session on until a host ends it. `end` ends it. Sessions
 * that follow are delayed by as much as the gaps between them do not absorb.
 * @param sessions the room's public sessions, in program order.
 * @param now in milliseconds since 1970, on the server's clock.
 * @param overrun how long streams continue after a session, in milliseconds.
 * @returns undefined if the session is not in the room, has no times, has not begun (`hold`, `end`)
 * or has long ended (`plus`, `hold`). An empty list if nothing changes.
 */
export function runSession<S extends Running>(
  sessions: readonly S[],
  { session: id, action, minutes = RUN_MINUTES }: RunRequest,
  now: number,
  overrun: number,
): Moved[] | undefined {
  const session = sessions.find((it) => it.id === id);
  const times = session && timesOf(session);
  if (!session || !times) return undefined;
  const on = nowAndNext(sessions, now).now ?? overrunning(sessions, now, overrun);
  const isPast = on?.id !== id && times.end <= now - RESUMABLE_MS;
  const moved = new Map<string, Moved>();
  const move = (it: Scheduled, { start, end }: Times, mark: Moved["overrun"]) => {
    const after = { id: it.id, starts_at: textOf(start), ends_at: textOf(end), overrun: mark };
    const isSame =
      timesOf(it)?.start === start && timesOf(it)?.end === end && (it.overrun ?? null) === mark;
    if (!isSame) moved.set(it.id, after);
  };
  /** Delays the sessions that follow, after the end of one has moved from `end` to `to`. */
  const delay = (end: number, to: number) => {
    // By whole minutes: what waited for a held session begins at once, and nothing else overlaps.
    const rounded = action === "end" ? Math.floor : Math.ceil;
    let by = rounded((to - end) / MINUTE_MS) * MINUTE_MS;
    let last = end;
    for (const it of sessions) {
      const planned = timesOf(it);
      if (!planned || planned.start < end || it.id === id || moved.has(it.id)) continue;
      by -= Math.max(0, planned.start - last);
      if (by <= 0) return;
      move(it, { start: planned.start + by, end: planned.end + by }, it.overrun ?? null);
      last = Math.max(last, planned.end);
    }
  };
  const endNow = (it: Scheduled) => {
    const { start, end } = timesOf(it)!;
    // A session's end must follow its start.
    const to = Math.max(start + 1, now);
    move(it, { start, end: to }, "ended");
    return { end, to };
  };

  switch (action) {
    case "start": {
      if (on && on.id !== id) endNow(on);
      // Programs show whole minutes.
      const start = now - (now % MINUTE_MS);
      // A session that somebody ended by mistake is left with too short a duration.
      const length = Math.max(times.end - times.start, RUN_MINUTES * MINUTE_MS);
      const end = start + Math.min(length, LONGEST_SESSION);
      move(session, { start, end }, null);
      delay(Math.max(times.end, Math.min(now, end)), end);
      break;
    }
    case "plus": {
      if (isPast) return undefined;
      const from = times.end > now ? times.end : now - (now % MINUTE_MS);
      const end = Math.min(from + minutes * MINUTE_MS, times.start + LONGEST_SESSION);
      // Another session that has begun in the meantime begins again afterwards.
      move(session, { start: times.start, end }, null);
      delay(times.end, end);
      break;
    }
    case "hold": {
      if (times.start > now || isPast) return undefined;
      for (const it of sessions) {
        const held = it.overrun === "held" && it.id !== id ? timesOf(it) : undefined;
        if (held) move(it, held, "ended");
      }
      move(session, times, "held");
      break;
    }
    case "end": {
      if (times.start > now) return undefined;
      if (on?.id !== id && times.end <= now) return [];
      const { end, to } = endNow(session);
      if (to > end) delay(end, to);
      break;
    }
  }
  return [...moved.values()];
}
