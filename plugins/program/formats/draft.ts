import {
  LONGEST_SESSION,
  MAX_PROGRAM,
  PROGRAM_LISTS,
  PROGRAM_TEXTS,
} from "../../../schemas/plain/program.js";
import { lengthOf } from "../../../schemas/plain/texts.js";
import { timeText } from "../../../schemas/plain/times.js";
import {
  importId,
  importIdByStart,
  MAX_PROBLEMS,
  nameKey,
  type DocumentSession,
  type DocumentSpeaker,
  type ImportProblem,
  type SourcePosition,
  type ProgramDocument,
} from "../../../schemas/documents/program-document.js";
import { UnreadableDocument } from "../../../schemas/documents/unreadable.js";
import type { Session } from "../../../schemas/program/program.js";
import {
  clean,
  type FoundSession,
  type FoundSpeaker,
  isAddress,
  SkippedSession,
  longTexts,
  quoted,
} from "./found.js";
import { localTime, momentOf, type LocalTime } from "./zones.js";

const TEXTS = {
  subtitle: PROGRAM_TEXTS.subtitle,
  abstract: PROGRAM_TEXTS.abstract,
  description: PROGRAM_TEXTS.description,
  track: PROGRAM_TEXTS.label,
  language: PROGRAM_TEXTS.label,
  kind: PROGRAM_TEXTS.label,
  biography: PROGRAM_TEXTS.biography,
} as const;

/** Maximum number of sessions in a document, including skipped sessions. */
const MAX_FOUND = 4 * MAX_PROGRAM;

/**
 * Builds a document from a parser's findings. Values that exceed a limit are truncated, and
 * unreadable sessions are skipped; both are reported as problems.
 */
export class ParsedProgram {
  readonly #sessions: DocumentSession[] = [];
  readonly #speakers = new Map<string, DocumentSpeaker>();
  /** Speakers by their id in the source. */
  readonly #byId = new Map<string, DocumentSpeaker>();
  readonly #problems: ImportProblem[] = [];
  #unlisted = 0;
  #found = 0;
  /** The error of the first skipped session. */
  #unread: UnreadableDocument | undefined;

  /** @param zone the zone for times that do not name a zone. */
  constructor(readonly zone: string) {}

