import { randomUUID } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import {
  guidOf,
  MAX_PROBLEMS,
  nameKey,
  type DocumentSession,
  type DocumentSpeaker,
  type ImportOptions,
  type ImportProblem,
  type ImportResult,
  type ProgramDocument,
  type SpeakerFields,
} from "../../schemas/documents/program-document.js";
import type { Session, Speaker } from "../../schemas/program/program.js";
import { given } from "../../schemas/plain/given.js";
import { likeStored } from "./program-likeness.js";
import { newSession, newSpeaker } from "./program-rows.js";

// What an import changes in a world: a pure comparison of a document with the program that is
// there, so that both engines decide alike, within the transaction that then writes it.

/** The world that a document is compared with. */
export interface PresentProgram {
  sessions: readonly Session[];
  speakers: readonly Speaker[];
  /** The rooms that the caller may see, in the order of their list. All others are absent. */
  rooms: readonly { id: string; name: string }[];
  /** Whether the world has a user with this id. */
  isUser: (id: string) => boolean;
  /** Whether this is the address of an upload of the world. */
  isUpload: (url: string) => boolean;
}

/** The writes of an import, and its answer. */
export interface ImportPlan {
  rooms: { id: string; name: string }[];
  speakers: { created: Speaker[]; updated: Speaker[] };
  sessions: {
    created: Session[];
    updated: Session[];
    /** Ids. */
    deleted: string[];
  };
  isEmpty: boolean;
  result: ImportResult;
}

export function planImport(
  document: ProgramDocument,
  present: PresentProgram,
  { createRooms = false, removeMissing = false }: ImportOptions = {},
): ImportPlan {
  const problems = new Problems(document);
  const rooms = new Rooms(present.rooms, createRooms, problems);
  const { ids, ...speakers } = planSpeakers(document, present, problems);
  const { isExact, ...limits } = document;
  const fieldsOf = (base: Session, { fields }: DocumentSession) =>
    isExact ? given(fields) : likeStored(base, given(fields), limits);

  /** The ids of the speakers of a session; undefined if the document does not say. */
  const speakersOf = (session: DocumentSession) => {
    const found = session.speakers?.map((key) => ids.get(key));
    if (found?.includes(undefined)) {
      problems.add(session, {
        session: session.fields.title,
        message: "One of its speakers is unknown.",
      });
    }
    return found && [...new Set(found.filter((id) => id !== undefined))];
  };

  const created: Session[] = [];
  const updated: Session[] = [];
  let unchanged = 0;
  const isHidden = hiddenFrom(present.rooms);
  let left = 0;
  const matched = new Matched(present.sessions);
  for (const session of document.sessions) {
    const before = matched.take(session);
    if (before !== undefined && before !== "twice" && isHidden(before)) {
      left++;
      continue;
    }
    if (before === "twice") {
      problems.add(session, {
        session: session.fields.title,
        message: "Another session before it has the same id; this one was left out.",
      });
      continue;
    }
    const base = before ?? newSession({ import_id: session.import_id });
    const after: Session = {
      ...base,
      ...fieldsOf(base, session),
      room_id: rooms.of(session, base.room_id),
      speaker_ids: speakersOf(session) ?? base.speaker_ids,
    };
    if (!before) created.push(after);
    else if (isDeepStrictEqual(before, after)) unchanged++;
    else updated.push(after);
  }
  if (left > 0) problems.add({ position: {} }, { message: LEFT });
  const isRead = document.sessions.length > 0;
  if (removeMissing && !isRead) {
    problems.add({ position: {} }, { message: NOTHING });
  }
  const deleted = removeMissing && isRead ? missingOf(matched.rest(), isHidden, problems) : [];
  return {
    rooms: rooms.created,
    speakers,
    sessions: { created, updated, deleted },
    isEmpty: [rooms.created, speakers.created, speakers.updated, created, updated, deleted].every(
      ({ length }) => length === 0,
    ),
    result: {
      created: created.length,
      updated: updated.length,
      unchanged,
      deleted: deleted.length,
      rooms_created: rooms.created.length,
      problems: problems.list(),
    },
  };
}

/**
 * The ids of the imported sessions that the document no longer has. The caller may not know those in
 * rooms that they don't see, so these are kept.
 */
