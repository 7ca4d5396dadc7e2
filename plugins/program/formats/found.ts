import type { Position } from "../../../schemas/documents/program-document.js";
import { UnreadableDocument } from "../../../schemas/documents/unreadable.js";
import { PROGRAM_TEXTS } from "../../../schemas/plain/program.js";
import { lengthOf } from "../../../schemas/plain/texts.js";
import type { Session } from "../../../schemas/program/program.js";

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
  /** Its speakers. One that occurs twice counts once. */
  speakers?: FoundSpeaker[];
  /** In milliseconds since 1970; null if it is not scheduled. */
  times: { start: number; end: number } | null;
}

/** A speaker as a format has it. */
export interface FoundSpeaker {
  position: Position;
  /** What the source calls it; by default its name. */
  id?: string | undefined;
  /** Whether the id is of this person everywhere, so that another name of it is a new name. */
  isUnique?: boolean;
  name: string;
  biography?: string | undefined;
}

/** A session that cannot be read. The reader of the next session goes on. */
export class LeftOut extends UnreadableDocument {
  /** What is wrong, with the field but not the place of the session. */
  readonly what: string;
  /** The same, with the path of a session that has no line and no title. */
  readonly placed: string;

  /** @param why a sentence. */
  constructor({ line, path }: Position, why: string, field?: string) {
    const what = field === undefined ? why : `${field}: ${why}`;
    if (path === undefined) super({ line: line ?? 1 }, what);
    else super({ path: field === undefined ? path : `${path}.${field}` }, why);
    this.what = what;
    this.placed = path === undefined ? what : `${path}: ${what}`;
  }
}

/** Without NUL and halves of characters, which no database keeps. */
export const clean = (text: string): string =>
  text.isWellFormed() && !text.includes("\0") ? text : text.replace(/\0|\p{Cs}/gu, "");

/**
 * Where texts go that other programs do not bound: an abstract that is too long becomes, or
 * begins, the description.
 */
export function longTexts(abstract: string | undefined, description?: string) {
  if (!abstract || lengthOf(abstract.trim()) <= PROGRAM_TEXTS.abstract) {
    return { abstract, description };
  }
  return { abstract: "", description: [abstract, description].filter(Boolean).join("\n\n") };
}

/** Whether an address can be followed, and kept. */
export const isAddress = (url: string): boolean =>
  url.length <= PROGRAM_TEXTS.address && /^https?:\/\/[^\s\0]+$/i.test(url) && URL.canParse(url);

/** A text of a document in a sentence. */
export const quoted = (text: string): string =>
  `“${(text.length > 80 ? `${text.slice(0, 79)}…` : text).toWellFormed()}”`;
