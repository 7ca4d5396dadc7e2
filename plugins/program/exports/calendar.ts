import ICAL from "ical.js";
import { guidOf } from "../../../schemas/documents/program-document.js";
import { version } from "../../../schemas/plain/version.js";
import type { Session } from "../../../schemas/program/program.js";
import { LINKS_FIELD, TEXT_FIELD } from "../formats/calendar-fields.js";
import type { ExportedProgram } from "./exported-program.js";

// The library folds lines at this many bytes, not counting the space at the start of the next line.
// RFC 5545, section 3.1, allows 75 bytes per line.
ICAL.foldLength = 74;

/** Control characters, which a calendar may not contain (RFC 5545, section 3.1). */
const CONTROLS = /[^\P{Cc}\t\n]/gu;

const clean = (text: string): string => text.replace(/\r\n?/g, "\n").replace(CONTROLS, "");

/**
 * Exports a program as a calendar (RFC 5545), for calendar apps that subscribe to the program.
 * Omits sessions that are not scheduled, and marks drafts as tentative. Times are in UTC.
 * @param at the time of the export, in milliseconds since 1970.
 */
export function calendarOf(program: ExportedProgram, at: number): string {
  const calendar = new ICAL.Component("vcalendar");
  const title = clean(program.world.title);
  const head = {
    version: "2.0",
    prodid: `-//Foyer//Foyer ${version}//EN`,
    calscale: "GREGORIAN",
    method: "PUBLISH",
    name: title,
    "x-wr-calname": title,
    "x-wr-timezone": program.zone,
  };
  for (const [name, value] of Object.entries(head)) {
    calendar.addPropertyWithValue(name, value);
  }
  const refresh = new ICAL.Property("refresh-interval");
  refresh.resetType("duration");
  refresh.setValue(ICAL.Duration.fromString("PT1H"));
  calendar.addProperty(refresh);

  const stamp = timeOf(at);
  const rooms = new Map(program.rooms.map(({ id, name }) => [id, name]));
  for (const session of program.sessions) {
    const { starts_at, ends_at, room_id } = session;
    if (starts_at === null || ends_at === null) continue;
    const event = new ICAL.Component("vevent");
    const add = (name: string, value: unknown) => event.addPropertyWithValue(name, value);
    add("uid", guidOf(session));
    add("dtstamp", stamp);
    add("dtstart", timeOf(Date.parse(starts_at)));
    add("dtend", timeOf(Date.parse(ends_at)));
    add("summary", clean(session.title));
    const room = room_id === null ? undefined : rooms.get(room_id);
    if (room !== undefined) add("location", clean(room));
    add("sequence", program.revisions.get(session.id) ?? 0);
    const text = clean(session.abstract || session.description);
    if (text !== "") add("description", text);
    if (text !== "" && session.abstract === "") {
      addOwn(event, TEXT_FIELD, "description");
    }
    addTags(event, session);
    addLinks(event, session);
    add("status", session.state === "draft" ? "TENTATIVE" : "CONFIRMED");
    calendar.addSubcomponent(event);
  }
  return `${calendar.toString()}\r\n`;
}

function addLinks(event: ICAL.Component, { links }: Session): void {
  const [first] = links;
  if (!first) return;
  event.addPropertyWithValue("url", first.url);
  if (links.length > 1 || first.title !== "") {
    addOwn(event, LINKS_FIELD, JSON.stringify(links));
  }
}

/** Adds one of Foyer's own properties. Declares the property's type, because readers don't know the property. */
function addOwn(event: ICAL.Component, name: string, value: string): void {
  const property = new ICAL.Property(name);
  property.resetType("text");
  property.setValue(value);
  event.addProperty(property);
}

function addTags(event: ICAL.Component, { tags }: Session): void {
  if (tags.length === 0) return;
  const categories = new ICAL.Property("categories");
  categories.setValues(tags.map(clean));
  event.addProperty(categories);
}

const timeOf = (at: number): ICAL.Time =>
  ICAL.Time.fromJSDate(new Date(Math.floor(at / 1000) * 1000), true);
