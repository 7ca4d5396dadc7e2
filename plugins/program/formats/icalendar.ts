import ICAL from "ical.js";
import type { Position } from "../../../schemas/documents/program-document.js";
import { UnreadableDocument } from "../../../schemas/documents/unreadable.js";
import { eventLines } from "./calendar-scan.js";
import { calendarTime, type CalendarTime, Zones } from "./calendar-times.js";
import type { Session } from "../../../schemas/program/program.js";
import { LINKS_FIELD, linksIn, TEXT_FIELD } from "./calendar-fields.js";
import { type Draft, quoted } from "./draft.js";
import { occurrencesOf, recurs } from "./recurrence.js";

/** An event with its place in the document. */
interface Found {
  event: ICAL.Component;
  position: Position;
  title: string;
  zones: Zones;
}

/**
 * Reads a calendar. Each occurrence of a recurring event is a session.
 * @throws {UnreadableDocument} with the line.
 */
export function readCalendar(text: string, draft: Draft): void {
  const lines = eventLines(text);
  const found = calendarsIn(text).flatMap((calendar) => {
    const zones = new Zones(calendar, draft.zone);
    return calendar.getAllSubcomponents("vevent").map((event) => ({
      event,
      title: textOf(event, "summary").trim(),
      zones,
    }));
  });
  const events: Found[] = found.map((event, i) => ({
    ...event,
    position: { line: lines[i] ?? 1 },
  }));
  const byUid = new Map<string, { whole: Found[]; changed: Found[] }>();
  for (const one of events) {
    const uid = textOf(one.event, "uid");
    const known = byUid.get(uid) ?? { whole: [], changed: [] };
    byUid.set(uid, known);
    const isChanged = one.event.hasProperty("recurrence-id");
    known[isChanged ? "changed" : "whole"].push(one);
  }
  for (const [uid, { whole, changed }] of byUid) {
    const changes = new Map(
      changed.map((one) => [needTime(one, "recurrence-id").at, one]),
    );
    for (const one of whole) {
      // An event without a UID is matched by its title and start.
      const name = uid || one.title;
      if (recurs(one.event)) addSeries(draft, name, one, changes);
      else addOne(draft, one, uid);
    }
    // What an export selected of a series.
    for (const [at, one] of changes) addOne(draft, one, nameOf(uid, at));
  }
}

/** Adds the occurrences of a series, and takes those that were changed from `changes`. */
function addSeries(
  draft: Draft,
  uid: string,
  one: Found,
  changes: Map<number, Found>,
): void {
  const times = timesOf(draft, one);
  if (!times) return;
  const { starts, more } = attempt(one, "RRULE", () =>
    occurrencesOf(one.event, times.first, one.zones),
  );
  for (const start of starts) {
    const changed = changes.get(start);
    changes.delete(start);
    if (changed) addOne(draft, changed, nameOf(uid, start));
    else add(draft, one, nameOf(uid, start), start, start + times.length);
  }
  if (more) {
    draft.problem(
      one.position,
      "It recurs for more than 31 days, or more than 500 times. Later occurrences were left out.",
      one.title,
    );
  }
}

/** The `import_id` of an occurrence. */
const nameOf = (uid: string, at: number): string =>
  `${uid}/${new Date(at).toISOString().replace(/[-:]|\.\d+/g, "")}`;

function addOne(draft: Draft, one: Found, name: string): void {
  const times = timesOf(draft, one);
  if (!times) return;
  const { at } = times.first;
  // It says which change of the clocks the start met, if it met one.
  if (typeof times.first.zone === "string" && times.first.zone !== "UTC") {
    const { position, title } = one;
    const { text, zone } = times.first;
    draft.time(text, { position, field: "DTSTART", title, zone });
  }
  add(draft, one, name, at, at + times.length);
}

