import { setImmediate } from "node:timers/promises";
import type {
  ImportOptions,
  ImportResult,
  ProgramDocument,
} from "../schemas/documents/program-document.js";
import type { Room } from "../schemas/rooms.js";
import type { Author } from "./contract/author.js";
import type { ImportReferences, Refused } from "./contract/program-store.js";
import type { Store, Versioned } from "./contract/store.js";
import {
  type ImportBasis,
  planChanges,
  referencesIn,
  roomsDigest,
} from "./rules/import-changes.js";

// Imports with a store: what they are planned from, and the whole of one.

type Stores = Pick<Store, "rooms" | "program">;

/** How many rooms are read at once. */
const PAGE = 200;

/** How long records are made ready before others have their turn. */
const SLICE_MS = 10;

/** All rooms of a world in their order, also while others are made or deleted. */
export async function allRooms({ rooms, program }: Stores, world: string): Promise<Room[]> {
  const found = new Map<string, Room>();
  for (let page = 1; ; page++) {
    const part = await rooms.all(world, { page, pageSize: PAGE });
    for (const { value } of part) found.set(value.id, value);
    if (part.length < PAGE) break;
  }
  const whole: Room[] = [];
  for (const { id } of await program.rooms(world)) {
    // A page may have skipped it, as one before it was deleted.
    const room = found.get(id) ?? (await rooms.get(world, id))?.value;
    if (room) whole.push(room);
  }
  return whole;
}

/** Where an import looks, and what of it its author sees. */
export interface ImportSight {
  readonly sees: (room: Room) => boolean;
  /** The hosts under which uploads of the world have addresses, as `URL.host` has them. */
  readonly hosts: readonly string[];
}

/** What an import is planned from. */
export async function basisOf(
  store: Stores,
  world: string,
  named: ImportReferences,
  { sees, hosts }: ImportSight,
): Promise<ImportBasis> {
  const rooms = await allRooms(store, world);
  const { stamp, sessions, speakers, revisions } = await store.program.get(world);
  const known = await store.program.references(world, named, hosts);
  return {
    stamp,
    sessions: await jsonOf(sessions),
    speakers: await jsonOf(speakers),
    revisions,
    rooms: roomsDigest(rooms),
    visible: rooms.filter(sees).map(({ id, name }) => ({ id, name })),
    ...known,
  };
}

async function jsonOf(records: readonly Versioned<object>[]) {
  const texts: string[] = [];
  let began = performance.now();
  for (const { json } of records) {
    texts.push(json);
    if (performance.now() - began < SLICE_MS) continue;
    await setImmediate();
    began = performance.now();
  }
  return texts;
}

/**
 * Makes a program agree with a document, in this thread.
 * @throws {StoreError} `changed` if the world changed meanwhile.
 */
export async function importDocument(
  store: Stores,
  world: string,
  document: ProgramDocument,
  options: ImportOptions,
  sight: ImportSight,
  by?: Author,
): Promise<ImportResult | Refused> {
  const named = referencesIn(document);
  const basis = await basisOf(store, world, named, sight);
  const planned = planChanges(document, basis, options);
  if ("faults" in planned) return planned;
  const { changes, result } = planned;
  if (changes) {
    await store.program.import(world, changes, sight.hosts, undefined, by);
  }
  return result;
}
