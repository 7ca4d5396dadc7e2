// The rules of a program that pages, clients and the server share.

/** The longest texts, in characters. */
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

/** The most entries of lists. */
export const PROGRAM_LISTS = { speakers: 50, tags: 20, links: 20, alternatives: 20 } as const;

/** The longest session, in milliseconds: 31 days. */
export const LONGEST_SESSION = 31 * 24 * 60 * 60 * 1000;

/** The most favorites of a user. */
export const MAX_FAVORITES = 1000;

/** The most sessions, and the most speakers, of a world. */
export const MAX_PROGRAM = 5000;

/** The most text of the sessions and speakers of a world, in characters of JSON. */
export const MAX_PROGRAM_SIZE = 16 * 1024 * 1024;

/** The largest document of an import, in bytes. */
export const MAX_DOCUMENT = 10 * 1024 * 1024;

/** The part of a session that its time and place depend on. Times are RFC 3339. */
export interface Scheduled {
  readonly id: string;
  readonly room_id: string | null;
  readonly starts_at: string | null;
  readonly ends_at: string | null;
}

/** What a room shows at a moment. */
export interface OnStage<S> {
  /** The session that is on; undefined between sessions. */
  readonly now: S | undefined;
  /** The session that begins next, today or later. */
  readonly next: S | undefined;
}

/** The session with the start and the end as numbers. */
interface Timed<S> {
  readonly session: S;
  readonly start: number;
  readonly end: number;
}

const timed = <S extends Scheduled>(session: S): Timed<S>[] =>
  session.starts_at === null || session.ends_at === null
    ? []
    : [{ session, start: Date.parse(session.starts_at), end: Date.parse(session.ends_at) }];

/**
 * What is on now, and next. Of several sessions at once, the one that began last is on, and of
 * these the first in the list.
 * @param sessions of one room, in the order of the program.
 * @param now in milliseconds since 1970, on the clock of the server.
 */
export function onStage<S extends Scheduled>(sessions: readonly S[], now: number): OnStage<S> {
  let on: Timed<S> | undefined;
  let next: Timed<S> | undefined;
  for (const one of sessions.flatMap(timed)) {
    if (one.start > now) {
      if (!next || one.start < next.start) next = one;
    } else if (one.end > now && (!on || one.start > on.start)) on = one;
  }
  return { now: on?.session, next: next?.session };
}

/** How long a stage goes on after the end of its session, in milliseconds: half an hour. */
export const OVERRUN = 30 * 60 * 1000;

/**
 * The session that is over by the clock while its stream goes on: speakers run over. It ends
 * when the next session begins, when its recording is there, or after {@link OVERRUN}.
 * @param sessions of one room, in the order of the program.
 * @param now in milliseconds since 1970, on the clock of the server.
 */
export function overrunning<S extends Scheduled & { readonly recording: unknown }>(
  sessions: readonly S[],
  now: number,
): S | undefined {
  if (onStage(sessions, now).now) return undefined;
  const ends = sessions.flatMap(timed).map(({ end }) => end);
  const end = Math.max(...ends.filter((end) => end <= now));
  if (now - end >= OVERRUN) return undefined;
  const last = onStage(sessions, end - 1).now;
  return last && last.recording === null ? last : undefined;
}

/** The sessions of each room, in their order. Those without a room are left out. */
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
 * When the next session begins or ends.
 * @param now in milliseconds since 1970.
 * @returns milliseconds since 1970; undefined if none does any more.
 */
export function nextChange(sessions: readonly Scheduled[], now: number): number | undefined {
  let next: number | undefined;
  for (const { start, end } of sessions.flatMap(timed)) {
    for (const time of [start, end]) {
      if (time > now && (next === undefined || time < next)) next = time;
    }
  }
  return next;
}
