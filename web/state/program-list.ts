import type { SentSession } from "../../client/index.js";
import { dayOf } from "../lib/zones.js";
import { isTimed, type Board } from "./program.js";

/** What a visitor looks for in a program. */
export interface Wanted {
  readonly term: string;
  /** Empty for all. */
  readonly track: string;
  /** The id of a room; empty for all. */
  readonly room: string;
  readonly isStarred: boolean;
}

/** The sessions that begin at one time. */
export interface Slot {
  /** In milliseconds since 1970. */
  readonly start: number;
  readonly sessions: readonly SentSession[];
}

/** A day of a program. */
export interface Day {
  /** As `2027-03-01`; empty for what is not scheduled yet. */
  readonly key: string;
  readonly slots: readonly Slot[];
}

/** All tracks, in the order of the alphabet. */
export const tracksOf = ({ sessions }: Board, locale: string): string[] =>
  [...new Set(sessions.map(({ track }) => track))]
    .filter((track) => track !== "")
    .sort(new Intl.Collator(locale).compare);

/** The sessions that a visitor looks for. */
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

/** Sessions by the days of a zone and by their start; unscheduled ones are last. */
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

/** The day that is shown first: today, else the next one, else the last one. */
export function firstDay(days: readonly Day[], today: string): string | undefined {
  const dated = days.filter(({ key }) => key !== "");
  const next = dated.find(({ key }) => key >= today) ?? dated.at(-1);
  return (next ?? days[0])?.key;
}