function missingOf(
  rest: readonly Session[],
  isHidden: (session: Session) => boolean,
  problems: Problems,
): string[] {
  const missing = rest.filter(({ import_id }) => import_id !== null);
  const deleted = missing.filter((session) => !isHidden(session));
  if (deleted.length < missing.length) {
    problems.add({ position: {} }, { message: KEPT });
  }
  // In an order that does not depend on random ids.
  return deleted.sort((a, b) => (a.import_id! < b.import_id! ? -1 : 1)).map(({ id }) => id);
}

function hiddenFrom(rooms: PresentProgram["rooms"]) {
  const visible = new Set(rooms.map(({ id }) => id));
  return ({ room_id }: Session): boolean => room_id !== null && !visible.has(room_id);
}

const NOTHING = "The file has no sessions that could be read, so none were deleted.";

const LEFT = "Sessions of the file that are in rooms that you may not see were left as they are.";

const KEPT =
  "Imported sessions in rooms that you may not see were kept, though the file no longer has them.";

function planSpeakers(document: ProgramDocument, present: PresentProgram, problems: Problems) {
  const created: Speaker[] = [];
  const updated: Speaker[] = [];
  /** Ids in the world by the keys of the document, which may also name a speaker of the world by id. */
  const ids = new Map(present.speakers.map(({ id }) => [id, id]));
  /** Ids in the world by `import_id`. */
  const first = new Map<string, string>();
  const matched = new Matched(present.speakers);
  const people = new People(present.speakers);
  for (const one of document.speakers) {
    const speaker = people.named(one);
    const before = matched.take(speaker);
    if (before === "twice") {
      const isNamed = speaker.known_by === "name";
      if (!isNamed) {
        problems.add(speaker, {
          message: `Another speaker before ${speaker.fields.name} has the same id; this one was left out.`,
        });
      }
      const id = first.get(speaker.import_id) ?? (isNamed ? speaker.id : undefined);
      if (id !== undefined) ids.set(speaker.key, id);
      continue;
    }
    const base = before ?? newSpeaker({ import_id: speaker.import_id });
    const known = given(knownFields(speaker, present, problems));
    const after = { ...base, ...(document.isExact ? known : likeStored(base, known)) };
    ids.set(speaker.key, after.id);
    first.set(speaker.import_id, after.id);
    if (!before) created.push(after);
    else if (!isDeepStrictEqual(before, after)) updated.push(after);
  }
  return { ids, created, updated };
}

/** Finds the speakers of the world whom a document calls by their name. */
class People {
  readonly #byName = new Map<string, Speaker[]>();
  readonly #byImportId = new Map<string, Speaker>();

  constructor(stored: readonly Speaker[]) {
    for (const speaker of stored) {
      const key = nameKey(speaker.name);
      this.#byName.set(key, [...(this.#byName.get(key) ?? []), speaker]);
      if (speaker.import_id !== null) {
        this.#byImportId.set(speaker.import_id, speaker);
      }
    }
  }

  /** The speaker of a document with the id, or the `import_id`, that its name decides. */
  named(speaker: DocumentSpeaker): DocumentSpeaker {
    const { fields, import_id, import_ids = [], known_by } = speaker;
    const name = nameKey(fields.name);
    if (known_by === "name" && !this.#byImportId.has(import_id)) {
      const [only, ...others] = this.#byName.get(name) ?? [];
      if (!only || others.length > 0) return speaker;
      // A document that knows nothing but the name does not change how it is written.
      return { ...speaker, id: only.id, fields: { ...fields, name: only.name } };
    }
    if (known_by === "id and name") {
      const [byId = import_id, byBoth = import_id] = import_ids;
      const known = this.#byImportId.get(byId);
      if (this.#byImportId.has(byBoth)) return { ...speaker, import_id: byBoth };
      if (known) {
        const isSame = nameKey(known.name) === name;
        return { ...speaker, import_id: isSame ? byId : byBoth };
      }
    }
    return speaker;
  }
}

/** The fields of a speaker without a user or a picture that the world does not have. */
function knownFields(
  speaker: DocumentSpeaker,
  { isUser, isUpload }: PresentProgram,
  problems: Problems,
): Partial<SpeakerFields> {
  const { user_id, picture, ...fields } = speaker.fields;
  const isKnown = (
    value: string | null | undefined,
    check: (value: string) => boolean,
    message: string,
  ) => {
    if (value === undefined || value === null || check(value)) return true;
    problems.add(speaker, { message: `${speaker.fields.name}: ${message}` });
    return false;
  };
  return {
    ...fields,
    ...(isKnown(user_id, isUser, "The world has no such user.") && { user_id }),
    ...(isKnown(picture, isUpload, "The picture is no upload of this world.") && { picture }),
  };
}

interface Stored {
  id: string;
  import_id: string | null;
}

/** Finds the entries of a document in the world, each at most once. */
class Matched<T extends Stored> {
  readonly #byId = new Map<string, T>();
  readonly #byImportId = new Map<string, T>();
  /** By the UUID that exports give, so that an export imports as unchanged. */
  #byGuid: Map<string, T> | undefined;
  readonly #taken = new Set<T>();
  readonly #seen = new Set<string>();

