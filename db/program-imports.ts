import { setImmediate } from "node:timers/promises";
import type {
  ImportOptions,
  ImportResult,
  ProgramDocument,
} from "../schemas/documents/program-document.js";
import type { Room } from "../schemas/rooms.js";
import type { Author } from "./contract/author.js";
import type { ImportReferences, RejectedWrite } from "./contract/program-store.js";
import type { Store, Versioned } from "./contract/store.js";
import {
  type ImportBasis,
  planChanges,
  referencesIn,
  roomsDigest,
} from "./rules/import-changes.js";

// Runs imports against a store: reads the state from which an import is planned, and applies the
// changes.

type Stores = Pick<Store, "rooms" | "program">;

/** Number of rooms per read. */
const PAGE = 200;

/** Maximum time spent preparing records before yielding to the event loop. */
const SLICE_MS = 10;

/** Returns all rooms in a world in order, even if rooms are created or deleted concurrently. */
export async function allRooms({ rooms, program }: Stores, world: string): Promise<Room[]> {
  const found = new Map<string, Room>();
  for (let page = 1; ; page++) {
    const part = await rooms.all(world, { page, pageSize: PAGE });
    for (const { value } of part) found.set(value.id, value);
    if (part.length < PAGE) break;
  }
  const whole: Room[] = [];
  for (const { id } of await program.rooms(world)) {
    // If a room on an earlier page is deleted, pagination skips another room.
    const room = found.get(id) ?? (await rooms.get(world, id))?.value;
    if (room) whole.push(room);
  }
  return whole;
}

/** The rooms visible to an import's author, and the hosts of uploads. */
export interface ImportSight {
  readonly sees: (room: Room) => boolean;
  /** The hosts that serve the world's uploads, in the form of `URL.host`. */
  readonly hosts: readonly string[];
  /** The ids of rooms that new ones shall be like. */
  readonly models?: readonly string[];
}

/** Reads the state from which an import is planned. */
export async function basisOf(
  store: Stores,
  world: string,
  named: ImportReferences,
  { sees, hosts, models = [] }: ImportSight,
): Promise<ImportBasis> {
  const rooms = await allRooms(store, world);
  const visible = rooms.filter(sees);
  const { stamp, sessions, speakers, revisions } = await store.program.get(world);
  const known = await store.program.references(world, named, hosts);
  return {
    stamp,
    sessions: await jsonOf(sessions),
    speakers: await jsonOf(speakers),
    revisions,
    rooms: roomsDigest(rooms),
    visible: visible.map(({ id, name }) => ({ id, name })),
    models: visible
      .filter(({ id }) => models.includes(id))
      .map(({ id, name, module_config, permission_config }) => ({
        ...{ id, name, module_config, permission_config },
      })),
    edits: await store.program.edits(world),
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
 * Updates a program to match a document, in this thread.
 * @throws {StoreError} `changed` if the world was changed concurrently.
 */
export async function importDocument(
  store: Stores,
  world: string,
  document: ProgramDocument,
  options: ImportOptions,
  sight: ImportSight,
  by?: Author,
): Promise<ImportResult | RejectedWrite> {
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
