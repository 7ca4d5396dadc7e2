import { bind, type LiveModule } from "../../module.js";
import { type RoomPorts, rooms } from "./commands.js";

/** Rooms: viewers and settings. */
export const roomModule = (ports: RoomPorts) =>
  ({ bound: bind(rooms, ports) }) satisfies LiveModule;
