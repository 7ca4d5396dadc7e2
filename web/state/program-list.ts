import type { SentSession } from "../../client/index.js";
import { dayOf } from "../lib/zones.js";
import { isTimed, type Board } from "./program.js";

/** A visitor's filter for the program. */
export interface Wanted {
  readonly term: string;
  /** The name of a track, or empty for all tracks. */
  readonly track: string;
  /** The id of a room, or empty for all rooms. */
  readonly room: string;
  readonly isStarred: boolean;
}

/** Sessions that start at the same time. */
export interface Slot {
  /** In milliseconds since 1970. */
  readonly start: number;
  readonly sessions: readonly SentSession[];
}

/** A day of a program. */
export interface Day {
  /** The date, such as `2027-03-01`, or empty for unscheduled sessions. */
  readonly key: string;
  readonly slots: readonly Slot[];
}

/** Returns all tracks, in alphabetical order. */
export const tracksOf = ({ sessions }: Board, locale: string): string[] =>
  [...new Set(sessions.map(({ track }) => track))]
    .filter((track) => track !== "")
    .sort(new Intl.Collator(locale).compare);

/** Returns the sessions that match a visitor's filter. */
export function found(
  { sessions, speakersById, stars }: Board,
  { term, track, room, isStarred }: Wanted,
): SentSession[] {
  const words = term.trim().toLocaleLowerCase().split(/\s+/).filter(Boolean);
  return sessions.filter((session) => {
    if (track !== "" && session.track !== track) return false;
    if (room !== "" && session.room_id !== room) return false;
    if (isStarred && !stars.has(session.id)) return false;
    if (words.length === 0) return true;
    const { title, subtitle, abstract, tags, speaker_ids } = session;
    const names = speaker_ids.map((id) => speakersById.get(id)?.name ?? "");
    const text = [title, subtitle, abstract, session.track, ...tags, ...names]
      .join("\n")
      .toLocaleLowerCase();
    return words.every((word) => text.includes(word));
  });
}

/** Groups sessions by the days in a time zone, and by their start. Unscheduled sessions are last. */
export function daysOf(sessions: readonly SentSession[], zone: string): Day[] {
  const days = new Map<string, Map<number, SentSession[]>>();
  for (const session of sessions) {
    const start = isTimed(session) ? Date.parse(session.starts_at) : 0;
    const key = isTimed(session) ? dayOf(start, zone) : "";
    const day = days.get(key) ?? new Map<number, SentSession[]>();
    days.set(key, day);
    const slot = day.get(start);
    if (slot) slot.push(session);
    else day.set(start, [session]);
  }
  return [...days]
    .sort(([a], [b]) => (a === "" ? 1 : b === "" ? -1 : a < b ? -1 : 1))
    .map(([key, slots]) => ({
      key,
      slots: [...slots].sort(([a], [b]) => a - b).map(([start, sessions]) => ({ start, sessions })),
    }));
}

/** Returns the day to show first: today, or else the next day of the program, or else its last day. */
export function firstDay(days: readonly Day[], today: string): string | undefined {
  const dated = days.filter(({ key }) => key !== "");
  const next = dated.find(({ key }) => key >= today) ?? dated.at(-1);
  return (next ?? days[0])?.key;
}

/** Sessions in one cell of a {@link Grid}: one session, or several that overlap in their room. */
export interface Cell {
  /** The number of rows that the cell covers. */
  readonly span: number;
  readonly sessions: readonly SentSession[];
}

/** A day as a table of times and rooms. */
export interface Grid {
  /** The ids of the rooms in order; null for sessions without a room. */
  readonly rooms: readonly (string | null)[];
  readonly rows: readonly {
    /** In milliseconds since 1970. */
    readonly start: number;
    /**
     * A cell for each room; undefined where the cell of an earlier row still lasts. A cell without
     * sessions is empty.
     */
    readonly cells: readonly (Cell | undefined)[];
  }[];
}

/**
 * Arranges a day's sessions by start and room. Each row is a start of a session, and a session
 * covers all rows until its end.
 * @param order the ids of all rooms, in order. Rooms without sessions are omitted.
 */
export function gridOf({ slots }: Day, order: readonly string[]): Grid {
  const starts = slots.map(({ start }) => start);
  const sessions = slots.flatMap(({ sessions }) => sessions);
  const used = new Set(sessions.map(({ room_id }) => room_id));
  const known = order.filter((id) => used.has(id));
  // Rooms that the visitor does not see are one column.
  const rooms = [...known, ...([...used].some((id) => !known.includes(id!)) ? [null] : [])];
  const columns = rooms.map((room) => {
    const cells = starts.map((): Cell | undefined => ({ span: 1, sessions: [] }));
    let first = 0;
    let end = 0;
    starts.forEach((start, row) => {
      const here = slots[row]!.sessions.filter(({ room_id }) =>
        room === null ? room_id === null || !known.includes(room_id) : room_id === room,
      );
      if (start < end) cells[row] = undefined;
      if (here.length === 0) return;
      if (start >= end) first = row;
      const ends = here.map((it) => (isTimed(it) ? Date.parse(it.ends_at) : start));
      end = Math.max(end, ...ends);
      const last = starts.findLastIndex((other) => other < end);
      for (let later = row + 1; later <= last; later++) cells[later] = undefined;
      cells[first] = {
        span: Math.max(last, row) - first + 1,
        sessions: [...(first === row ? [] : cells[first]!.sessions), ...here],
      };
    });
    return cells;
  });
  return {
    rooms,
    rows: starts.map((start, row) => ({ start, cells: columns.map((cells) => cells[row]) })),
  };
}

/** How cards of sessions look in a program. */
export interface Look {
  /** The language that needs no label; see {@link usualLanguage}. */
  readonly language: string;
  /** The hues of the tracks; see {@link hueShifts}. */
  readonly hues: ReadonlyMap<string, number>;
}

/**
 * Returns the hue of each track, in degrees from the hue of the event's color. The hues are as far
 * apart as the number of tracks allows.
 */
export const hueShifts = (tracks: readonly string[]): ReadonlyMap<string, number> =>
  new Map(tracks.map((track, i) => [track, Math.round((360 / tracks.length) * i)]));

/**
 * Returns the language that goes without saying, because most sessions are in it: the event's
 * language, or else the most frequent language of the sessions.
 */
export function usualLanguage(sessions: readonly SentSession[], locale: string | null): string {
  if (locale !== null) return mainPart(locale);
  const counts = new Map<string, number>();
  for (const { language } of sessions) {
    if (language !== "") counts.set(mainPart(language), (counts.get(mainPart(language)) ?? 0) + 1);
  }
  return [...counts].sort(([, a], [, b]) => b - a)[0]?.[0] ?? "";
}

/** Whether a session's language should be named, because it is not the usual one. */
export const isUnusual = ({ language }: SentSession, usual: string): boolean =>
  language !== "" && mainPart(language) !== usual;

/** The first part of a language tag: `pt` of `pt-BR`. */
const mainPart = (tag: string) => tag.toLowerCase().split("-")[0]!;

/** Returns the speakers by name, each with their sessions in order of the program. */
export function speakersOf({ speakers, sessions }: Board, locale: string) {
  const { compare } = new Intl.Collator(locale);
  return [...speakers]
    .sort((a, b) => compare(a.name, b.name))
    .map((speaker) => ({
      speaker,
      sessions: sessions.filter(({ speaker_ids }) => speaker_ids.includes(speaker.id)),
    }));
}
