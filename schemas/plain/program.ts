// Rules for programs that the pages, the clients and the server share.

/** The maximum lengths of text fields, in characters. */
export const PROGRAM_TEXTS = {
  title: 300,
  subtitle: 300,
  abstract: 5000,
  description: 50_000,
  label: 100,
  tag: 50,
  biography: 20_000,
  organization: 300,
  importId: 200,
  address: 2000,
} as const;

/** The maximum lengths of lists, in items. */
export const PROGRAM_LISTS = { speakers: 50, tags: 20, links: 20, alternatives: 20 } as const;

/** Maximum duration of a session, in milliseconds: 31 days. */
export const LONGEST_SESSION = 31 * 24 * 60 * 60 * 1000;

/** Maximum number of favorites per user. */
export const MAX_FAVORITES = 1000;

/** Maximum number of sessions, and of speakers, in a world. */
export const MAX_PROGRAM = 5000;

/** The maximum size of a world's sessions and speakers, in characters of JSON. */
export const MAX_PROGRAM_SIZE = 16 * 1024 * 1024;

/** Maximum size of a document to import, in bytes. */
export const MAX_DOCUMENT = 10 * 1024 * 1024;

/** The session fields that determine time and place. Times are RFC 3339 timestamps. */
export interface Scheduled {
  readonly id: string;
  readonly room_id: string | null;
  readonly starts_at: string | null;
  readonly ends_at: string | null;
  /**
   * `held`: the session stays on beyond its end, until a host ends it. `ended`: a host has ended the
   * session, so that its stream does not continue.
   */
  readonly overrun?: "held" | "ended" | null | undefined;
}

/**
 * Maximum time for which a held session stays on beyond its end, in milliseconds: 12 hours. A host
 * who forgets the session does not hide the sessions of the next day.
 */
export const MAX_HELD = 12 * 60 * 60 * 1000;

/** The current and next session in a room. */
export interface NowAndNext<S> {
  /** The current session; undefined between sessions. */
  readonly now: S | undefined;
  /**
   * The next session to begin, today or later; undefined if no session follows. While a held session
   * delays it, its start may be in the past.
   */
  readonly next: S | undefined;
}

/** A session with its start and end as numbers. */
interface Timed<S> {
  readonly session: S;
  readonly start: number;
  /** The scheduled end. */
  readonly end: number;
  /** When the session stops being current at the latest: later than `end` if the session is held. */
  readonly until: number;
}

const timed = <S extends Scheduled>(session: S): Timed<S>[] => {
  if (session.starts_at === null || session.ends_at === null) return [];
  const start = Date.parse(session.starts_at);
  const end = Date.parse(session.ends_at);
  return [{ session, start, end, until: session.overrun === "held" ? end + MAX_HELD : end }];
};

/**
 * Returns a room's current session and next session. A held session is current until a host ends
 * it. Of several concurrent sessions, the session that began last is current. Of several sessions
 * that began simultaneously, the first in the list is current.
 * @param sessions the sessions of one room, in program order.
 * @param now in milliseconds since 1970, on the server's clock.
 */
export function nowAndNext<S extends Scheduled>(
  sessions: readonly S[],
  now: number,
): NowAndNext<S> {
  const all = sessions.flatMap(timed);
  let on: Timed<S> | undefined;
  for (const one of all) {
    if (one.start > now || one.until <= now) continue;
    const isHeld = one.session.overrun === "held";
    const wasHeld = on?.session.overrun === "held";
    const isLater = !on || one.start > on.start;
    if (isHeld === wasHeld ? isLater : isHeld || !on) on = one;
  }
  // While a session is held past its end, the sessions after it wait.
  const from = on?.session.overrun === "held" ? Math.min(on.end - 1, now) : now;
  let next: Timed<S> | undefined;
  for (const one of all) {
    if (one === on || one.start <= from || one.session.overrun === "ended") continue;
    if (!next || one.start < next.start) next = one;
  }
  return { now: on?.session, next: next?.session };
}

/**
 * Minutes for which a session's stream continues after the session's scheduled end, unless the
 * world's `config.overrun_minutes` says otherwise; and the maximum.
 */
export const OVERRUN_MINUTES = 30;
export const MAX_OVERRUN_MINUTES = 180;

/** Returns how long streams continue after the end of a session, in milliseconds. */
export const overrunOf = (minutes: unknown): number =>
  60_000 * (isOverrunMinutes(minutes) ? minutes : OVERRUN_MINUTES);

/** Whether a value is valid as `config.overrun_minutes`. */
export const isOverrunMinutes = (minutes: unknown): minutes is number =>
  Number.isInteger(minutes) &&
  (minutes as number) >= 0 &&
  (minutes as number) <= MAX_OVERRUN_MINUTES;

/**
 * Returns the session that is running over: its scheduled end has passed but its stream continues.
 * The overrun ends when the next session begins, when a host ends the session, when the recording
 * is available, or after some time.
 * @param sessions the sessions of one room, in program order.
 * @param now in milliseconds since 1970, on the server's clock.
 * @param overrun how long streams continue, in milliseconds: see {@link overrunOf}.
 */
export function overrunning<S extends Scheduled & { readonly recording: unknown }>(
  sessions: readonly S[],
  now: number,
  overrun: number,
): S | undefined {
  if (nowAndNext(sessions, now).now) return undefined;
  const ends = sessions.flatMap(timed).map(({ until }) => until);
  const end = Math.max(...ends.filter((end) => end <= now));
  if (now - end >= overrun) return undefined;
  const last = nowAndNext(sessions, end - 1).now;
  return last && last.recording === null && last.overrun !== "ended" ? last : undefined;
}

/** Groups sessions by room, preserving their order. Omits sessions without a room. */
export function byRoom<S extends Scheduled>(sessions: readonly S[]): Map<string, S[]> {
  const rooms = new Map<string, S[]>();
  for (const session of sessions) {
    if (session.room_id === null) continue;
    const known = rooms.get(session.room_id);
    if (known) known.push(session);
    else rooms.set(session.room_id, [session]);
  }
  return rooms;
}

/**
 * Returns the next time at which a session begins or ends.
 * @param now in milliseconds since 1970.
 * @returns milliseconds since 1970; undefined if no session begins or ends after `now`.
 */
export function nextChange(sessions: readonly Scheduled[], now: number): number | undefined {
  let next: number | undefined;
  for (const { start, end, until } of sessions.flatMap(timed)) {
    for (const time of [start, end, until]) {
      if (time > now && (next === undefined || time < next)) next = time;
    }
  }
  return next;
}
