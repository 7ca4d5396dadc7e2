import type ICAL from "ical.js";
import type { SourcePosition } from "../../../schemas/documents/program-document.js";
import type { Session } from "../../../schemas/program/program.js";
import { LINKS_FIELD, linksIn, TEXT_FIELD } from "./calendar-fields.js";
import { plainLine, scanCalendars, type ScannedComponent } from "./calendar-scan.js";
import {
  calendarTime,
  type CalendarTime,
  componentOf,
  endAfter,
  isUtc,
  type Length,
  lengthOf,
  Zones,
} from "./calendar-times.js";
import type { ParsedProgram } from "./draft.js";
import { quoted } from "./found.js";
import { occurrencesOf, recurs, Steps } from "./recurrence.js";

/** An event with its position in the document. */
interface Found {
  event: ICAL.Component;
  position: SourcePosition;
  title: string;
  uid: string;
  zones: Zones;
}

/**
 * Reads a calendar. Each occurrence of a recurring event becomes a session.
 * @throws {UnreadableDocument} with the line.
 */
export function readCalendar(bytes: Uint8Array, draft: ParsedProgram): void {
  const steps = new Steps();
  const byUid = new Map<string, { whole: Found[]; changed: Found[] }>();
  for (const one of eventsIn(bytes, draft)) {
    // Events without a UID are unrelated to each other.
    const key = one.uid || `\n${byUid.size}`;
    const known = byUid.get(key) ?? { whole: [], changed: [] };
    byUid.set(key, known);
    const isChanged = one.event.hasProperty("recurrence-id");
    known[isChanged ? "changed" : "whole"].push(one);
  }
  for (const { whole, changed } of byUid.values()) {
    const changes = changesOf(draft, changed);
    for (const one of latest(draft, whole)) {
      // An event without a UID is matched by its title and start.
      const name = one.uid || one.title;
      const read = () =>
        recurs(one.event)
          ? addSeries(draft, name, one, changes, steps)
          : addOne(draft, one, one.uid);
      draft.attempt(one.position, one.title, read);
    }
    // The remaining changed occurrences, whose series are missing. Partial exports contain such
    // occurrences.
    for (const [at, one] of changes) addChange(draft, one, at);
  }
}

/** Yields the events that can be parsed, and reports the events that cannot be parsed. */
function* eventsIn(bytes: Uint8Array, draft: ParsedProgram): Generator<Found> {
  const leaveOut = (line: number, message: string) => draft.problem({ line }, message);
  for (const calendar of scanCalendars(bytes, leaveOut)) {
    const zones = new Zones(calendar.zones, draft.zone);
    for (const scanned of calendar.events) {
      const position = { line: scanned.line };
      const event = scanned.fault ? undefined : componentOf("VEVENT", scanned);
      if (event) {
        const title = textOf(event, "summary").trim();
        const uid = textOf(event, "uid").trim();
        yield { event, position, title, uid, zones };
        continue;
      }
      const fault = scanned.fault ?? faultIn(scanned);
      draft.attempt({ line: fault.line }, "", () => {
        throw draft.fault({ line: fault.line }, undefined, fault.message);
      });
    }
  }
}

/** Finds the line that makes the parser reject an event. */
function faultIn({ line, lines }: ScannedComponent): {
  line: number;
  message: string;
} {
  const bad = lines.find((one) => !componentOf("VEVENT", { lines: [one] }));
  if (!bad) return { line, message: "It cannot be read." };
  const message = `${quoted(plainLine(bad.text))} cannot be read.`;
  return { line: bad.line, message };
}

/**
 * Returns the revisions with the highest SEQUENCE, which several revisions may share. Reports all
 * other revisions.
 */
function latest(draft: ParsedProgram, revisions: readonly Found[]): Found[] {
  const sequenceOf = ({ event }: Found) => Number(event.getFirstPropertyValue("sequence")) || 0;
  const last = Math.max(...revisions.map(sequenceOf));
  return revisions.filter((one) => {
    if (sequenceOf(one) === last) return true;
    draft.problem(
      one.position,
      "Another event with the same UID has a higher SEQUENCE. This one was skipped.",
      one.title,
    );
    return false;
  });
}

/** Returns changed occurrences, by the time of the occurrence that each replaces. */
function changesOf(draft: ParsedProgram, changed: readonly Found[]): Map<number, Found> {
  const byTime = new Map<number, Found[]>();
  for (const one of changed) {
    draft.attempt(one.position, one.title, () => {
      const { at } = needTime(draft, one, "recurrence-id");
      byTime.set(at, [...(byTime.get(at) ?? []), one]);
    });
  }
  return new Map([...byTime].map(([at, revisions]) => [at, latest(draft, revisions)[0]!]));
}

const addChange = (draft: ParsedProgram, one: Found, at: number): void =>
  draft.attempt(one.position, one.title, () => addOne(draft, one, nameOf(one.uid, at)));

/**
 * Adds a series' occurrences. Replaces occurrences for which `changes` has a changed occurrence,
 * and removes the replacements from `changes`.
 */
