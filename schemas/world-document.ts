import { Type, type Static } from "@sinclair/typebox";
import type { Faults } from "./errors.js";
import { RoomDraft } from "./rooms.js";
import { compileValidator, InvalidData } from "./validate.js";
import { Expected } from "./plain/texts.js";
import { OneOf, Text } from "./values.js";
import { World } from "./worlds.js";

/** The number of changes. With it, a copy on another server has the same `ETag`. */
const revision = Type.Optional(
  Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER }),
);

const WorldRecord = Type.Object(
  { ...World.properties, revision },
  { additionalProperties: false },
);

/** A room as it is created: without a `domain`, it shows the world's. */
const RoomRecord = Type.Object(
  {
    id: Text({
      pattern: "^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$",
      [Expected]: "a UUID in lower case",
    }),
    ...RoomDraft.properties,
    revision,
  },
  { additionalProperties: false },
);
export type RoomRecord = Static<typeof RoomRecord>;

/** A world with its keys and its rooms, to be moved to another server. */
export interface WorldCopy {
  world: Static<typeof WorldRecord>;
  rooms: RoomRecord[];
}

const FORMAT = "foyer.world";

/**
 * The version of the documents that are written. A new optional field is no new
 * version, because documents of an older Foyer stay valid without it.
 */
const VERSION = 1;

const Head = Type.Object(
  { format: OneOf(FORMAT), version: Type.Integer({ minimum: 1 }) },
  { additionalProperties: false },
);

const checkHead = compileValidator(Head);
const checkWorld = compileValidator(WorldRecord);
const checkRoom = compileValidator(RoomRecord);

/** The document of a world with its keys and rooms. */
export const toWorldDocument = (copy: WorldCopy) => ({
  format: FORMAT,
  version: VERSION,
  ...copy,
});

/**
 * Reads a document of this version or an older one.
 * @throws {InvalidData} with the same messages as the API.
 */
export function readWorldDocument(document: unknown): WorldCopy {
  if (!isObject(document)) throw checkHead(document)!;
  const { world, rooms, ...head } = document;
  if (Number(head.version) > VERSION) {
    throw new InvalidData({
      version: [`Must be at most ${VERSION}: use a newer Foyer.`],
    });
  }
  const faults: Faults = {};
  // Each part is checked by itself, so that the limits are those of the API.
  const note = (path: string, found: InvalidData | undefined) => {
    for (const [field, messages] of Object.entries(found?.faults ?? {})) {
      const whole = field === "non_field_errors";
      faults[whole ? path : `${path}.${field}`.replace(/^\./, "")] = messages;
    }
  };
  note("", checkHead(head));
  note("world", checkWorld(world ?? null));
  if (!Array.isArray(rooms)) faults.rooms = ["Must be a list."];
  else rooms.forEach((room, i) => note(`rooms.${i}`, checkRoom(room)));
  if (Object.keys(faults).length > 0) throw new InvalidData(faults);
  return { world, rooms } as WorldCopy;
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);
