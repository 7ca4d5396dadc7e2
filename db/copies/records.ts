import type { RoomRecord, WorldCopy } from "../../schemas/documents/world-document.js";
import { ownExtras, type OwnRoomRow, toRoom } from "../rules/room-rows.js";
import { toWorld, type WorldRow } from "../rules/rows.js";

// Rows of a document that the store creates as it creates others, with all that follows from them.

/** The world in a row. */
export const worldIn = (row: WorldRow): WorldCopy["world"] => ({
  ...toWorld(row),
  revision: row.revision,
});

/** The room in a row. */
export function roomIn(row: object): RoomRecord {
  const { domain, ...rest } = row as OwnRoomRow;
  return {
    ...toRoom({ ...rest, domain: domain ?? "" }),
    domain: domain ?? undefined,
    ...ownExtras(rest.extras),
    revision: rest.revision,
  };
}
