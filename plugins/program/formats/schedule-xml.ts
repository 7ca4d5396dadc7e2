import { XMLParser, XMLValidator } from "fast-xml-parser";
import type { SourcePosition } from "../../../schemas/documents/program-document.js";
import { UnreadableDocument } from "../../../schemas/documents/unreadable.js";
import type { ParsedProgram } from "./draft.js";
import { LineIndex } from "./lines.js";
import {
  type ScheduleDay,
  ScheduleReader,
  type ScheduleEvent,
  type SchedulePerson,
} from "./schedule.js";
import { scanXml } from "./xml-scan.js";

/** A node as returned by the parser: its children under its name, and its attributes. */
type Node = Record<string | symbol, unknown>;

const PARSED = XMLParser.getMetaDataSymbol() as unknown as symbol;

const ATTRIBUTES = ":@";
const TEXT = "#text";

/** HTML elements that end a line of text. */
const BLOCKS = new Set([
  "p",
  "div",
  "br",
  "li",
  "ul",
  "ol",
  "tr",
  "pre",
  "blockquote",
  "h1",
  "h2",
  "h3",
  "h4",
  "h5",
  "h6",
]);

const parser = new XMLParser({
  ignoreAttributes: false,
  attributeNamePrefix: "",
  // Preserves the order of text and markup.
  preserveOrder: true,
  trimValues: false,
  parseTagValue: false,
  // Enables numeric references, such as `&#x27;`. `scanXml` has already rejected all named
  // references except the five predefined entities.
  htmlEntities: true,
  captureMetaData: true,
});

/**
 * Reads a `schedule.xml` from frab or pretalx. Events are found at any level.
 * @throws {UnreadableDocument} with the line.
 */
export function readScheduleXml(text: string, draft: ParsedProgram): void {
  const lines = new LineIndex(text);
  scanXml(text, lines);
  const valid = XMLValidator.validate(text);
  if (valid !== true) {
    const { line, msg } = valid.err;
    throw new UnreadableDocument({ line }, msg);
  }
  const root = (parser.parse(text) as Node[])
    .map((node) => new Element(node, lines))
    .find(({ name }) => name === "schedule");
  if (!root) {
    throw new UnreadableDocument({ line: 1 }, "The root must be <schedule>.");
  }
  const conference = root.child("conference") ?? root;
  const reader = new ScheduleReader(draft, {
    zone: conference.text("time_zone_name"),
    dayChange: conference.text("day_change"),
  });
  readEvents(reader, root, {}, "");
}

/**
 * Adds the events within an element.
 * @param day the enclosing day.
 * @param room the enclosing room.
 */
function readEvents(
  reader: ScheduleReader,
  element: Element,
  day: ScheduleDay,
  room: string,
): void {
  for (const child of element.children) {
    if (child.name === "event") reader.add(eventOf(child), day, room);
    else if (child.name === "day") {
      const { date, start } = child.attributes;
      readEvents(reader, child, { date, start }, room);
    } else if (child.name === "room") {
      const name = child.attributes.name ?? child.text("name") ?? room;
      readEvents(reader, child, day, name);
    } else readEvents(reader, child, day, room);
  }
}

function eventOf(event: Element): ScheduleEvent {
  const { guid, code, id } = event.attributes;
  const persons = event.child("persons");
  const links = ["links", "attachments"].flatMap((name) => event.child(name) ?? []);
  return {
    position: event.position,
    guid,
    code,
    id,
    title: event.text("title"),
    subtitle: event.text("subtitle"),
    abstract: event.text("abstract"),
    description: event.text("description"),
    track: event.text("track"),
    type: event.text("type"),
    language: event.text("language"),
    date: event.text("date"),
    start: event.text("start"),
    duration: event.text("duration"),
    room: event.text("room"),
    persons: persons?.children.filter(({ name }) => name === "person").map(personOf),
    ...(links.length > 0 && {
      links: links
        .flatMap(({ children }) => children)
        .filter(({ name }) => name === "link" || name === "attachment")
        .map(({ content, attributes: { href } }) =>
          href === undefined ? { url: content } : { title: content, url: href },
        ),
    }),
  };
}

function personOf(person: Element): SchedulePerson {
  const { guid, code, id } = person.attributes;
  return {
    position: person.position,
    guid,
    code,
    id,
    name: person.text("public_name") ?? person.text("name") ?? person.content,
    biography: person.text("biography"),
  };
}

class Element {
  readonly name: string;

  constructor(
    private readonly node: Node,
    private readonly lines: LineIndex,
  ) {
    this.name = nameOf(node);
  }

  /** The element's non-empty attributes. */
  get attributes(): Partial<Record<string, string>> {
    const attributes = (this.node[ATTRIBUTES] ?? {}) as Record<string, string>;
    return Object.fromEntries(Object.entries(attributes).filter(([, value]) => value !== ""));
  }

  get children(): Element[] {
    return nodesIn(this.node)
      .filter((node) => nameOf(node) !== TEXT)
      .map((node) => new Element(node, this.lines));
  }

  /** Returns the first child element with a name. */
  child(name: string): Element | undefined {
    const node = nodesIn(this.node).find((node) => nameOf(node) === name);
    return node && new Element(node, this.lines);
  }

  /** Returns the text of the first child element with a name, or undefined if there is no such child. */
  text(name: string): string | undefined {
    return this.child(name)?.content;
  }

  /** The text of the element and its descendants, in order. */
  get content(): string {
    return textIn(this.node).trim();
  }

  get position(): SourcePosition {
    const { startIndex = 0 } = (this.node[PARSED] ?? {}) as {
      startIndex?: number;
    };
    return { line: this.lines.at(startIndex) };
  }
}

const nameOf = (node: Node): string => Object.keys(node).find((key) => key !== ATTRIBUTES) ?? "";

const nodesIn = (node: Node): Node[] => {
  const inside = node[nameOf(node)];
  return Array.isArray(inside) ? (inside as Node[]) : [];
};

function textIn(node: Node): string {
  return nodesIn(node)
    .map((child) => {
      const name = nameOf(child);
      if (name === TEXT) return String(child[TEXT]);
      return BLOCKS.has(name.toLowerCase()) ? `${textIn(child)}\n` : textIn(child);
    })
    .join("");
}
