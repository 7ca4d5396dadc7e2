// The parts of a stage for the page of a room.
//
// - `visit(session.live, room.id)` enters a room and gives `{ visit, release }`; `release`
//   leaves it. All parts of the page share one stay, so nothing else calls `room.enter`.
// - Reactions.svelte, loaded when there is a stage, stands right below the stage, if `hasLivestream(room)`:
//   reactions float over the stage.
//
// The viewers are a panel: modules/people.
import type { SentRoom } from "../../../client/index.js";

export { visit, type Presence, type Visit } from "../../state/viewers.js";

/** Whether modules of a type fill a Stage.svelte. */
export const isLivestream = (type: string): boolean => type.startsWith("livestream.");

/** Whether a room shows something that people may want to react to. */
export const hasLivestream = (room: SentRoom): boolean =>
  room.modules.some(({ type }) => isLivestream(type));
