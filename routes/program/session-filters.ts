import type { Versioned } from "../../db/contract/store.js";
import { foldCase } from "../../db/rules/rows.js";
import type {
  Session,
  SessionsQuery,
  Speaker,
} from "../../schemas/program/program.js";
import { timeIn } from "../results/times.js";

/**
 * The filter that a query describes.
 * @param speakers those that the caller may see, whose names a search looks at.
 * @throws {InvalidData} about a time that does not exist.
 */
export function filterOf(
  query: SessionsQuery,
  speakers: readonly Versioned<Speaker>[],
): (session: Session) => boolean {
  const { room, speaker, track, search } = query;
  const from = timeIn("from", query.from);
  const to = timeIn("to", query.to);
  const matches = search === undefined ? undefined : finder(search, speakers);
  return (session) =>
    (room === undefined || session.room_id === room) &&
    (speaker === undefined || session.speaker_ids.includes(speaker)) &&
    (track === undefined || session.track === track) &&
    overlaps(session, from, to) &&
    (matches === undefined || matches(session));
}

/** Whether a session overlaps a time. Without a start and an end, it overlaps none. */
function overlaps(
  { starts_at, ends_at }: Session,
  from: number | undefined,
  to: number | undefined,
): boolean {
  if (from === undefined && to === undefined) return true;
  if (starts_at === null || ends_at === null) return false;
  return (
    (from === undefined || Date.parse(ends_at) > from) &&
    (to === undefined || Date.parse(starts_at) < to)
  );
}

function finder(search: string, speakers: readonly Versioned<Speaker>[]) {
  const term = foldCase(search);
  const holds = (text: string) => foldCase(text).includes(term);
  const found = new Set(
    speakers.flatMap(({ value }) => (holds(value.name) ? [value.id] : [])),
  );
  return (session: Session): boolean =>
    [
      ...[session.title, session.subtitle, session.abstract],
      ...[session.description, session.track, ...session.tags],
    ].some(holds) || session.speaker_ids.some((id) => found.has(id));
}
