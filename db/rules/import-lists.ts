import { isDeepStrictEqual } from "node:util";
import {
  type DocumentSession,
  type DocumentSpeaker,
  type ImportedField,
  type ImportLists,
  type ImportOptions,
  nameKey,
  type ProgramDocument,
} from "../../schemas/documents/program-document.js";
import { nearNames } from "../../schemas/plain/sheets/near-names.js";
import type { Session, Speaker } from "../../schemas/program/program.js";
import type { NewRoom } from "../contract/program-store.js";

// Lists what an import changes, record by record, and which manual edits since the last import it
// keeps.

/** The current state of the world, with which a document is compared. */
export interface PresentProgram {
  sessions: readonly Session[];
  speakers: readonly Speaker[];
  /** The rooms that the caller may see, in list order. All other rooms are treated as absent. */
  rooms: readonly { id: string; name: string }[];
  /** The rooms from which new rooms may copy their modules. */
  models?: readonly NewRoom[];
  /** The manually edited fields, by the id of the session or speaker. */
  edits?: Readonly<Record<string, readonly string[]>>;
  /** Whether the world has a user with this id. */
  isUser: (id: string) => boolean;
  /** Whether a URL is the address of an upload in this world. */
  isUpload: (url: string) => boolean;
}

type Stored = Session | Speaker;

/** The manual edits to a record, and how the import treats them. */
export class Edits {
  readonly #replaced: ReadonlySet<string>;
  readonly #keeps: boolean;

  constructor(
    private readonly fields: Readonly<Record<string, readonly string[]>>,
    { keepEdits = false, choices }: ImportOptions,
  ) {
    this.#keeps = keepEdits;
    this.#replaced = new Set(choices?.replace);
  }

  /** Whether the import overwrites the manual edits to a record. */
  isFollowed(id: string): boolean {
    return id in this.fields && (!this.#keeps || this.#replaced.has(id));
  }

  isEdited(id: string, field: string): boolean {
    return this.fields[id]?.includes(field) ?? false;
  }

  /**
   * Returns a record as it is after the import: the values in the document, except for the edits
   * that are kept.
   */
  keep<T extends Stored>(before: T, wanted: T): T {
    const kept = this.fields[before.id];
    if (!kept || this.isFollowed(before.id)) return wanted;
    const after = { ...wanted };
    for (const field of kept as (keyof T)[]) {
      if (field in before) after[field] = before[field];
    }
    // A session has both times or neither, and they belong together.
    if (kept.includes("starts_at") || kept.includes("ends_at")) {
      const times = before as Partial<Session>;
      Object.assign(after, { starts_at: times.starts_at, ends_at: times.ends_at });
    }
    return after;
  }
}

/** Maximum length of a displayed text, in characters. Longer texts are truncated. */
const LONGEST = 300;

/** The fields of new records that are shown. */
const OF_NEW = new Set(["starts_at", "ends_at", "room_id", "speaker_ids", "organization"]);

interface Listed<D, T> {
  readonly document: D;
  readonly before: T | undefined;
  readonly wanted: T;
  readonly after: T;
}

/** Collects the changes that an import makes. The list is built only on request. */
export class Lists {
  readonly #sessions: Listed<DocumentSession, Session>[] = [];
  readonly #speakers: Listed<DocumentSpeaker, Speaker>[] = [];
  #deleted: readonly string[] = [];

  constructor(
    private readonly present: PresentProgram,
    private readonly document: ProgramDocument,
  ) {}

  session(document: DocumentSession, before: Session | undefined, wanted: Session, after: Session) {
    this.#sessions.push({ document, before, wanted, after });
  }

  speaker(document: DocumentSpeaker, before: Speaker | undefined, wanted: Speaker, after: Speaker) {
    this.#speakers.push({ document, before, wanted, after });
  }

  deleted(ids: readonly string[]) {
    this.#deleted = ids;
  }

  /**
   * @param people all speakers, existing and new.
   * @param made the rooms that the import creates.
   */
  all(people: readonly Speaker[], made: readonly NewRoom[], edits: Edits): ImportLists {
    const { rooms, sessions, speakers } = this.present;
    const roomNames = new Map([...made, ...rooms].map(({ id, name }) => [id, name]));
    const names = new Map(people.map(({ id, name }) => [id, name]));
    const shown = (field: string, value: unknown): unknown => {
      if (field === "room_id") return roomNames.get(value as string) ?? null;
      if (field === "speaker_ids") return (value as string[]).map((id) => names.get(id) ?? "?");
      const text = typeof value === "string" ? value : undefined;
      return text !== undefined && text.length > LONGEST
        ? `${text.slice(0, LONGEST).toWellFormed()}…`
        : value;
    };
    const entry = <T extends Stored>({ document, before, wanted, after }: Listed<Placed, T>) => {
      const fields: ImportedField[] = [];
      for (const field of Object.keys(wanted) as (keyof T & string)[]) {
        if (field === "id" || field === "import_id") continue;
        if (!before && !OF_NEW.has(field)) continue;
        const old = before?.[field] ?? null;
        if (isDeepStrictEqual(old, wanted[field])) continue;
        const isKept = before !== undefined && !isDeepStrictEqual(after[field], wanted[field]);
        fields.push({
          field,
          before: before ? shown(field, old) : null,
          after: shown(field, wanted[field]),
          ...(before && edits.isEdited(before.id, field) && { edited: true as const }),
          ...(isKept && { kept: true as const }),
        });
      }
      if (before && fields.length === 0) return undefined;
      const { line } = document.position;
      const change: "created" | "kept" | "updated" = !before
        ? "created"
        : fields.every(({ kept }) => kept)
          ? "kept"
          : "updated";
      return {
        change,
        ...(before && { id: before.id }),
        ...(line !== undefined && { line }),
        fields,
      };
    };
    const nearSpeakers = nearNames(speakers.map(({ id, name }) => ({ id, name })));
    const former = new Map(sessions.map((session) => [session.id, session]));
    return {
      sessions: [
        ...this.#sessions.flatMap((listed) => {
          const found = entry(listed);
          return found ? [{ ...found, title: (listed.before ?? listed.wanted).title }] : [];
        }),
        ...this.#deleted.map((id) => ({
          change: "deleted" as const,
          id,
          title: former.get(id)!.title,
          fields: [],
        })),
      ],
      speakers: this.#speakers.flatMap((listed) => {
        const found = entry(listed);
        if (!found) return [];
        const { name } = listed.wanted;
        return [{ ...found, name, near: listed.before ? [] : nearSpeakers(name) }];
      }),
      rooms: this.#newRooms(),
    };
  }

  #newRooms(): ImportLists["rooms"] {
    const { rooms } = this.present;
    const known = new Set(rooms.map(({ name }) => nameKey(name)));
    const found = new Map<string, { name: string; sessions: number }>();
    for (const { room } of this.document.sessions) {
      if (!room || !("name" in room)) continue;
      const key = nameKey(room.name);
      if (known.has(key)) continue;
      const first = found.get(key);
      if (first) first.sessions++;
      else found.set(key, { name: room.name.trim(), sessions: 1 });
    }
    const near = nearNames(rooms.map(({ id, name }) => ({ id, name })));
    return [...found.values()].map((room) => ({ ...room, near: near(room.name) }));
  }
}

type Placed = Pick<DocumentSession, "position">;
