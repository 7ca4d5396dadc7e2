import { bind, type LiveModule } from "../../module.js";
import { type RoomPorts, rooms } from "./commands.js";

/** Rooms: who comes and goes, and their settings. */
export const roomModule = (ports: RoomPorts) =>
  ({ bound: bind(rooms, ports) }) satisfies LiveModule;