function addSeries(
  draft: ParsedProgram,
  uid: string,
  one: Found,
  changes: Map<number, Found>,
  steps: Steps,
): void {
  const { event, position, title, zones } = one;
  const times = timesOf(draft, one);
  if (!times) return;
  const { starts, more } = attempt(draft, one, "RRULE", () =>
    occurrencesOf(event, times.first, {
      zones,
      steps,
      leaveOut: (message) => draft.problem(position, message, title),
    }),
  );
  for (const [start, length = times.length] of starts) {
    const changed = changes.get(start);
    changes.delete(start);
    if (changed) addChange(draft, changed, start);
    else {
      const end = endAfter(times.first.zone, start, length);
      add(draft, one, nameOf(uid, start), start, end);
    }
  }
  if (more) {
    draft.problem(
      position,
      "It recurs for more than 31 days, or more than 500 times. Later occurrences were skipped.",
      title,
    );
  }
}

/** Returns the name of an occurrence, from which the `import_id` is derived. */
const nameOf = (uid: string, at: number): string =>
  `${uid}/${new Date(at).toISOString().replace(/[-:]|\.\d+/g, "")}`;

function addOne(draft: ParsedProgram, one: Found, name: string): void {
  const times = timesOf(draft, one);
  if (!times) return;
  const { at, text, zone } = times.first;
  // Reports a problem if the start falls in a clock change.
  if (typeof zone === "string" && zone !== "UTC") {
    const { position, title } = one;
    draft.time(text, { position, field: "DTSTART", title, zone });
  }
  add(draft, one, name, at, endAfter(zone, at, times.length));
}

function add(
  draft: ParsedProgram,
  { event, position, title }: Found,
  name: string,
  start: number,
  end: number,
): void {
  const text = textOf(event, "description");
  const isDescription = textOf(event, TEXT_FIELD) === "description";
  draft.session({
    position,
    name,
    title,
    abstract: isDescription ? "" : text,
    ...(isDescription && { description: text }),
    room: textOf(event, "location"),
    tags: event
      .getAllProperties("categories")
      .flatMap((property) => property.getValues().map(String)),
    links: linksOf(event),
    times: { start, end },
  });
}

/** Returns an event's links: its URL, or all of its links if Foyer exported the event. */
function linksOf(event: ICAL.Component): Session["links"] | undefined {
  const url = textOf(event, "url").trim();
  if (url === "") return undefined;
  const links = linksIn(textOf(event, LINKS_FIELD));
  return links?.[0]?.url === url ? links : [{ title: "", url }];
}

/** Returns an event's start and duration. If the event is not a session, reports a problem and returns undefined. */
function timesOf(
  draft: ParsedProgram,
  one: Found,
): { first: CalendarTime; length: Length } | undefined {
  const { event, position, title } = one;
  const leaveOut = (why: string) => draft.problem(position, `${why} It was skipped.`, title);
  if (textOf(event, "status").trim().toUpperCase() === "CANCELLED") {
    return void leaveOut("It is cancelled.");
  }
  if (!event.hasProperty("dtstart")) {
    throw draft.fault(position, "DTSTART", "It is missing.");
  }
  const first = needTime(draft, one, "dtstart");
  if (first.isDay) return void leaveOut("It lasts all day.");
  if (event.hasProperty("dtend")) {
    const end = needTime(draft, one, "dtend");
    if (end.isDay) {
      throw draft.fault(position, "DTEND", "It is a day, not a time.");
    }
    return { first, length: { days: 0, time: end.at - first.at } };
  }
  const property = event.getFirstProperty("duration");
  if (!property) return void leaveOut("It has no length.");
  const [, , , value] = property.jCal as unknown[];
  const length = lengthOf(value);
  if (length) return { first, length };
  throw draft.fault(position, "DURATION", `${quoted(String(value))} is no duration.`);
}

/**
 * Reads a required time.
 * @throws {SkippedSession} if the value is not a time, or its zone is unknown.
 */
function needTime(
  draft: ParsedProgram,
  { event, position, zones }: Found,
  name: string,
): CalendarTime {
  const property = event.getFirstProperty(name)!;
  const [, , , value] = property.jCal as unknown[];
  const zone = isUtc(value) ? "UTC" : zones.of(property);
  const label = name.toUpperCase();
  if (zone === undefined) {
    const tzid = property.getFirstParameter("tzid") ?? "";
    throw draft.fault(position, label, `The time zone ${quoted(tzid)} is unknown.`);
  }
  const time = calendarTime(value, zone);
  if (time) return time;
  throw draft.fault(position, label, `${quoted(String(value))} is no time.`);
}

function attempt<T>(draft: ParsedProgram, { position }: Found, label: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    const { message } = error as Error;
    throw draft.fault(position, label, message.slice(0, 200));
  }
}

function textOf(event: ICAL.Component, name: string): string {
  const value = event.getFirstPropertyValue(name);
  return typeof value === "string" ? value : "";
}
