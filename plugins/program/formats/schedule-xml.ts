import { XMLParser, XMLValidator } from "fast-xml-parser";
import type { Position } from "../../../schemas/documents/program-document.js";
import { UnreadableDocument } from "../../../schemas/documents/unreadable.js";
import type { Draft } from "./draft.js";
import { Lines } from "./lines.js";
import {
  ScheduleReader,
  type ScheduleEvent,
  type SchedulePerson,
} from "./schedule.js";
import { scanXml } from "./xml-scan.js";

/** An element: its children by name, attributes with `@` before theirs, and its text. */
type Element = Record<string | symbol, unknown>;

const PARSED = XMLParser.getMetaDataSymbol() as unknown as symbol;

/** The elements that occur several times, also where one has only one of them. */
const LISTS = new Set([
  ...["day", "room", "event", "person", "link", "attachment"],
]);

const parser = new XMLParser({
  ignoreAttributes: false,
  attributeNamePrefix: "@",
  alwaysCreateTextNode: true,
  parseTagValue: false,
  // Numeric references, such as `&#x27;`, depend on it. A scan has refused all names but five.
  htmlEntities: true,
  captureMetaData: true,
  isArray: (name) => LISTS.has(name),
});

/**
 * Reads a `schedule.xml` of frab or pretalx.
 * @throws {UnreadableDocument} with the line.
 */
export function readScheduleXml(text: string, draft: Draft): void {
  const lines = new Lines(text);
  scanXml(text, lines);
  const valid = XMLValidator.validate(text);
  if (valid !== true) {
    const { line, msg } = valid.err;
    throw new UnreadableDocument({ line }, msg);
  }
  const root = (parser.parse(text) as Element).schedule;
  if (!isElement(root)) {
    throw new UnreadableDocument({ line: 1 }, "The root must be <schedule>.");
  }
  const positionOf = (element: Element): Position => {
    const { startIndex = 0 } = (element[PARSED] ?? {}) as {
      startIndex?: number;
    };
    return { line: lines.at(startIndex) };
  };
  const zone = isElement(root.conference)
    ? textOf(root.conference.time_zone_name)
    : undefined;
  const reader = new ScheduleReader(draft, zone);
  for (const day of elements(root.day)) {
    const times = {
      date: attribute(day, "date"),
      start: attribute(day, "start"),
    };
    for (const room of elements(day.room)) {
      const name = attribute(room, "name") ?? "";
      for (const event of elements(room.event)) {
        reader.add(eventOf(event, positionOf(event), positionOf), times, name);
      }
    }
  }
}

function eventOf(
  event: Element,
  position: Position,
  positionOf: (element: Element) => Position,
): ScheduleEvent {
  const { persons, links, attachments } = event;
  return {
    position,
    guid: attribute(event, "guid"),
    code: attribute(event, "code"),
    id: attribute(event, "id"),
    title: textOf(event.title),
    subtitle: textOf(event.subtitle),
    abstract: textOf(event.abstract),
    description: textOf(event.description),
    track: textOf(event.track),
    type: textOf(event.type),
    language: textOf(event.language),
    date: textOf(event.date),
    start: textOf(event.start),
    duration: textOf(event.duration),
    // The list is of `isArray`, which also counts for the rooms of a day.
    room: textOf(elements(event.room)[0]),
    persons:
      persons === undefined
        ? undefined
        : elements(inside(persons, "person")).map((person): SchedulePerson => ({
            position: positionOf(person),
            guid: attribute(person, "guid"),
            code: attribute(person, "code"),
            id: attribute(person, "id"),
            name: textOf(person) || textOf(person.name),
            biography: textOf(person.biography),
          })),
    ...((links !== undefined || attachments !== undefined) && {
      links: [
        ...elements(inside(links, "link")),
        ...elements(inside(attachments, "attachment")),
      ].map((link) => ({ title: textOf(link), url: attribute(link, "href") })),
    }),
  };
}

const isElement = (value: unknown): value is Element =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const inside = (parent: unknown, name: string): unknown =>
  isElement(parent) ? parent[name] : undefined;

const elements = (value: unknown): Element[] =>
  Array.isArray(value) ? value.filter(isElement) : [];

const attribute = (element: Element, name: string): string | undefined =>
  (element[`@${name}`] as string | undefined) || undefined;

/** The text of an element; undefined if there is no such element. */
function textOf(value: unknown): string | undefined {
  if (!isElement(value)) return undefined;
  return typeof value["#text"] === "string" ? value["#text"] : "";
}
