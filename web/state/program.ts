import { derived, readable, type Readable } from "svelte/store";
import type { Live, ProgramState, SentSession, SentSpeaker } from "../../client/index.js";
import {
  byRoom,
  MAX_HELD,
  nextChange,
  nowAndNext,
  overrunning,
  overrunOf,
  type NowAndNext,
} from "../../schemas/plain/program.js";
import { ownZone, zoneOr } from "../lib/zones.js";

/** The program, with indexes for the pages. */
export interface Board extends ProgramState {
  /** The event's time zone, or the visitor's time zone if the event has none. */
  readonly zone: string;
  /** The visitor's time zone. */
  readonly own: string;
  readonly byId: ReadonlyMap<string, SentSession>;
  readonly speakersById: ReadonlyMap<string, SentSpeaker>;
  readonly stars: ReadonlySet<string>;
  /** The former start and room of each favorite that has moved. */
  readonly movedFrom: ReadonlyMap<string, ProgramState["moved"][number]>;
  /** How long streams continue after a session, in milliseconds. */
  readonly overrun: number;
  /** The session that a host holds in each room, if there is one. */
  readonly held: ReadonlyMap<string, SentSession>;
}

/** A room's stage at a given time. */
export interface RoomStage extends NowAndNext<SentSession> {
  /** Between sessions, the session whose stream continues; see {@link overrunning}. */
  readonly overrun: SentSession | undefined;
  /** Past sessions, latest first. */
  readonly over: readonly SentSession[];
}

/** A connection's program, shared by all parts of a page. */
export interface ProgramBoard {
  /** Undefined until the program is loaded, and for users who may not read the program. */
  readonly board: Readable<Board | undefined>;
  /** The server's clock, updated every second, in milliseconds since 1970. */
  readonly clock: Readable<number>;
  /** Stages by room id. Rooms without sessions are omitted. */
  readonly stages: Readable<ReadonlyMap<string, RoomStage>>;
}

const boards = new WeakMap<Live, ProgramBoard>();

/** Returns a connection's program, which stays up to date while a part of the page uses it. */
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
        // Users without the right to read the program have none.
        if (!isOver) set(undefined);
      }
    }
    void follow();
    // Another login may restore the right.
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
  movedFrom: new Map(program.moved.map((it) => [it.session, it])),
  overrun: overrunOf(program.overrunMinutes),
  held: new Map(
    program.sessions
      .filter(({ overrun, room_id }) => overrun === "held" && room_id !== null)
      .map((it) => [it.room_id!, it]),
  ),
});

/** The server's clock. The clock updates immediately when a hidden page becomes visible. */
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
 * Computes the stages of all rooms. A program has thousands of sessions, so the sessions are
 * scanned only when the program changes, or when a session begins or ends.
 */
export function stagesOf(
  board: Readable<Board | undefined>,
  clock: Readable<number>,
): Readable<ReadonlyMap<string, RoomStage>> {
  let of: Board | undefined;
  let from = 0;
  let until = 0;
  let stages: ReadonlyMap<string, RoomStage> = new Map();
  return derived([board, clock], ([board, now]) => {
    const isSame = board?.sessions === of?.sessions && board?.overrun === of?.overrun;
    if (isSame && now >= from && now < until) return stages;
    of = board;
    from = now;
    const sessions = publicOf(board?.sessions ?? []);
    const overrun = board?.overrun ?? 0;
    until = Math.min(
      nextChange(sessions, now) ?? Infinity,
      (nextChange(sessions, now - overrun) ?? Infinity) + overrun,
    );
    stages = new Map(
      [...byRoom(sessions)].map(([room, its]) => [room, stageOf(its, now, overrun)]),
    );
    return stages;
  });
}

const publicOf = (sessions: readonly SentSession[]) =>
  sessions.filter(({ state }) => state === "public");

/**
 * Computes a room's stage.
 * @param sessions the room's sessions, sorted by start.
 * @param overrun how long streams continue after a session, in milliseconds.
 */
function stageOf(sessions: readonly SentSession[], now: number, overrun: number): RoomStage {
  const stage = nowAndNext(sessions, now);
  return {
    ...stage,
    overrun: overrunning(sessions, now, overrun),
    over: sessions
      .filter((it) => it !== stage.now && it !== stage.next)
      .filter(({ ends_at }) => ends_at !== null && Date.parse(ends_at) <= now)
      .reverse(),
  };
}

/** A scheduled session. */
export type Timed = SentSession & { starts_at: string; ends_at: string };

/** Whether a session is scheduled. */
export const isTimed = (session: SentSession): session is Timed =>
  session.starts_at !== null && session.ends_at !== null;

/** A session's phase relative to the current time. */
export type Phase = "before" | "live" | "over" | "unscheduled";

/**
 * Returns a session's phase at `now`. A session that a host holds is live beyond its end, and the
 * sessions after it wait.
 */
export function phaseOf(session: SentSession, now: number, { held }: Pick<Board, "held">): Phase {
  if (!isTimed(session)) return "unscheduled";
  const { room_id, overrun, starts_at } = session;
  const start = Date.parse(starts_at);
  if (start > now) return "before";
  const on = room_id === null ? undefined : held.get(room_id);
  if (on === session) return now < Date.parse(on.ends_at!) + MAX_HELD ? "live" : "over";
  const waits = on !== undefined && overrun !== "ended" && start >= Date.parse(on.ends_at!);
  if (waits && now < Date.parse(on.ends_at!) + MAX_HELD) return "before";
  return Date.parse(session.ends_at) > now ? "live" : "over";
}

/** Formats a remaining time: `2:05`, `1:02:05`, or in words from a day upward. */
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
