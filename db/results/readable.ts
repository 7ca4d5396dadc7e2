import type { Cell } from "../../schemas/plain/sheets/csv.js";
import type { ResultsKind } from "../../schemas/results/results.js";
import type { World } from "../../schemas/worlds.js";
import type { Store } from "../contract/store.js";
import { modeOf } from "./attendance-results.js";
import { displayNames, type Results } from "./results.js";

// Results as human-readable tables: names instead of ids, times in the event's time zone, headings
// in the organizer's language, and no deleted content.

/** The languages of headings. */
export const readableLocales = ["en", "de"] as const;
export type ReadableLocale = (typeof readableLocales)[number];

type Texts = readonly [en: string, de: string];
type Row = Readonly<Record<string, Cell>>;

/** A column of a human-readable table. */
export interface ReadableColumn {
  readonly title: string;
  /** In characters. */
  readonly width: number;
  /** Whether the cells are times: `2026-11-28T09:30:00`, in the event's zone. */
  readonly isTime: boolean;
}

/** A human-readable table. */
export interface ReadableTable {
  readonly sheet: string;
  readonly columns: readonly ReadableColumn[];
  /** The index of the column whose values name the sheets; by default, there is a single sheet. */
  readonly sheetAt?: number | undefined;
  readonly rows: AsyncIterable<readonly Cell[]>;
}

type Value = "text" | "long" | "number" | "time" | "yes" | "state" | "roles" | "minutes" | "kind";

/** A field of a row, its heading and its kind. */
type Field = readonly [field: string, en: string, de: string, value: Value];

const WIDTHS: Record<Value, number> = {
  ...{ text: 26, long: 60, number: 11, time: 18 },
  ...{ yes: 10, state: 14, roles: 24, minutes: 11, kind: 18 },
};

interface Readable {
  readonly sheet: Texts;
  readonly fields: readonly Field[];
  /** Whether a row is shown. */
  readonly keeps?: (row: Row) => boolean;
}

const ROOM: Field = ["room", "Room", "Raum", "text"];

const tables: Record<ResultsKind, Readable> = {
  people: {
    sheet: ["People", "Personen"],
    fields: [
      ["display_name", "Name", "Name", "text"],
      ["traits", "Roles", "Rollen", "roles"],
      ["moderation_state", "Status", "Status", "state"],
      ["last_login", "Last joined", "Zuletzt beigetreten", "time"],
      ["last_seen", "Last seen", "Zuletzt gesehen", "time"],
    ],
  },
  chat: {
    sheet: ["Chat", "Chat"],
    fields: [
      ROOM,
      ["timestamp", "Time", "Zeit", "time"],
      ["sender_name", "Name", "Name", "text"],
      ["text", "Message", "Nachricht", "long"],
      ["files", "Files", "Dateien", "long"],
      ["edited", "Edited", "Bearbeitet", "time"],
    ],
    // An edit also changes the message itself, and events about people who join or leave are not
    // messages.
    keeps: ({ deleted, replaces, type }) =>
      !deleted && replaces === null && type === "channel.message",
  },
  questions: {
    sheet: ["Questions", "Fragen"],
    fields: [
      ROOM,
      ["timestamp", "Time", "Zeit", "time"],
      ["content", "Question", "Frage", "long"],
      ["sender_name", "Asked by", "Gefragt von", "text"],
      ["score", "Votes", "Stimmen", "number"],
      ["state", "Status", "Status", "state"],
      ["answered", "Answered", "Beantwortet", "yes"],
    ],
  },
  polls: {
    sheet: ["Polls", "Umfragen"],
    fields: [
      ROOM,
      ["timestamp", "Time", "Zeit", "time"],
      ["content", "Poll", "Umfrage", "long"],
      ["poll_type", "Kind", "Art", "kind"],
      ["option", "Answer", "Antwort", "text"],
      ["votes", "Votes", "Stimmen", "number"],
      ["points", "Points", "Punkte", "number"],
      ["correct", "Correct", "Richtig", "yes"],
      ["state", "Status", "Status", "state"],
    ],
    keeps: ({ option, option_id }) => option_id === null || option !== null,
  },
  attendance: {
    sheet: ["Attendance", "Anwesenheit"],
    fields: [
      ["display_name", "Name", "Name", "text"],
      ROOM,
      ["session", "Session", "Programmpunkt", "text"],
      ["first", "From", "Von", "time"],
      ["last", "To", "Bis", "time"],
      ["seconds", "Minutes", "Minuten", "minutes"],
    ],
  },
  activity: {
    sheet: ["Activity", "Aktivität"],
    fields: [
      ROOM,
      ["at", "Time", "Zeit", "time"],
      ["people", "People", "Personen", "number"],
      ["messages", "Messages", "Nachrichten", "number"],
    ],
  },
  calls: {
    sheet: ["Calls", "Gespräche"],
    fields: [
      ROOM,
      ["started", "From", "Von", "time"],
      ["ended", "To", "Bis", "time"],
      ["most_people", "Most people", "Höchstens Personen", "number"],
      ["person_minutes", "Minutes together", "Minuten zusammen", "number"],
    ],
  },
  feedback: {
    sheet: ["Feedback", "Feedback"],
    fields: [
      ["session", "Session", "Programmpunkt", "text"],
      ["stars", "Stars", "Sterne", "number"],
      ["text", "Comment", "Kommentar", "long"],
    ],
  },
};

