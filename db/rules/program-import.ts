import { randomUUID } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import {
  guidOf,
  MAX_PROBLEMS,
  nameKey,
  type DocumentSession,
  type DocumentSpeaker,
  type ImportChoices,
  type ImportOptions,
  type ImportProblem,
  type ImportResult,
  type ProgramDocument,
  type SpeakerFields,
} from "../../schemas/documents/program-document.js";
import type { Session, Speaker } from "../../schemas/program/program.js";
import { type RoomTemplate, roomOf } from "../../schemas/plain/templates.js";
import type { NewRoom } from "../contract/program-store.js";
import { Edits, Lists, type PresentProgram } from "./import-lists.js";
import { definedFields } from "../../schemas/plain/given.js";
import { likeStored } from "./program-likeness.js";
import { changedSession, newSession, newSpeaker } from "./program-rows.js";

// Computes what an import changes in a world: a pure comparison of a document with the current
// program, so that both engines produce the same result.

/** The changes that an import writes, and the import's result. */
export interface ImportPlan {
  rooms: NewRoom[];
  speakers: { created: Speaker[]; updated: Speaker[] };
  sessions: {
    created: Session[];
    updated: Session[];
    /** The ids of the sessions to delete. */
    deleted: string[];
  };
  /** The ids of records whose hand-made changes are replaced. */
  followed: string[];
  isEmpty: boolean;
  result: ImportResult;
}

export function planImport(
  document: ProgramDocument,
  present: PresentProgram,
  options: ImportOptions = {},
): ImportPlan {
  const { createRooms = false, removeMissing = false } = options;
  const problems = new Problems(document);
  const rooms = new Rooms(present, createRooms, problems, options.choices);
  const edits = new Edits(present.edits ?? {}, options);
  const lists = new Lists(present, document);
  const { ids, ...speakers } = planSpeakers(document, present, { problems, edits, lists, options });
  const { isExact, ...limits } = document;
  const fieldsOf = (base: Session, { fields }: DocumentSession) =>
    isExact ? definedFields(fields) : likeStored(base, definedFields(fields), limits);

  /** Returns the ids of a session's speakers, or undefined if the document does not specify any speakers. */
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
        message: "An earlier session has the same id; this one was skipped.",
      });
      continue;
    }
    const base = before ?? newSession({ import_id: session.import_id });
    const wanted = changedSession(base, {
      ...fieldsOf(base, session),
      room_id: rooms.of(session, base.room_id),
      speaker_ids: speakersOf(session) ?? base.speaker_ids,
    });
    const after = before ? edits.keep(before, wanted) : wanted;
    lists.session(session, before, wanted, after);
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
  lists.deleted(deleted);
  const changed = [...speakers.updated, ...updated].map(({ id }) => id);
  return {
    rooms: rooms.created,
    speakers,
    sessions: { created, updated, deleted },
    followed: changed.filter((id) => edits.isFollowed(id)),
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
      ...(options.lists && {
        changes: lists.all([...speakers.created, ...present.speakers], rooms.created, edits),
      }),
    },
  };
}

