import type { SourcePosition } from "../../../schemas/documents/program-document.js";
import { UnreadableDocument } from "../../../schemas/documents/unreadable.js";
import { PROGRAM_TEXTS } from "../../../schemas/plain/program.js";
import { lengthOf } from "../../../schemas/plain/texts.js";
import type { Session } from "../../../schemas/program/program.js";

/** A session as found in a document. Fields that the format lacks are undefined. */
export interface FoundSession {
  position: SourcePosition;
  /** The session's identifier in the source; defaults to its title and start. */
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
  /** The room's name; empty for no room. */
  room?: string | undefined;
  /** The session's speakers. Duplicates are ignored. */
  speakers?: FoundSpeaker[];
  /** The start and the end, in milliseconds since 1970; null if the session is not scheduled. */
  times: { start: number; end: number } | null;
}

/** A speaker as found in a document. */
export interface FoundSpeaker {
  position: SourcePosition;
  /** The speaker's identifier in the source; defaults to the name. */
  id?: string | undefined;
  /** Whether the id is globally unique, so that a different name means the person was renamed. */
  isUnique?: boolean;
  name: string;
  biography?: string | undefined;
}

/** A session that cannot be read. Reading continues with the next session. */
export class SkippedSession extends UnreadableDocument {
  /** The problem, with the field but without the session's position. */
  readonly what: string;
  /** Like `what`, with the path, for a session that has neither a line nor a title. */
  readonly placed: string;

  /** @param why a sentence. */
  constructor({ line, path }: SourcePosition, why: string, field?: string) {
    const what = field === undefined ? why : `${field}: ${why}`;
    if (path === undefined) super({ line: line ?? 1 }, what);
    else super({ path: field === undefined ? path : `${path}.${field}` }, why);
    this.what = what;
    this.placed = path === undefined ? what : `${path}: ${what}`;
  }
}

/** Removes NUL and lone surrogates, which databases cannot store. */
export const clean = (text: string): string =>
  text.isWellFormed() && !text.includes("\0") ? text : text.replace(/\0|\p{Cs}/gu, "");

/**
 * Moves an abstract that is too long to the start of the description, because other programs do not
 * limit the length of abstracts.
 */
export function longTexts(abstract: string | undefined, description?: string) {
  if (!abstract || lengthOf(abstract.trim()) <= PROGRAM_TEXTS.abstract) {
    return { abstract, description };
  }
  return { abstract: "", description: [abstract, description].filter(Boolean).join("\n\n") };
}

/** Whether an address can be followed and stored. */
export const isAddress = (url: string): boolean =>
  url.length <= PROGRAM_TEXTS.address && /^https?:\/\/[^\s\0]+$/i.test(url) && URL.canParse(url);

/** Quotes text from a document for use in a sentence. Truncates long text. */
export const quoted = (text: string): string =>
  `“${(text.length > 80 ? `${text.slice(0, 79)}…` : text).toWellFormed()}”`;
