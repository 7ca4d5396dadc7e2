import { UnreadableDocument } from "../../../schemas/documents/unreadable.js";

/** Maximum nesting depth of components. A calendar needs four levels. */
const MAX_DEPTH = 8;

/** A content line (RFC 5545, section 3.1), and the line of the document on which it begins. */
export interface ContentLine {
  text: string;
  line: number;
}

/** A component's lines, without BEGIN and END and, for events, without alarms. */
export interface ScannedComponent {
  line: number;
  lines: ContentLine[];
  /** The first line that is not a valid content line. */
  fault?: { line: number; message: string };
}

/** The relevant parts of a calendar. */
export interface ScannedCalendar {
  zones: ScannedComponent[];
  events: ScannedComponent[];
}

const NO_LINE = "It is neither a property nor the continuation of one.";

/**
 * Splits a document into calendars and their events, so that each event is parsed separately. The
 * parser would reject the whole document because of one bad event, without reporting the line.
 * @param leaveOut is called for skipped lines.
 * @throws {UnreadableDocument} with the line.
 */
export function scanCalendars(
  bytes: Uint8Array,
  leaveOut: (line: number, message: string) => void,
): ScannedCalendar[] {
  const found: ScannedCalendar[] = [];
  const open: string[] = [];
  /** The component being read. */
  let inside: ScannedComponent | undefined;
  let line = 0;
  const fail = (message: string): never => {
    throw new UnreadableDocument({ line }, message);
  };
  for (const content of unfolded(bytes)) {
    ({ line } = content);
    const { text } = content;
    if (text.trim() === "") continue;
    const name = /^([A-Za-z0-9-]{1,200})[;:]/.exec(text)?.[1]?.toUpperCase();
    if (name !== "BEGIN" && name !== "END") {
      if (open.length === 0) {
        fail(name ? "It is outside the calendar." : NO_LINE);
      }
      if (name === undefined) {
        if (!inside) leaveOut(line, `${NO_LINE} It was skipped.`);
        else if (open.length === 2) inside.fault ??= { line, message: NO_LINE };
      } else if (open[1] === "VTIMEZONE" || open.length === 2) {
        inside?.lines.push(content);
      }
      continue;
    }
    const component = text
      .slice(name.length + 1)
      .trim()
      .toUpperCase();
    if (name === "BEGIN") {
      if (open.length === 0) {
        if (component !== "VCALENDAR") {
          fail("A calendar must begin with BEGIN:VCALENDAR.");
        }
        found.push({ zones: [], events: [] });
      } else if (open.length === 1) {
        inside = { line, lines: [] };
        if (component === "VEVENT") found.at(-1)!.events.push(inside);
        if (component === "VTIMEZONE") found.at(-1)!.zones.push(inside);
      } else if (open[1] === "VTIMEZONE") inside?.lines.push(content);
      open.push(component);
      if (open.length > MAX_DEPTH) {
        fail(`May be nested at most ${MAX_DEPTH} levels deep.`);
      }
    } else {
      if (open.pop() !== component) {
        fail(`END:${component.slice(0, 50)} has no BEGIN.`);
      }
      if (open.length === 1) inside = undefined;
      else if (open[1] === "VTIMEZONE") inside?.lines.push(content);
    }
  }
  if (open.length > 0) fail(`END:${open.at(-1)!.slice(0, 50)} is missing.`);
  return found;
}

const NOT_ASCII = /[\u0080-\u00ff]/;

/**
 * Yields the content lines of a calendar. Lines may be folded after any byte, even within a
 * character, so they are unfolded before they are decoded.
 */
function* unfolded(bytes: Uint8Array): Generator<ContentLine> {
  const decoder = new TextDecoder("utf-8", { fatal: true });
  const decode = (raw: string, line: number): ContentLine => {
    if (!NOT_ASCII.test(raw)) return { text: raw, line };
    try {
      return { text: decoder.decode(Buffer.from(raw, "latin1")), line };
    } catch {
      throw new UnreadableDocument({ line }, "It is not UTF-8.");
    }
  };
  const whole = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("latin1");
  const lines = whole.split(whole.includes("\n") ? /\r?\r?\n/ : "\r");
  let raw = "";
  let begin = 0;
  for (const [i, part] of lines.entries()) {
    if (i > 0 && /^[ \t]/.test(part)) raw += part.slice(1);
    else {
      if (begin > 0) yield decode(raw, begin);
      raw = part;
      begin = i + 1;
    }
  }
  yield decode(raw, begin);
}

const RULES = /^(RRULE|EXRULE|DURATION)([;:].*)$/i;
const TIMES = /^(DTSTART|DTEND|RECURRENCE-ID|RDATE|EXDATE)([;:].*)$/i;

/**
 * Normalizes a line for the parser, which requires rules, durations and times in upper case,
 * although case is not significant (RFC 5545, section 2). Also quotes zone names, because some
 * programs don't.
 */
export function plainLine(text: string): string {
  const rule = RULES.exec(text);
  if (rule) return `${rule[1]}${rule[2]!.toUpperCase()}`;
  const time = TIMES.exec(text);
  if (!time) return text;
  const [, name = "", rest = ""] = time;
  const at = rest.startsWith(":") ? 0 : rest.lastIndexOf(":");
  const parameters = rest
    .slice(0, at)
    .replace(/;TZID=([^"]*?)(?=;[A-Z-]+=|$)/i, (_, zone: string) => `;TZID="${zone}"`);
  return `${name}${parameters}${rest.slice(at).toUpperCase()}`;
}