/**
 * Returns the ids of the imported sessions that are no longer in the document. Sessions in rooms
 * that the caller cannot see are kept, because the caller may not know about them.
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
  // Sorted by `import_id`, because the ids are random.
  return deleted.sort((a, b) => (a.import_id! < b.import_id! ? -1 : 1)).map(({ id }) => id);
}

function hiddenFrom(rooms: PresentProgram["rooms"]) {
  const visible = new Set(rooms.map(({ id }) => id));
  return ({ room_id }: Session): boolean => room_id !== null && !visible.has(room_id);
}

const NOTHING = "No session in the file could be read, so none were deleted.";

const LEFT = "The file has sessions in rooms that you may not see. They were left unchanged.";

const KEPT =
  "Imported sessions in rooms that you may not see were kept, although the file no longer has them.";

function planSpeakers(
  document: ProgramDocument,
  present: PresentProgram,
  {
    problems,
    edits,
    lists,
    options,
  }: { problems: Problems; edits: Edits; lists: Lists; options: ImportOptions },
) {
  const created: Speaker[] = [];
  const updated: Speaker[] = [];
  /** The speakers' ids in the world, by document key. A document may also refer to an existing speaker by id. */
  const ids = new Map(present.speakers.map(({ id }) => [id, id]));
  /** The speakers' ids in the world, by `import_id`. */
  const first = new Map<string, string>();
  const matched = new Matched(present.speakers);
  const people = new People(present, problems, options.choices);
  for (const one of document.speakers) {
    const speaker = people.named(one);
    const before = matched.take(speaker);
    if (before === "twice") {
      const isNamed = speaker.known_by === "name";
      if (!isNamed) {
        problems.add(speaker, {
          message: `An earlier speaker has the same id as ${speaker.fields.name}; this one was skipped.`,
        });
      }
      const id = first.get(speaker.import_id) ?? (isNamed ? speaker.id : undefined);
      if (id !== undefined) ids.set(speaker.key, id);
      continue;
    }
    const base = before ?? newSpeaker({ import_id: speaker.import_id });
    const known = definedFields(knownFields(speaker, present, problems));
    const wanted = { ...base, ...(document.isExact ? known : likeStored(base, known)) };
    const after = before ? edits.keep(before, wanted) : wanted;
    lists.speaker(speaker, before, wanted, after);
    ids.set(speaker.key, after.id);
    first.set(speaker.import_id, after.id);
    if (!before) created.push(after);
    else if (!isDeepStrictEqual(before, after)) updated.push(after);
  }
  return { ids, created, updated };
}

/** Finds the world's speakers whom a document identifies by name. */
class People {
  readonly #byName = new Map<string, Speaker[]>();
  readonly #byImportId = new Map<string, Speaker>();

  /** How many sessions name a speaker. */
  readonly #sessions = new Map<string, number>();
  /** The speakers whom the organizer has named. */
  readonly #chosen = new Map<string, Speaker>();

  constructor(
    { speakers: stored, sessions }: PresentProgram,
    private readonly problems: Problems,
    { speakers: chosen = [] }: ImportChoices = {},
  ) {
    const byId = new Map(stored.map((speaker) => [speaker.id, speaker]));
    for (const { name, speaker_id } of chosen) {
      const speaker = byId.get(speaker_id);
      if (speaker) this.#chosen.set(nameKey(name), speaker);
    }
    for (const { speaker_ids } of sessions) {
      for (const id of speaker_ids) this.#sessions.set(id, (this.#sessions.get(id) ?? 0) + 1);
    }
    for (const speaker of stored) {
      const key = nameKey(speaker.name);
      this.#byName.set(key, [...(this.#byName.get(key) ?? []), speaker]);
      if (speaker.import_id !== null) {
        this.#byImportId.set(speaker.import_id, speaker);
      }
    }
  }

  /** Returns the document's speaker, with the id or `import_id` that the speaker's name determines. */
  named(speaker: DocumentSpeaker): DocumentSpeaker {
    const { fields, import_id, import_ids = [], known_by } = speaker;
    const name = nameKey(fields.name);
    const chosen = this.#chosen.get(name);
    if (chosen && !this.#byImportId.has(import_id)) {
      return { ...speaker, id: chosen.id, fields: { ...fields, name: chosen.name } };
    }
    if (known_by === "name" && !this.#byImportId.has(import_id)) {
      const [only, ...others] = this.#best(this.#byName.get(name) ?? []);
      if (!only) return speaker;
      if (others.length > 0) {
        this.problems.add(speaker, {
          message: `${others.length + 1} speakers are called “${only.name}”. The one with the most sessions was taken.`,
        });
      }
      // A document that identifies speakers only by name does not change the spelling of a name.
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

  /** Returns speakers of the same name, the one with the most sessions first. */
  #best(speakers: readonly Speaker[]): Speaker[] {
    const number = ({ id }: Speaker) => this.#sessions.get(id) ?? 0;
    return [...speakers].sort((a, b) => number(b) - number(a) || (a.id < b.id ? -1 : 1));
  }
}

/** Returns the fields of a speaker, dropping a user or picture that doesn't exist in the world. */
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
    ...(isKnown(picture, isUpload, "The picture is not an upload in this world.") && { picture }),
  };
}

