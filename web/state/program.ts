import { derived, readable, type Readable } from "svelte/store";
import type { Live, ProgramState, SentSession, SentSpeaker } from "../../client/index.js";
import {
  byRoom,
  nextChange,
  onStage,
  overrunning,
  OVERRUN,
  type OnStage,
} from "../../schemas/plain/program.js";
import { ownZone, zoneOr } from "../lib/zones.js";

/** The program, with what pages look up in it. */
export interface Board extends ProgramState {
  /** The zone of the event; the visitor's, if the event has none. */
  readonly zone: string;
  /** The zone of the visitor. */
  readonly own: string;
  readonly byId: ReadonlyMap<string, SentSession>;
  readonly speakersById: ReadonlyMap<string, SentSpeaker>;
  readonly stars: ReadonlySet<string>;
}

/** What the stage of a room shows at a moment. */
export interface RoomStage extends OnStage<SentSession> {
  /** Between sessions, the one whose stream continues; see {@link overrunning}. */
  readonly overrun: SentSession | undefined;
  /** The sessions that are over, the last first. */
  readonly over: readonly SentSession[];
}

/** The program of a connection. All parts of a page share it. */
export interface ProgramBoard {
  /** Undefined until it is known, and for users who may not read it. */
  readonly board: Readable<Board | undefined>;
  /** The clock of the server, each second; in milliseconds since 1970. */
  readonly clock: Readable<number>;
  /** What is on, by room. Rooms without sessions are left out. */
  readonly stages: Readable<ReadonlyMap<string, RoomStage>>;
}

const boards = new WeakMap<Live, ProgramBoard>();

/** The program of a connection. It is followed while a part of the page uses it. */
export function programOf(live: Live): ProgramBoard {
  let known = boards.get(live);
  if (!known) {
    const board = boardOf(live);
    const clock = clockOf(live);
    known = { board, clock, stages: stagesOf(board, clock) };
    boards.set(live, known);
  }
  return known;
}

const boardOf = (live: Live): Readable<Board | undefined> =>
  readable<Board | undefined>(undefined, (set) => {
    let isOver = false;
    let end = () => {};
    async function follow() {
      end();
      const programs = live.program[Symbol.asyncIterator]();
      end = () => void programs.return?.();
      try {
        for (;;) {
          const { done, value } = await programs.next();
          if (done || isOver) return;
          set(withIndex(value));
        }
      } catch {
        // Without the right to read it, there is none.
        if (!isOver) set(undefined);
      }
    }
    void follow();
    // The right may be back with another login.
    const stop = live.on("authenticated", () => {
      if (live.program.current === undefined) void follow();
    });
    return () => {
      isOver = true;
      stop();
      end();
    };
  });

const withIndex = (program: ProgramState): Board => ({
  ...program,
  zone: zoneOr(program.timezone),
  own: ownZone(),
  byId: new Map(program.sessions.map((it) => [it.id, it])),
  speakersById: new Map(program.speakers.map((it) => [it.id, it])),
  stars: new Set(program.favorites),
});

/** The clock of the server. A page that was hidden looks at it as soon as it is seen. */
const clockOf = (live: Live): Readable<number> =>
  readable(live.program.now(), (set) => {
    let timer: ReturnType<typeof setTimeout>;
    const tick = () => {
      clearTimeout(timer);
      const now = live.program.now();
      set(now);
      timer = setTimeout(tick, 1000 - (now % 1000));
    };
    tick();
    document.addEventListener("visibilitychange", tick);
    return () => {
      clearTimeout(timer);
      document.removeEventListener("visibilitychange", tick);
    };
  });

/**
 * What the stages show. A program has thousands of sessions: they are looked through when one
 * begins or ends.
 */
export function stagesOf(
  board: Readable<Board | undefined>,
  clock: Readable<number>,
): Readable<ReadonlyMap<string, RoomStage>> {
  let of: Board | undefined;
  let from = 0;
  let until = 0;
  let stages: ReadonlyMap<string, RoomStage> = new Map();
  /** The sessions that a host ended: their streams do not continue. */
  let ended: ReadonlySet<string> = new Set();
  return derived([board, clock], ([board, now]) => {
    const isSame = board?.sessions === of?.sessions;
    if (isSame && now >= from && now < until) return stages;
    if (!isSame) ended = endedBy(of, board, ended, now);
    of = board;
    from = now;
    const sessions = publicOf(board?.sessions ?? []);
    until = Math.min(
      nextChange(sessions, now) ?? Infinity,
      (nextChange(sessions, now - OVERRUN) ?? Infinity) + OVERRUN,
    );
    stages = new Map([...byRoom(sessions)].map(([room, its]) => [room, stageOf(its, now, ended)]));
    return stages;
  });
}

/** A host ends a session by moving its end to a time that has passed. */
function endedBy(
  before: Board | undefined,
  after: Board | undefined,
  ended: ReadonlySet<string>,
  now: number,
): ReadonlySet<string> {
  const isEnded = ({ id, ends_at }: SentSession) => {
    if (ends_at === null || Date.parse(ends_at) > now) return false;
    const known = before?.byId.get(id);
    return ended.has(id) || (known !== undefined && known.ends_at !== ends_at);
  };
  return new Set(after?.sessions.filter(isEnded).map(({ id }) => id));
}

const publicOf = (sessions: readonly SentSession[]) =>
  sessions.filter(({ state }) => state === "public");

/** What the stage of a room shows. @param sessions of the room, by their start. */
function stageOf(
  sessions: readonly SentSession[],
  now: number,
  ended: ReadonlySet<string>,
): RoomStage {
  const last = overrunning(sessions, now);
  return {
    ...onStage(sessions, now),
    overrun: last && !ended.has(last.id) ? last : undefined,
    over: sessions
      .filter(({ ends_at }) => ends_at !== null && Date.parse(ends_at) <= now)
      .reverse(),
  };
}

/** A session with a time. */
export type Timed = SentSession & { starts_at: string; ends_at: string };

/** Whether a session has a time. */
export const isTimed = (session: SentSession): session is Timed =>
  session.starts_at !== null && session.ends_at !== null;

/** Where a session is in time. */
export type Phase = "before" | "live" | "over" | "unscheduled";

/** Where a session is in time, at `now`. */
export function phaseOf(session: SentSession, now: number): Phase {
  if (!isTimed(session)) return "unscheduled";
  if (Date.parse(session.starts_at) > now) return "before";
  return Date.parse(session.ends_at) > now ? "live" : "over";
}

/** How long it is until a time: `2:05`, `1:02:05`, or in words beyond a day. */
export function untilText(milliseconds: number, locale: string): string {
  const seconds = Math.max(0, Math.ceil(milliseconds / 1000));
  const hours = Math.floor(seconds / 3600);
  if (hours >= 24) {
    const format = new Intl.RelativeTimeFormat(locale, { numeric: "always" });
    return format.format(Math.floor(hours / 24), "day");
  }
  const two = (value: number) => String(value).padStart(2, "0");
  const minutes = Math.floor(seconds / 60) % 60;
  return hours > 0
    ? `${hours}:${two(minutes)}:${two(seconds % 60)}`
    : `${minutes}:${two(seconds % 60)}`;
}
