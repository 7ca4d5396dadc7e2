import type { FastifyRequest } from "fastify";
import { allRooms } from "../db/program-imports.js";
import { isRoleOutOfReach } from "../schemas/plain/invitations.js";
import { may, type PermissionConfig, type PermissionKey } from "../schemas/plain/permissions.js";

/**
 * Returns a function that tells whether the caller is forbidden to assign a role or to act on the
 * people who have it: the role includes rights that the caller lacks, in the event or in one of its
 * rooms.
 */
export async function reachOf(request: FastifyRequest): Promise<(role: string) => boolean> {
  const { caller, server } = request;
  const world = request.world!.value;
  const has = (key: PermissionKey, rules?: PermissionConfig) =>
    may(caller, [key], { world, room: rules && { permission_config: rules } });
  const rooms = has("world.update") ? [] : await allRooms(server.store, world.id);
  const ruled = rooms
    .map(({ permission_config }) => permission_config)
    .filter((rules) => Object.keys(rules).length > 0);
  return (role) => isRoleOutOfReach(role, world.permission_config, ruled, has);
}
