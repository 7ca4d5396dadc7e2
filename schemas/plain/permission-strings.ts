import { type PermissionKey, permissionKeys } from "./permissions.js";

// The strings by which clients see a user's permissions.

/** The strings that stand for a key, in the lists of the world and of a room. */
export interface PermissionStrings {
  readonly world?: readonly string[];
  readonly room?: string;
}

/** An administrative key of a room, which the list of the world names as well. */
const both = (string: string): PermissionStrings => ({
  world: [string],
  room: string,
});

/** The strings of each key. Keys without any are not listed. */
export const permissionStrings: Partial<
  Record<PermissionKey, PermissionStrings>
> = {
  "world.view": { world: ["world:view"] },
  "chat.direct": { world: ["world:chat.direct"] },
  "room.view": { room: "room:view" },
  "chat.read": { room: "room:chat.read" },
  "chat.join": { room: "room:chat.join" },
  "chat.send": { room: "room:chat.send" },
  "question.read": { room: "room:question.read" },
  "question.ask": { room: "room:question.ask" },
  "question.vote": { room: "room:question.vote" },
  "poll.read": { room: "room:poll.read" },
  "poll.vote": { room: "room:poll.vote" },
  "chat.moderate": both("room:chat.moderate"),
  "question.moderate": both("room:question.moderate"),
  "poll.manage": both("room:poll.manage"),
  "poll.results": both("room:poll.early_results"),
  "room.viewers": both("room:viewers"),
  "room.announce": both("room:announce"),
  "room.update": both("room:update"),
  "room.delete": both("room:delete"),
  "world.announce": { world: ["world:announce"] },
  "room.create": {
    world: ["world:rooms.create.stage", "world:rooms.create.chat"],
  },
  "world.update": { world: ["world:update"] },
  "user.list": { world: ["world:users.list"] },
  "user.manage": { world: ["world:users.manage"] },
  "world.connections": { world: ["world:connections.unlimited"] },
  "world.secrets": { world: ["world:secrets"] },
  "world.api": { world: ["world:api"] },
};

/** The keys that a room may have rules of its own for. The others count on the world only. */
export const roomKeys: readonly PermissionKey[] = permissionKeys.filter(
  (key) => permissionStrings[key]?.room,
);
