import { bind, type LiveModule } from "../../module.js";
import { rooms } from "./commands.js";
import type { RoomPorts } from "./ports.js";
import { invites, type InvitePorts } from "./invites.js";

/** Rooms: viewers and settings. */
export const roomModule = (ports: RoomPorts & InvitePorts) =>
  ({ bound: bind({ ...rooms, ...invites }, ports) }) satisfies LiveModule;