function add(
  draft: Draft,
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

/** The links of an event: its URL, or all if an export of Foyer has more. */
function linksOf(event: ICAL.Component): Session["links"] | undefined {
  const url = textOf(event, "url").trim();
  if (url === "") return undefined;
  const links = linksIn(textOf(event, LINKS_FIELD));
  return links?.[0]?.url === url ? links : [{ title: "", url }];
}

/**
 * When an event begins, and how long it is, in milliseconds.
 * @returns undefined, with a problem, for an event that is no session.
 */
function timesOf(
  draft: Draft,
  one: Found,
): { first: CalendarTime; length: number } | undefined {
  const { event, position, title } = one;
  const leaveOut = (why: string) =>
    draft.problem(position, `${why} It was left out.`, title);
  if (textOf(event, "status").toUpperCase() === "CANCELLED") {
    return void leaveOut("It is cancelled.");
  }
  if (!event.hasProperty("dtstart")) {
    throw new UnreadableDocument(position, "DTSTART: It is missing.");
  }
  const first = needTime(one, "dtstart");
  if (first.isDay) return void leaveOut("It lasts all day.");
  const end = event.hasProperty("dtend") ? needTime(one, "dtend") : undefined;
  if (end?.isDay) {
    throw new UnreadableDocument(position, "DTEND: It is a day, not a time.");
  }
  const length = end ? end.at - first.at : durationOf(one);
  if (length === undefined || length === 0) {
    return void leaveOut("It has no length.");
  }
  return { first, length };
}

function durationOf(one: Found): number | undefined {
  const property = one.event.getFirstProperty("duration");
  if (!property) return undefined;
  const [, , , value] = property.jCal as unknown[];
  return attempt(one, "DURATION", () => {
    const text = String(value);
    if (!ICAL.Duration.isValueString(text)) throw new TypeError("It is none.");
    return ICAL.Duration.fromString(text).toSeconds() * 1000;
  });
}

/** @throws {UnreadableDocument} if it is no time, or in an unknown zone. */
function needTime(
  { event, position, zones }: Found,
  name: string,
): CalendarTime {
  const property = event.getFirstProperty(name)!;
  const [, , , value] = property.jCal as unknown[];
  const zone = zones.of(property);
  const label = name.toUpperCase();
  if (zone === undefined) {
    const tzid = property.getFirstParameter("tzid") ?? "";
    throw new UnreadableDocument(
      position,
      `${label}: The time zone ${quoted(tzid)} is unknown.`,
    );
  }
  const time = calendarTime(value, zone);
  if (time) return time;
  throw new UnreadableDocument(
    position,
    `${label}: ${quoted(String(value))} is no time.`,
  );
}

function calendarsIn(text: string): ICAL.Component[] {
  try {
    const parsed = ICAL.parse(text) as unknown[];
    const isOne = typeof parsed[0] === "string";
    return (isOne ? [parsed] : parsed).map(
      (calendar) => new ICAL.Component(calendar as never),
    );
  } catch (error) {
    const { message } = error as Error;
    // A scan has looked at each line before, so the fault is in a value: the recurrence rule.
    const lines = text.split(/\r?\n/);
    const line = 1 + lines.findIndex((content) => isBadRule(content));
    throw new UnreadableDocument(
      { line: line || 1 },
      `${message.slice(0, 200)}.`,
    );
  }
}

function isBadRule(content: string): boolean {
  const rule = /^RRULE[^:]*:(.*)/i.exec(content)?.[1];
  if (rule === undefined) return false;
  try {
    ICAL.Recur.fromString(rule);
    return false;
  } catch {
    return true;
  }
}

function attempt<T>({ position }: Found, label: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    const { message } = error as Error;
    throw new UnreadableDocument(
      position,
      `${label}: ${message.slice(0, 200)}`,
    );
  }
}

function textOf(event: ICAL.Component, name: string): string {
  const value = event.getFirstPropertyValue(name);
  return typeof value === "string" ? value : "";
}
