import {
  LONGEST_SESSION,
  MAX_PROGRAM,
  PROGRAM_LISTS,
  PROGRAM_TEXTS,
} from "../../../schemas/plain/program.js";
import { textFault } from "../../../schemas/plain/texts.js";
import { timeText } from "../../../schemas/plain/times.js";
import {
  importId,
  importIdByStart,
  type DocumentSession,
  type DocumentSpeaker,
  type ImportProblem,
  type Position,
  type ProgramDocument,
} from "../../../schemas/documents/program-document.js";
import { UnreadableDocument } from "../../../schemas/documents/unreadable.js";
import type { Session } from "../../../schemas/program/program.js";
import { localTime, momentOf, type LocalTime } from "./zones.js";

/** A session as a format has it. What the format does not have is undefined. */
export interface FoundSession {
  position: Position;
  /** What the source calls it; by default its title and start. */
  name?: string | undefined;
  title: string;
  subtitle?: string | undefined;
  abstract?: string | undefined;
  description?: string | undefined;
  track?: string | undefined;
  language?: string | undefined;
  kind?: string | undefined;
  tags?: string[];
  links?: Session["links"] | undefined;
  /** The name of its room; empty for none. */
  room?: string | undefined;
  /** The keys of its speakers. */
  speakers?: string[];
  /** In milliseconds since 1970; null if it is not scheduled. */
  times: { start: number; end: number } | null;
}

/** A speaker as a format has it. */
export interface FoundSpeaker {
  position: Position;
  /** What the source calls it; by default its name. */
  id?: string | undefined;
  name: string;
  biography?: string | undefined;
}

const TEXTS = {
  subtitle: PROGRAM_TEXTS.subtitle,
  description: PROGRAM_TEXTS.description,
  track: PROGRAM_TEXTS.label,
  language: PROGRAM_TEXTS.label,
  kind: PROGRAM_TEXTS.label,
  biography: PROGRAM_TEXTS.biography,
} as const;

/** Takes what a parser finds, checks its bounds, and makes a document of it. */
export class Draft {
  readonly #sessions: DocumentSession[] = [];
  readonly #speakers = new Map<string, DocumentSpeaker>();
  readonly #problems: ImportProblem[] = [];

  /** @param zone the zone of times that name none. */
  constructor(readonly zone: string) {}