interface Stored {
  id: string;
  import_id: string | null;
}

/** Matches a document's entries with stored entries. Each entry is matched at most once. */
class Matched<T extends Stored> {
  readonly #byId = new Map<string, T>();
  readonly #byImportId = new Map<string, T>();
  /** The stored entries by the UUID used in exports, so that re-importing an export changes nothing. */
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

  /**
   * Returns the stored entry that matches, `undefined` if the document's entry is new, or `twice`
   * if the document has already named the entry.
   */
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

  /** Returns the stored entries that are not in the document. */
  rest(): T[] {
    return [...this.#byId.values()].filter((entry) => !this.#taken.has(entry));
  }
}

/** Finds rooms by name, ignoring case, and collects the rooms to create. */
class Rooms {
  readonly created: NewRoom[] = [];
  /** Room ids by normalized name. */
  readonly #byName = new Map<string, string[]>();
  readonly #ids: Set<string>;

  /** What the organizer decided, by normalized name. */
  readonly #chosen: ReadonlyMap<string, NonNullable<ImportChoices["rooms"]>[number]>;
  readonly #models: ReadonlyMap<string, NewRoom>;

  constructor(
    { rooms, models = [] }: PresentProgram,
    private readonly mayCreate: boolean,
    private readonly problems: Problems,
    { rooms: chosen = [] }: ImportChoices = {},
  ) {
    this.#chosen = new Map(chosen.map((choice) => [nameKey(choice.name), choice]));
    this.#models = new Map(models.map((room) => [room.id, room]));
    this.#ids = new Set(rooms.map(({ id }) => id));
    for (const { name, id } of rooms) {
      const key = nameKey(name);
      this.#byName.set(key, [...(this.#byName.get(key) ?? []), id]);
    }
  }

  /**
   * Returns the id of a session's room.
   * @param present the id of the current room. This room is kept if the document names an unknown
   * room, or if several rooms share the name and the current room is one of these rooms.
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
    const name = this.#spelling(room.name);
    const named = this.#byName.get(nameKey(name)) ?? [];
    const [first] = named;
    if (first === undefined) {
      const chosen = this.#chosen.get(nameKey(name));
      if (chosen?.room_id === null) return present;
      if (chosen?.room_id !== undefined && this.#ids.has(chosen.room_id)) return chosen.room_id;
      if (this.mayCreate) return this.#create(name, chosen);
      problem(`There is no room called “${room.name}”.`);
      return present;
    }
    if (named.length > 1) {
      problem(`More than one room is called “${name}”.`);
    }
    return named.find((id) => id === present) ?? first;
  }

  /** Returns the spelling of a missing room's name that the organizer chose. */
  #spelling(name: string): string {
    const key = nameKey(name);
    return (this.#byName.has(key) ? undefined : this.#chosen.get(key)?.same_as) ?? name;
  }

  #create(name: string, { template, like }: { template?: RoomTemplate; like?: string } = {}) {
    const id = randomUUID();
    const model = like === undefined ? undefined : this.#models.get(like);
    this.created.push({
      ...(template && { module_config: roomOf(template, name).module_config }),
      ...model,
      id,
      name: name.trim(),
    });
    this.#byName.set(nameKey(name), [id]);
    return id;
  }
}

/** The problems of an import, in the order in which they were found, up to a limit. */
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