  constructor(stored: readonly T[]) {
    for (const entry of stored) {
      this.#byId.set(entry.id, entry);
      if (entry.import_id !== null) {
        this.#byImportId.set(entry.import_id, entry);
      }
    }
  }

  /** @returns the stored entry; undefined if it is new; `twice` if the document had it before. */
  take({ id, import_id }: Pick<DocumentSession, "id" | "import_id">): T | "twice" | undefined {
    const found =
      (id !== undefined && this.#byId.get(id)) ||
      this.#byImportId.get(import_id) ||
      this.#exported(import_id);
    if (this.#seen.has(import_id) || (found && this.#taken.has(found))) {
      return "twice";
    }
    this.#seen.add(import_id);
    if (found) this.#taken.add(found);
    return found;
  }

  #exported(guid: string): T | undefined {
    this.#byGuid ??= new Map([...this.#byId.values()].map((entry) => [guidOf(entry), entry]));
    return this.#byGuid.get(guid);
  }

  /** The stored entries that the document does not have. */
  rest(): T[] {
    return [...this.#byId.values()].filter((entry) => !this.#taken.has(entry));
  }
}

/** Finds rooms by name, without regard to case, and notes those that are to be made. */
class Rooms {
  readonly created: { id: string; name: string }[] = [];
  /** Ids by the key of their name. */
  readonly #byName = new Map<string, string[]>();
  readonly #ids: Set<string>;

  constructor(
    rooms: PresentProgram["rooms"],
    private readonly mayCreate: boolean,
    private readonly problems: Problems,
  ) {
    this.#ids = new Set(rooms.map(({ id }) => id));
    for (const { name, id } of rooms) {
      const key = nameKey(name);
      this.#byName.set(key, [...(this.#byName.get(key) ?? []), id]);
    }
  }

  /**
   * The room of a session.
   * @param present the room where it is. It stays there if the document names a room that is
   *   unknown, or several rooms of which this is one.
   */
  of({ room, fields, position }: DocumentSession, present: string | null): string | null {
    if (room === undefined) return present;
    if (room === null) return null;
    const problem = (message: string) =>
      this.problems.add({ position }, { session: fields.title, message });
    if ("id" in room) {
      if (this.#ids.has(room.id)) return room.id;
      problem(`There is no room with the id ${room.id}.`);
      return present;
    }
    const named = this.#byName.get(nameKey(room.name)) ?? [];
    const [first] = named;
    if (first === undefined) {
      if (this.mayCreate) return this.#create(room.name);
      problem(`There is no room called “${room.name}”.`);
      return present;
    }
    if (named.length > 1) {
      problem(`More than one room is called “${room.name}”.`);
    }
    return named.find((id) => id === present) ?? first;
  }

  #create(name: string): string {
    const id = randomUUID();
    this.created.push({ id, name: name.trim() });
    this.#byName.set(nameKey(name), [id]);
    return id;
  }
}

/** Problems in the order in which they are found, up to a bound. */
class Problems {
  readonly #list: ImportProblem[];
  #more = 0;

  constructor({ problems, unlisted = 0 }: ProgramDocument) {
    this.#list = problems.slice(0, MAX_PROBLEMS);
    this.#more = problems.length - this.#list.length + unlisted;
  }

  add({ position }: Pick<DocumentSession, "position">, problem: ImportProblem) {
    const { line } = position;
    if (this.#list.length >= MAX_PROBLEMS) this.#more++;
    else this.#list.push({ ...(line !== undefined && { line }), ...problem });
  }

  list(): ImportProblem[] {
    return this.#more === 0
      ? this.#list
      : [...this.#list, { message: `${this.#more} more problems.` }];
  }
}
