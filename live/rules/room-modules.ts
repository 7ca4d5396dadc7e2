import type { RoomValue } from "../../db/contract/store.js";

// The settings of the modules of a room.

/** Whether a room has a module of a type. */
export const hasModule = (
  { module_config }: RoomValue,
  type: string,
): boolean => module_config.some((module) => module.type === type);

/** The settings of the first module of a type; none if there is no such module. */
export function configOf(
  { module_config }: RoomValue,
  type: string,
): Record<string, unknown> {
  const module = module_config.find((module) => module.type === type);
  return (module?.config ?? {}) as Record<string, unknown>;
}

/** Whether memberships in the chat of a room last only as long as a subscription. */
export const isVolatile = (room: RoomValue): boolean =>
  configOf(room, "chat.native").volatile === true;
