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
  type Position,
  type ProgramDocument,
} from "../../../schemas/documents/program-document.js";
import { UnreadableDocument } from "../../../schemas/documents/unreadable.js";
import type { Session } from "../../../schemas/program/program.js";
import {
  clean,
  type FoundSession,
  type FoundSpeaker,
  isAddress,
  LeftOut,
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

/** How many sessions a document may name, of which some are left out. */
const MOST_FOUND = 4 * MAX_PROGRAM;

/**
 * Takes what a parser finds, and makes a document of it. What is beyond its bounds is cut, a
 * session that cannot be read is left out, and both are listed.
 */
export class Draft {
  readonly #sessions: DocumentSession[] = [];
  readonly #speakers = new Map<string, DocumentSpeaker>();
  /** The key of the speakers that a source calls by one id. */
  readonly #byId = new Map<string, DocumentSpeaker>();
  readonly #problems: ImportProblem[] = [];
  #unlisted = 0;
  #found = 0;
  /** Why the first session that could not be read was left out. */
  #unread: UnreadableDocument | undefined;

  /** @param zone the zone of times that name none. */
  constructor(readonly zone: string) {}

  /**
   * Notes something that was left out, or that could be read in several ways.
   * @param session the title of the session.
   */
  problem({ line }: Position, message: string, session?: string): void {
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
   * Reads one session. If that fails, the session is left out and listed.
   * @param title of the session, as far as it is known.
   */
  attempt(position: Position, title: string, read: () => void): void {
    if (++this.#found > MOST_FOUND) {
      throw new UnreadableDocument(position, `At most ${MAX_PROGRAM} sessions are taken.`);
    }
    try {
      read();
    } catch (error) {
      if (!(error instanceof LeftOut)) throw error;
      this.#unread ??= error;
      const name = title.trim();
      const what = name === "" ? error.placed : error.what;
      this.problem(position, `${what} It was left out.`, name);
    }
  }

  /**
   * Reads a time.
   * @param text with an offset, or on the clock of `zone`.
   * @returns milliseconds since 1970.
   * @throws {LeftOut}
   */
  time(text: string, { position, field, title, zone }: TimeSource): number {
    const local = localTime(text);
    if (local) return this.moment(local, { position, field, title, zone });
    throw this.fault(position, field, `${quoted(text)} is no time.`);
  }

  /** The moment of a local time, with a problem if the clocks changed then. */
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

  /** @throws {LeftOut} if it has no title, or no time that a session can have. */
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
      throw new UnreadableDocument(position, `At most ${MAX_PROGRAM} sessions are taken.`);
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
   * Adds a speaker, unless a session before had the same one: of one id and one name. A number
   * counts only within one system, and files are merged of several.
   * @returns its key; undefined, with a problem, if it has no name.
   */
  #speaker(found: FoundSpeaker, session: string): string | undefined {
    const { position, biography } = found;
    const at = { position, title: session };
    const name = this.#cut(at, "name", found.name, PROGRAM_TEXTS.title);
    if (name === "") {
      this.problem(position, "A person without a name was left out.", session);
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
      throw new UnreadableDocument(position, `At most ${MAX_PROGRAM} speakers are taken.`);
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

  /** @throws {UnreadableDocument} if it has sessions, of which none could be read. */
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

  /** Why a session is left out, at a field of it. */
  fault(position: Position, field: string | undefined, message: string): LeftOut {
    return new LeftOut(position, message, field);
  }

  #range(
    { position, title }: Place,
    times: FoundSession["times"],
  ): { start: string | null; end: string | null } {
    if (!times) return { start: null, end: null };
    const { start } = times;
    let { end } = times;
    if (end === start) {
      end = start + MINUTE;
      this.problem(position, "Its length is zero. It lasts a minute.", title);
    }
    if (end < start) {
      throw this.fault(position, "end", "Must be later than the start.");
    }
    if (end - start > LONGEST_SESSION) {
      throw this.fault(position, "end", "Must be at most 31 days later.");
    }
    const [first, last] = [start, end].map((time) => new Date(time).toISOString());
    // Years of more than four digits have a sign.
    if (!/^\d{4}-/.test(first!) || !/^\d{4}-/.test(last!)) {
      throw this.fault(position, "start", "Must be in the years 1 to 9999.");
    }
    return { start: first!, end: last! };
  }

  #texts<K extends keyof typeof TEXTS>(
    place: Place,
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

  #tags(place: Place, tags: readonly string[]): string[] {
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

  /** The links that can be followed. Exports often have others. */
  #links(place: Place, links: Session["links"]): Session["links"] {
    const kept: Session["links"] = [];
    for (const [i, link] of links.entries()) {
      // What begins with more links than that is no list of them.
      if (i === MOST_LINKS) break;
      const url = link.url.trim();
      if (isAddress(url)) {
        // Links of schedules need a title, and have their address in its place.
        const title = link.title.trim() === url ? "" : link.title;
        kept.push({ title, url });
        continue;
      }
      const why =
        url.length > PROGRAM_TEXTS.address
          ? `is longer than ${PROGRAM_TEXTS.address} characters`
          : "is no address with http or https";
      this.problem(place.position, `The link ${quoted(url)} ${why}. It was left out.`, place.title);
    }
    return this.#first(place, "links", kept, PROGRAM_LISTS.links).map(({ title, url }) => ({
      title: this.#cut(place, "links", title, PROGRAM_TEXTS.title),
      url,
    }));
  }

  #room(place: Place, given: string): { name: string } | null {
    const name = this.#cut(place, "room", given, PROGRAM_TEXTS.title);
    return name === "" ? null : { name };
  }

  /** A text without what no text may have, cut to its bound. */
  #cut({ position, title }: Place, field: string, text: string, most: number): string {
    const whole = text.trim();
    const allowed = clean(whole);
    if (allowed !== whole) {
      this.problem(position, `${field}: NUL and halves of characters were left out.`, title);
    }
    if (allowed.length <= most || lengthOf(allowed) <= most) return allowed;
    this.problem(
      position,
      `${field}: Must be at most ${most} characters. The rest was left out.`,
      title,
    );
    return [...allowed.slice(0, 2 * most)].slice(0, most).join("").trimEnd();
  }

  /** The first entries of a list. */
  #first<T>({ position, title }: Place, field: string, list: readonly T[], most: number): T[] {
    if (list.length > most) {
      this.problem(
        position,
        `${field}: At most ${most} are taken. The others were left out.`,
        title,
      );
    }
    return list.slice(0, most);
  }
}

const MINUTE = 60_000;

/** How many links of a session are looked at. */
const MOST_LINKS = 200;

/** A session or a speaker of one, for what is listed about it. */
interface Place {
  readonly position: Position;
  readonly title: string;
}

/** Where a time comes from. */
interface TimeSource {
  position: Position;
  field: string;
  /** The title of its session. */
  title: string;
  zone?: string | undefined;
}