  /**
   * Records that part of the document was skipped or is ambiguous.
   * @param session the session's title.
   */
  problem({ line }: SourcePosition, message: string, session?: string): void {
    if (this.#problems.length >= MAX_PROBLEMS) {
      this.#unlisted++;
      return;
    }
    this.#problems.push({
      ...(line !== undefined && { line }),
      ...(session && { session: session.slice(0, 300).toWellFormed() }),
      message,
    });
  }

  /**
   * Reads one session. If `read` fails, the session is skipped and reported.
   * @param title the session's title, if known.
   */
  attempt(position: SourcePosition, title: string, read: () => void): void {
    if (++this.#found > MAX_FOUND) {
      throw new UnreadableDocument(position, `A program may have at most ${MAX_PROGRAM} sessions.`);
    }
    try {
      read();
    } catch (error) {
      if (!(error instanceof SkippedSession)) throw error;
      this.#unread ??= error;
      const name = title.trim();
      const what = name === "" ? error.placed : error.what;
      this.problem(position, `${what} It was skipped.`, name);
    }
  }

  /**
   * Parses a time.
   * @param text the time, either with an offset or in the local time of `zone`.
   * @returns milliseconds since 1970.
   * @throws {SkippedSession}
   */
  time(text: string, { position, field, title, zone }: TimeSource): number {
    const local = localTime(text);
    if (local) return this.moment(local, { position, field, title, zone });
    throw this.fault(position, field, `${quoted(text)} is no time.`);
  }

  /**
   * Converts a local time to milliseconds since 1970. Reports a problem if a clock change skips or
   * repeats the local time.
   */
  moment(local: LocalTime, { position, title, zone = this.zone }: TimeSource): number {
    const { at, change } = momentOf(local, zone);
    if (change) {
      const clock = new Date(local.clock).toISOString().slice(0, 16);
      const read = timeText(at);
      const why =
        change === "repeated"
          ? "occurs twice, as clocks are set back"
          : "does not occur, as clocks are set forward";
      this.problem(
        position,
        `${clock.replace("T", " ")} ${why} in ${zone}. It was read as ${read}.`,
        title,
      );
    }
    return at;
  }

  /**
   * Adds a session.
   * @throws {SkippedSession} if the session has no title, or if its times are invalid.
   * @throws {UnreadableDocument} if the document has too many sessions or speakers.
   */
  session(found: FoundSession): void {
    const { position, tags, links, room, times } = found;
    if (found.title.trim() === "") {
      throw this.fault(position, "title", "May not be empty.");
    }
    const title = this.#cut(found, "title", found.title, PROGRAM_TEXTS.title);
    const { start, end } = this.#range(found, times);
    const texts = this.#texts(found, {
      subtitle: found.subtitle,
      ...longTexts(found.abstract, found.description),
      track: found.track,
      language: found.language,
      kind: found.kind,
    });
    if (this.#sessions.length === MAX_PROGRAM) {
      throw new UnreadableDocument(position, `A program may have at most ${MAX_PROGRAM} sessions.`);
    }
    const speakers =
      found.speakers &&
      this.#first(found, "speakers", found.speakers, PROGRAM_LISTS.speakers)
        .map((speaker) => this.#speaker(speaker, title))
        .filter((key) => key !== undefined);
    this.#sessions.push({
      fields: {
        title,
        ...texts,
        starts_at: start,
        ends_at: end,
        ...(tags && { tags: this.#tags(found, tags) }),
        ...(links && { links: this.#links(found, links) }),
      },
      import_id: found.name ? importId(clean(found.name)) : importIdByStart(title, start),
      ...(room !== undefined && { room: this.#room(found, room) }),
      ...(speakers && { speakers: [...new Set(speakers)] }),
      position,
    });
  }

  /**
   * Adds a speaker, unless an earlier session has the same speaker. A globally unique id identifies
   * a speaker. Any other id identifies a speaker only together with the name, because numeric ids
   * are unique only within one system, and some files are merged from several systems.
   * @returns the speaker's key. If the speaker has no name, reports a problem and returns
   * undefined.
   */
  #speaker(found: FoundSpeaker, session: string): string | undefined {
    const { position, biography } = found;
    const at = { position, title: session };
    const name = this.#cut(at, "name", found.name, PROGRAM_TEXTS.title);
    if (name === "") {
      this.problem(position, "A person without a name was skipped.", session);
      return undefined;
    }
    const id = found.id === undefined ? undefined : clean(found.id);
    const source = importId(id ?? nameKey(name));
    const named = importId(id === undefined ? source : `${id} ${nameKey(name)}`);
    const first = this.#byId.get(source);
    const isSame = !first || nameKey(first.fields.name) === nameKey(name);
    if (first && !isSame && found.isUnique) {
      this.problem(
        position,
        `${quoted(name)} has the id of ${quoted(first.fields.name)}, and was read as the same person.`,
        session,
      );
    }
    const known = first && (isSame || found.isUnique) ? first : this.#speakers.get(named);
    if (known) {
      // Some formats describe a speaker only once.
      if (!known.fields.biography && biography) {
        Object.assign(known.fields, this.#texts(at, { biography }));
      }
      return known.key;
    }
    if (this.#speakers.size === MAX_PROGRAM) {
      throw new UnreadableDocument(position, `A program may have at most ${MAX_PROGRAM} speakers.`);
    }
    const import_id = first ? named : source;
    const speaker: DocumentSpeaker = {
      fields: { name, ...this.#texts(at, { biography }) },
      key: import_id,
      import_id,
      position,
      ...(id === undefined
        ? { known_by: "name" as const }
        : !found.isUnique &&
          /^\d+$/.test(id) && { known_by: "id and name" as const, import_ids: [source, named] }),
    };
    if (!first) this.#byId.set(source, speaker);
    this.#speakers.set(import_id, speaker);
    return import_id;
  }

  /** @throws {UnreadableDocument} if the document has sessions, but no session could be read. */
  finish(): ProgramDocument {
    if (this.#sessions.length === 0) {
      if (this.#unread) throw this.#unread;
      if (this.#found === 0) {
        this.problem({}, "No sessions were found in the document.");
      }
    }
    return {
      sessions: this.#sessions,
      speakers: [...this.#speakers.values()],
      problems: this.#problems,
      ...(this.#unlisted > 0 && { unlisted: this.#unlisted }),
    };
  }

  /** Builds the error that skips a session because of a field. */
  fault(position: SourcePosition, field: string | undefined, message: string): SkippedSession {
    return new SkippedSession(position, message, field);
  }

  #range(
    { position, title }: DraftOrigin,
    times: FoundSession["times"],
  ): { start: string | null; end: string | null } {
    if (!times) return { start: null, end: null };
    const { start } = times;
    let { end } = times;
    if (end === start) {
      end = start + MINUTE;
      this.problem(position, "Its length was zero, so it was set to a minute.", title);
    }
    if (end < start) {
      throw this.fault(position, "end", "Must be later than the start.");
    }
    if (end - start > LONGEST_SESSION) {
      throw this.fault(position, "end", "Must be at most 31 days later.");
    }
    const [first, last] = [start, end].map((time) => new Date(time).toISOString());
    // Years outside of 0 to 9999 have a sign.
    if (!/^\d{4}-/.test(first!) || !/^\d{4}-/.test(last!)) {
      throw this.fault(position, "start", "Must be in the years 1 to 9999.");
    }
    return { start: first!, end: last! };
  }

  #texts<K extends keyof typeof TEXTS>(
    place: DraftOrigin,
    texts: Partial<Record<K, string | undefined>>,
  ): Partial<Record<K, string>> {
    const kept: Partial<Record<string, string>> = {};
    for (const [field, text] of Object.entries<string | undefined>(texts)) {
      if (text === undefined) continue;
      const most = TEXTS[field as keyof typeof TEXTS];
      kept[field] = this.#cut(place, field, text, most);
    }
    return kept;
  }

  #tags(place: DraftOrigin, tags: readonly string[]): string[] {
    const { tag, ...most } = { tag: PROGRAM_TEXTS.tag, ...PROGRAM_LISTS };
    const kept = [...new Set(tags.map((text) => clean(text).trim()))];
    return [
      ...new Set(
        this.#first(place, "tags", kept.filter(Boolean), most.tags).map((text) =>
          this.#cut(place, "tags", text, tag),
        ),
      ),
    ];
  }

  /** Returns the links that can be followed. Exports often contain links that cannot be followed. */
  #links(place: DraftOrigin, links: Session["links"]): Session["links"] {
    const kept: Session["links"] = [];
    for (const [i, link] of links.entries()) {
      // A list this long is implausible, so the rest is ignored.
      if (i === MAX_LINKS) break;
      const url = link.url.trim();
      if (isAddress(url)) {
        // Schedules require link titles, so untitled links repeat their address.
        const title = link.title.trim() === url ? "" : link.title;
        kept.push({ title, url });
        continue;
      }
      const why =
        url.length > PROGRAM_TEXTS.address
          ? `is longer than ${PROGRAM_TEXTS.address} characters`
          : "is no address with http or https";
      this.problem(place.position, `The link ${quoted(url)} ${why}. It was skipped.`, place.title);
    }
    return this.#first(place, "links", kept, PROGRAM_LISTS.links).map(({ title, url }) => ({
      title: this.#cut(place, "links", title, PROGRAM_TEXTS.title),
      url,
    }));
  }

  #room(place: DraftOrigin, given: string): { name: string } | null {
    const name = this.#cut(place, "room", given, PROGRAM_TEXTS.title);
    return name === "" ? null : { name };
  }

  /** Removes characters that cannot be stored, and truncates the text to its limit. */
  #cut({ position, title }: DraftOrigin, field: string, text: string, most: number): string {
    const whole = text.trim();
    const allowed = clean(whole);
    if (allowed !== whole) {
      this.problem(position, `${field}: NUL and unpaired surrogates were removed.`, title);
    }
    if (allowed.length <= most || lengthOf(allowed) <= most) return allowed;
    this.problem(
      position,
      `${field}: Must be at most ${most} characters. The rest was cut off.`,
      title,
    );
    return [...allowed.slice(0, 2 * most)].slice(0, most).join("").trimEnd();
  }

  /** Truncates a list to its limit. */
  #first<T>(
    { position, title }: DraftOrigin,
    field: string,
    list: readonly T[],
    most: number,
  ): T[] {
    if (list.length > most) {
      this.problem(
        position,
        `${field}: At most ${most} are allowed. The others were left out.`,
        title,
      );
    }
    return list.slice(0, most);
  }
}

const MINUTE = 60_000;

/** Maximum number of a session's links that are examined. */
const MAX_LINKS = 200;

/** The session or speaker to which a problem refers. */
interface DraftOrigin {
  readonly position: SourcePosition;
  readonly title: string;
}

interface TimeSource {
  position: SourcePosition;
  field: string;
  /** The session's title. */
  title: string;
  zone?: string | undefined;
}
