import {
  FoyerError,
  type Foyer,
  type SentSession,
  type SentSpeaker,
  type Session,
  type SessionChanges,
  type SpeakerChanges,
} from "../../client/index.js";
import { localOf, timeAt } from "../lib/zones.js";
import { same, type Source, type Values } from "./draft.js";
import { isTimed } from "./program.js";

// Changes to the program, which never overwrite concurrent changes by other users.

/** Maximum number of attempts if a session changes during a save. */
const TRIES = 5;

/** Outcome of a change to individual fields. */
export type Saved =
  | { readonly is: "saved" }
  /** Another user changed the same fields; nothing was written. */
  | { readonly is: "changed"; readonly theirs: Session };

/**
 * Changes fields of a session, unless other users have changed the same fields.
 * @param seen the session as the user saw it while editing.
 * @throws {FoyerError} if the server refuses the change.
 */
export async function saveFields(
  api: Foyer,
  seen: SentSession,
  changes: SessionChanges,
): Promise<Saved> {
  const names = Object.keys(changes) as (keyof SessionChanges)[];
  for (let tries = 1; ; tries++) {
    const theirs = await api.getSession(seen.id);
    const isChanged = names.some(
      (name) => !same(theirs[name], seen[name]) && !same(theirs[name], changes[name]),
    );
    if (isChanged) return { is: "changed", theirs };
    try {
      await api.updateSession(seen.id, changes, { ifMatch: theirs.etag });
      return { is: "saved" };
    } catch (error) {
      const isStale = error instanceof FoyerError && error.status === 412;
      if (!isStale || tries === TRIES) throw error;
    }
  }
}

/**
 * Returns a session's times after its start or end is moved to another time of day. Moving the
 * start keeps the duration; an end before the start falls on the next day.
 * @param clock the new time of day, such as `09:05`.
 * @returns undefined if the session has no time, or if `clock` is not a time.
 */
export function movedTo(
  session: SentSession,
  side: "start" | "end",
  clock: string,
  zone: string,
): { starts_at: string; ends_at: string } | undefined {
  if (!isTimed(session) || !/^\d\d:\d\d$/.test(clock)) return undefined;
  const start = Date.parse(session.starts_at);
  const end = Date.parse(session.ends_at);
  const moved = timeAt(`${localOf(start, zone).slice(0, 11)}${clock}`, zone);
  if (moved === undefined) return undefined;
  const DAY = 24 * 60 * 60_000;
  const [from, to] =
    side === "start"
      ? [moved, moved + (end - start)]
      : [start, moved > start ? moved : moved + DAY];
  return { starts_at: new Date(from).toISOString(), ends_at: new Date(to).toISOString() };
}

/** Another session at the same time with the same room or speaker. */
export interface Overlap {
  readonly session: SentSession;
  /** The id of the shared room or speaker. */
  readonly id: string;
}

/** Returns overlaps between sessions in the same room, by session id. */
export const overlaps = (sessions: readonly SentSession[]): ReadonlyMap<string, Overlap> =>
  overlapsOf(sessions, ({ room_id }) => (room_id === null ? [] : [room_id]));

/** Returns overlaps between sessions with the same speaker, by session id, except overlaps in the same room. */
export const speakerOverlaps = (sessions: readonly SentSession[]): ReadonlyMap<string, Overlap> =>
  overlapsOf(
    sessions,
    ({ speaker_ids }) => speaker_ids,
    (one, other) => one.room_id === null || one.room_id !== other.room_id,
  );

function overlapsOf(
  sessions: readonly SentSession[],
  idsOf: (session: SentSession) => readonly string[],
  counts: (one: SentSession, other: SentSession) => boolean = () => true,
): ReadonlyMap<string, Overlap> {
  const found = new Map<string, Overlap>();
  const seen = new Map<string, SentSession[]>();
  for (const session of sessions) {
    if (!isTimed(session)) continue;
    for (const id of idsOf(session)) {
      const others = seen.get(id) ?? [];
      seen.set(id, others);
      // Sessions are sorted by start.
      const other = others.find((it) => it.ends_at! > session.starts_at && counts(it, session));
      if (other) {
        if (!found.has(session.id)) found.set(session.id, { session: other, id });
        if (!found.has(other.id)) found.set(other.id, { session, id });
      }
      others.push(session);
    }
  }
  return found;
}

const valuesOf = ({ ...values }: object): Values => {
  const { id: _id, warnings: _warnings, ...rest } = values as Values;
  return rest;
};

const picked = (values: Values, names: readonly string[]) =>
  Object.fromEntries(names.map((name) => [name, values[name] ?? null]));

/** Reads and writes all fields of a session, for a draft. */
export const sessionSource = (api: Foyer, id: string): Source => ({
  async read() {
    const session = await api.getSession(id);
    return { values: valuesOf(session), version: session.etag };
  },
  async write(values, changed, version) {
    const changes = picked(values, changed) as SessionChanges;
    const session = await api.updateSession(id, changes, { ifMatch: version });
    return { values: valuesOf(session), version: session.etag };
  },
});

/** Reads and writes all fields of a speaker, for a draft. */
export const speakerSource = (api: Foyer, id: string): Source => ({
  async read() {
    const speaker = await api.getSpeaker(id);
    return { values: valuesOf(speaker), version: speaker.etag };
  },
  async write(values, changed, version) {
    const changes = picked(values, changed) as SpeakerChanges;
    const speaker = await api.updateSpeaker(id, changes, { ifMatch: version });
    return { values: valuesOf(speaker), version: speaker.etag };
  },
});

/** Formats links as lines, each with a title and an address: `Slides https://…`. */
export const linesOf = (
  links: readonly { title?: string; label?: string; url: string }[],
): string =>
  links.map(({ title, label, url }) => [title ?? label, url].filter(Boolean).join(" ")).join("\n");

/** Parses links from lines. The last word of each line is the address. */
export const linksIn = (text: string): { title: string; url: string }[] =>
  text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "")
    .map((line) => {
      const url = line.split(/\s+/).at(-1)!;
      return { title: line.slice(0, -url.length).trim(), url };
    });

/** Joins the names of speakers, in the session's order. */
export const namesOf = (
  ids: readonly string[],
  speakers: ReadonlyMap<string, SentSpeaker>,
): string => ids.flatMap((id) => speakers.get(id)?.name ?? []).join(", ");
