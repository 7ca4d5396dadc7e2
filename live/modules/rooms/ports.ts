import type { RoomStore, UserStore } from "../../../db/contract/store.js";
import type { Clock } from "../../../db/runtime.js";
import type { Doors } from "../../people/doors.js";
import type { Presence } from "../../people/presence.js";
import type { Rates } from "../../people/rates.js";

/** The ports of the commands about rooms. */
export interface RoomPorts {
  readonly clock: Clock;
  readonly store: { readonly rooms: RoomStore; readonly users: UserStore };
  readonly rates: Rates;
  readonly doors: Doors;
  readonly presence: Presence;
  /** Counts a reaction in a room. */
  readonly react: (world: string, room: string, user: string, emoji: string) => void;
}