  /**
   * Notes something that was left out, or that could be read in several ways.
   * @param session the title of the session.
   */
  problem({ line }: Position, message: string, session?: string): void {
    this.#problems.push({
      ...(line !== undefined && { line }),
      ...(session !== undefined && { session }),
      message,
    });
  }

  /**
   * Reads a time.
   * @param text with an offset, or on the clock of `zone`.
   * @returns milliseconds since 1970.
   * @throws {UnreadableDocument}
   */
  time(text: string, { position, field, title, zone }: TimeSource): number {
    const local = localTime(text);
    if (local) return this.moment(local, { position, field, title, zone });
    throw this.fault(position, field, `${quoted(text)} is no time.`);
  }

  /** The moment of a local time, with a problem if the clocks changed then. */
  moment(
    local: LocalTime,
    { position, title, zone = this.zone }: TimeSource,
  ): number {
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

  session(found: FoundSession): void {
    const { position, tags, links, room, speakers, times } = found;
    const title = found.title.trim();
    this.#check(position, "title", title, PROGRAM_TEXTS.title, 1);
    const texts = this.#texts(position, {
      subtitle: found.subtitle,
      ...longTexts(found.abstract, found.description),
      track: found.track,
      language: found.language,
      kind: found.kind,
    });
    const { start, end } = this.#range(position, times);
    const { speakers: most } = PROGRAM_LISTS;
    this.#atMost(position, "speakers", speakers?.length ?? 0, most);
    const count = this.#sessions.length + 1;
    this.#atMost(position, "sessions", count, MAX_PROGRAM);
    this.#sessions.push({
      fields: {
        title,
        ...texts,
        starts_at: start,
        ends_at: end,
        ...(tags && { tags: this.#tags(position, tags) }),
        ...(links && { links: this.#links(position, title, links) }),
      },
      import_id: found.name
        ? importId(found.name)
        : importIdByStart(title, start),
      ...(room !== undefined && { room: this.#room(position, room) }),
      ...(speakers && { speakers }),
      position,
    });
  }

  /**
   * Adds a speaker, unless a session before had the same one.
   * @returns its key.
   */
  speaker({ position, id, name: given, biography }: FoundSpeaker): string {
    const name = given.trim();
    const import_id = importId(id ?? name.toLowerCase());
    const known = this.#speakers.get(import_id);
    if (known) {
      // Some formats describe a speaker only once.
      if (!known.fields.biography && biography) {
        Object.assign(known.fields, this.#texts(position, { biography }));
      }
      return import_id;
    }
    this.#check(position, "name", name, PROGRAM_TEXTS.title, 1);
    this.#atMost(position, "speakers", this.#speakers.size + 1, MAX_PROGRAM);
    this.#speakers.set(import_id, {
      fields: { name, ...this.#texts(position, { biography }) },
      key: import_id,
      import_id,
      position,
    });
    return import_id;
  }

  finish(): ProgramDocument {
    return {
      sessions: this.#sessions,
      speakers: [...this.#speakers.values()],
      problems: this.#problems,
    };
  }

  /** An error at a field of a session or a speaker. */
  fault({ line, path }: Position, field: string, message: string) {
    return new UnreadableDocument(
      path === undefined ? { line: line ?? 1 } : { path: `${path}.${field}` },
      path === undefined ? `${field}: ${message}` : message,
    );
  }

  #range(
    position: Position,
    times: FoundSession["times"],
  ): { start: string | null; end: string | null } {
    if (!times) return { start: null, end: null };
    const { start, end } = times;
    if (end <= start) {
      throw this.fault(position, "end", "Must be later than the start.");
    }
    if (end - start > LONGEST_SESSION) {
      throw this.fault(position, "end", "Must be at most 31 days later.");
    }
    const [first, last] = [start, end].map((time) =>
      new Date(time).toISOString(),
    );
    // Years of more than four digits have a sign.
    if (!/^\d{4}-/.test(first!) || !/^\d{4}-/.test(last!)) {
      throw this.fault(position, "start", "Must be in the years 1 to 9999.");
    }
    return { start: first!, end: last! };
  }

  #texts<K extends keyof typeof TEXTS | "abstract">(
    position: Position,
    texts: Record<K, string | undefined>,
  ): Partial<Record<K, string>> {
    const kept: Partial<Record<string, string>> = {};
    for (const [field, text] of Object.entries<string | undefined>(texts)) {
      if (text === undefined) continue;
      const most =
        field === "abstract"
          ? PROGRAM_TEXTS.abstract
          : TEXTS[field as keyof typeof TEXTS];
      const trimmed = text.trim();
      this.#check(position, field, trimmed, most);
      kept[field] = trimmed;
    }
    return kept;
  }

  #tags(position: Position, tags: readonly string[]): string[] {
    const kept = [...new Set(tags.map((tag) => tag.trim()))].filter(Boolean);
    this.#atMost(position, "tags", kept.length, PROGRAM_LISTS.tags);
    for (const tag of kept) {
      this.#check(position, "tags", tag, PROGRAM_TEXTS.tag);
    }
    return kept;
  }

  /** The links that can be followed. Exports often have others. */
  #links(
    position: Position,
    session: string,
    links: Session["links"],
  ): Session["links"] {
    const kept: Session["links"] = [];
    for (const link of links) {
      const url = link.url.trim();
      if (!isAddress(url)) {
        this.problem(
          position,
          `The link ${quoted(url)} is no address with http or https. It was left out.`,
          session,
        );
        continue;
      }
      // Links of schedules need a title, and have their address in its place.
      const title = link.title.trim() === url ? "" : link.title.trim();
      this.#check(position, "links", title, PROGRAM_TEXTS.title);
      kept.push({ title, url });
    }
    this.#atMost(position, "links", kept.length, PROGRAM_LISTS.links);
    return kept;
  }

  #room(position: Position, given: string): { name: string } | null {
    const name = given.trim();
    if (name === "") return null;
    this.#check(position, "room", name, PROGRAM_TEXTS.title);
    return { name };
  }

  #check(
    position: Position,
    field: string,
    text: string,
    maxLength: number,
    minLength = 0,
  ): void {
    const fault = textFault(
      { minLength, maxLength, pattern: "^[^\\u0000\\p{Cs}]*$" },
      text,
    );
    if (!fault) return;
    const isForm = fault.startsWith("Must be like");
    throw this.fault(
      position,
      field,
      isForm ? "Must be free of NUL and of halves of characters." : fault,
    );
  }

  #atMost(position: Position, field: string, count: number, most: number) {
    if (count <= most) return;
    throw this.fault(position, field, `At most ${most} are taken.`);
  }
}

/** Where a time comes from. */
interface TimeSource {
  position: Position;
  field: string;
  /** The title of its session. */
  title: string;
  zone?: string | undefined;
}

/**
 * Where texts go that other programs do not bound: an abstract that is too long becomes, or
 * begins, the description.
 */
function longTexts(abstract: string | undefined, description?: string) {
  if (!abstract || [...abstract.trim()].length <= PROGRAM_TEXTS.abstract) {
    return { abstract, description };
  }
  return {
    abstract: "",
    description: [abstract, description].filter(Boolean).join("\n\n"),
  };
}

const isAddress = (url: string): boolean =>
  url.length <= PROGRAM_TEXTS.address &&
  /^https?:\/\/[^\s\0]+$/i.test(url) &&
  URL.canParse(url);

/** A text of a document in a sentence. */
export const quoted = (text: string): string =>
  `“${text.length > 80 ? `${text.slice(0, 79).toWellFormed()}…` : text}”`;