const STATES: Record<string, Texts> = {
  none: ["", ""],
  silenced: ["silenced", "stummgeschaltet"],
  banned: ["banned", "ausgeschlossen"],
  mod_queue: ["waiting", "wartet"],
  visible: ["visible", "sichtbar"],
  archived: ["archived", "archiviert"],
  draft: ["draft", "Entwurf"],
  open: ["open", "offen"],
  closed: ["closed", "geschlossen"],
};

const KINDS: Record<string, Texts> = {
  choice: ["One answer", "Eine Antwort"],
  multi: ["Several answers", "Mehrere Antworten"],
  words: ["Word cloud", "Wortwolke"],
  text: ["Open text", "Freitext"],
  scale: ["Scale", "Skala"],
  rank: ["Ranking", "Rangliste"],
  quiz: ["Quiz", "Quiz"],
};

const ROLES: Record<string, Texts> = {
  admin: ["Host", "Gastgeber"],
  moderator: ["Moderator", "Moderation"],
  speaker: ["Speaker", "Mitwirkende"],
  attendee: ["Attendee", "Teilnehmende"],
};

const NOT_KEPT: Texts = [
  "Attendance was not kept. You can switch it on for the next event, under Results.",
  "Die Anwesenheit wurde nicht festgehalten. Für die nächste Veranstaltung lässt sie sich unter Ergebnisse einschalten.",
];

/** Number of records whose mentions are resolved in one batch. */
const AT_ONCE = 100;

const MENTION = /@([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})/g;

/**
 * Returns a human-readable table.
 * @param zone the event's time zone, which `Intl` must know.
 */
export function readableTable(
  store: Store,
  world: World,
  kind: ResultsKind,
  found: Pick<Results<object>, "rowsOf" | "sheetBy">,
  records: AsyncIterable<object>,
  { locale, zone }: { locale: ReadableLocale; zone: string },
): ReadableTable {
  const { sheet, fields, keeps = () => true } = tables[kind];
  const at = readableLocales.indexOf(locale);
  const columns = fields.map(([, ...column]) => ({
    title: column[2] === "time" ? `${column[at]!} (${zone})` : column[at]!,
    width: Math.max(WIDTHS[column[2]], column[2] === "time" ? 8 + zone.length : 0),
    isTime: column[2] === "time",
  }));
  const clock = clockOf(zone);
  const roleNames = rolesOf(world.config["roles"]);
  const cell = (value: Cell, kind: Value): Cell => {
    if (value === null) return null;
    switch (kind) {
      case "time":
        return clock(String(value));
      case "yes":
        return value ? (["yes", "ja"] as const)[at]! : "";
      case "state":
        return STATES[String(value)]?.[at] ?? value;
      case "kind":
        return KINDS[String(value)]?.[at] ?? value;
      case "minutes":
        return Math.round(Number(value) / 6) / 10;
      case "roles":
        return String(value)
          .split(", ")
          .filter((trait) => trait !== "api")
          .map((trait) => roleNames.get(trait) ?? ROLES[trait]?.[at] ?? trait)
          .join(", ");
      default:
        return value;
    }
  };
  async function* rows(): AsyncGenerator<readonly Cell[]> {
    let isEmpty = true;
    for await (const records of named(store, world.id, rowsOf())) {
      for (const row of records) {
        isEmpty = false;
        yield fields.map(([field, , , kind]) => cell(row[field] ?? null, kind));
      }
    }
    if (isEmpty && kind === "attendance" && (await modeOf(store, world.id)) !== "people") {
      yield [NOT_KEPT[at]!, ...fields.slice(1).map(() => null)];
    }
  }
  async function* rowsOf(): AsyncGenerator<Row> {
    for await (const record of records) yield* found.rowsOf(record).filter(keeps);
  }
  const by = fields.findIndex(([field]) => field === found.sheetBy);
  return { sheet: sheet[at]!, columns, ...(by >= 0 && { sheetAt: by }), rows: rows() };
}

/** Replaces mentions with names, a hundred rows at a time. */
async function* named(
  store: Store,
  world: string,
  rows: AsyncIterable<Row>,
): AsyncGenerator<readonly Row[]> {
  let batch: Row[] = [];
  const resolved = async () => {
    const ids = batch.flatMap(({ text }) =>
      typeof text === "string" ? [...text.matchAll(MENTION)].map(([, id]) => id!) : [],
    );
    const names = ids.length === 0 ? undefined : await displayNames(store, world, ids);
    const known = batch.map((row) =>
      names && typeof row["text"] === "string"
        ? {
            ...row,
            text: row["text"].replace(MENTION, (all, id: string) => nameIn(names, id, all)),
          }
        : row,
    );
    batch = [];
    return known;
  };
  for await (const row of rows) {
    batch.push(row);
    if (batch.length === AT_ONCE) yield await resolved();
  }
  yield await resolved();
}

const nameIn = (names: ReadonlyMap<string, string>, id: string, all: string): string => {
  const name = names.get(id);
  return name === undefined ? all : `@${name}`;
};

/** Returns a function that formats times as local times in a zone. */
function clockOf(zone: string): (time: string) => string {
  const format = new Intl.DateTimeFormat("sv-SE", {
    timeZone: zone,
    dateStyle: "short",
    timeStyle: "medium",
  });
  return (time) => format.format(new Date(time)).replace(" ", "T");
}

/** Returns the titles of an event's own roles, by trait. */
function rolesOf(roles: unknown): ReadonlyMap<string, string> {
  const list = Array.isArray(roles) ? (roles as unknown[]) : [];
  return new Map(
    list.flatMap((role) => {
      const { trait, title } = Object(role) as Record<string, unknown>;
      return typeof trait === "string" && typeof title === "string" && title !== ""
        ? [[trait, title] as const]
        : [];
    }),
  );
}
