import { Failure } from "../../schemas/plain/failure.js";
import { Room } from "../../schemas/rooms.js";
import { compileValidator } from "../../schemas/validate.js";
import { World } from "../../schemas/worlds.js";

const checkWorld = compileValidator(World);
const checkRoom = compileValidator(Room);

/**
 * Reads a world in an answer.
 * @throws {Failure} that names the fields that are wrong, and no values.
 */
export function worldIn(answer: unknown): World {
  demand("world", checkWorld(answer)?.faults);
  return answer as World;
}

/**
 * Reads a room in an answer.
 * @throws {Failure} that names the fields that are wrong, and no values.
 */
export function roomIn(answer: unknown): Room {
  demand("room", checkRoom(answer)?.faults);
  return answer as Room;
}

function demand(what: string, faults: object | undefined): void {
  if (!faults) return;
  throw new Failure(
    `an answer of the HTTP API is no ${what}: ${JSON.stringify(faults)}`,
  );
}
