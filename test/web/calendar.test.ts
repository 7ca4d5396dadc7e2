import ICAL from "ical.js";
import t from "tap";
import { calendarOf } from "../../web/lib/calendar.js";

// The file of one session, as a parser that did not write it reads it.

void t.test("a session as a file for calendars", async (t) => {
  const entry = {
    uid: "3d0f6a52-64f4-4c2d-8d0c-6a0e8f3c5b21",
    title: "Maps; streets, and \\ more: für alle 🗺️🗺️🗺️🗺️🗺️🗺️🗺️🗺️🗺️🗺️",
    description: `First line\r\nBEGIN:VEVENT\nlong ${"ä".repeat(200)}`,
    location: "Main stage, left",
    start: Date.parse("2027-03-01T09:00:00Z"),
    end: Date.parse("2027-03-01T09:40:00Z"),
    url: "https://event.example.org/w/demo/#/program/1",
  };
  const text = calendarOf(entry, Date.parse("2027-02-01T00:00:00Z"));
  for (const line of text.split("\r\n")) {
    t.ok(Buffer.byteLength(line) <= 75, line);
  }
  const calendar = new ICAL.Component(ICAL.parse(text) as unknown[]);
  const events = calendar.getAllSubcomponents("vevent");
  t.equal(events.length, 1);
  const event = new ICAL.Event(events[0]);
  t.equal(event.uid, entry.uid);
  t.equal(event.summary, entry.title);
  t.equal(event.description, entry.description.replace("\r\n", "\n"));
  t.equal(event.location, entry.location);
  t.equal(event.startDate.toJSDate().getTime(), entry.start);
  t.equal(event.endDate.toJSDate().getTime(), entry.end);
  t.equal(events[0]!.getFirstPropertyValue("url"), entry.url);
});
