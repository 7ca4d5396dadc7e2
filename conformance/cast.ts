// A row's users and connections, and their rights.

import {
  fallbackOf,
  type PermissionKey,
  permissionKeys,
  roomKeys,
} from "../schemas/plain/permissions.js";

/** The roles that a row's caller can have. */
export type Role = "member" | "moderator" | "admin";

/** Whether chat moderators hold a key by default. */
const isModerated = (key: PermissionKey): boolean => {
  if (key === "chat.moderate") return true;
  const otherwise = fallbackOf(key);
  return otherwise !== "everybody" && otherwise !== "nobody" && isModerated(otherwise);
};
const isOpen = (key: PermissionKey) => fallbackOf(key) === "everybody";
const isOfRoom = (key: PermissionKey) => roomKeys.includes(key);

// The default rights of all users in the world, of all users in the room, and of moderators. These
// lists match the list in `test/protocol/live/live-rights.test.ts`.
const inWorld = permissionKeys.filter((key) => isOpen(key) && !isOfRoom(key));
const inRoom = roomKeys.filter(isOpen);
const moderated = roomKeys.filter(isModerated);
const silencedIn = ["room.view", "chat.read", "chat.join"].concat(
  "question.read",
  "poll.read",
  "call.join",
);

interface Rights {
  /** The keys held on the world; `all` for every key. */
  world: readonly string[] | "all";
  /** The keys held in the room; `all` for every key. */
  room: readonly string[] | "all";
}

const rightsOf: Record<Role | "silenced" | "outsider", Rights> = {
  member: { world: inWorld, room: inRoom },
  moderator: { world: inWorld, room: [...inRoom, ...moderated] },
  admin: { world: "all", room: "all" },
  silenced: { world: ["world.view", "program.read"], room: silencedIn },
  outsider: { world: inWorld, room: [] },
};

interface Part {
  rights?: Rights;
  traits: readonly string[];
  /** Whether the connection has entered the room, subscribed to its channel, and listed its questions and polls. */
  enters?: true;
  /** Whether the user is a member of the room's channel. */
  joined?: true;
  state?: "silenced" | "banned";
}

/** The connections that observe a row, besides the caller's two connections. */
export const others = {
  /** Another user in the room. */
  neighbor: { rights: rightsOf.member, traits: ["inside"], enters: true, joined: true },
  /** A member of the room's channel who is in another room. */
  elsewhere: { rights: rightsOf.member, traits: ["inside"], joined: true },
  moderator: {
    rights: rightsOf.moderator,
    traits: ["inside", "moderator"],
    enters: true,
    joined: true,
  },
  /** A silenced user who would otherwise have all permissions. */
  silenced: {
    rights: rightsOf.silenced,
    traits: ["inside", "moderator", "admin", "api"],
    enters: true,
    joined: true,
    state: "silenced",
  },
  /** A user who cannot see the room. */
  outsider: { rights: rightsOf.outsider, traits: [] },
  /** An administrator of another world. */
  foreigner: { traits: ["inside", "moderator", "admin", "api"] },
  /** A banned user, whose login is refused. */
  banned: { traits: ["inside", "moderator", "admin", "api"], state: "banned" },
  /** A connection that has not logged in. */
  stranger: { traits: [] },
} as const satisfies Record<string, Part>;

export type Other = keyof typeof others;
/** A connection that may observe a row: one of the caller's two connections, or one of {@link others}. */
export type Audience = "me" | "second" | Other;
/** A user of the world. */
export type Person = "me" | Exclude<Other, "foreigner" | "stranger">;

export const partOf = (name: Other): Part => others[name];
export const otherNames = Object.keys(others) as Other[];
export const audiences: readonly Audience[] = ["me", "second", ...otherNames];

/** Names for groups of audiences. */
const groups: Record<string, readonly Audience[]> = {
  mine: ["me", "second"],
  room: ["me", "second", "neighbor", "moderator", "silenced"],
  world: [
    "me",
    "second",
    "neighbor",
    "moderator",
    "silenced",
    "elsewhere",
    "outsider",
  ] as Audience[],
};

/**
 * Parses a list of audiences and groups. For example, `room -me` stands for everybody in the room
 * except the caller's first connection.
 */
export function audienceOf(words: string): Set<Audience> {
  const found = new Set<Audience>();
  for (const word of words.split(" ").filter(Boolean)) {
    const isLess = word.startsWith("-");
    const name = isLess ? word.slice(1) : word;
    const named = groups[name] ?? [name as Audience];
    for (const audience of named) {
      if (!audiences.includes(audience)) {
        throw new Error(`There is no audience ${audience}.`);
      }
      if (isLess) found.delete(audience);
      else found.add(audience);
    }
  }
  return found;
}

/** Returns the traits of a caller with the given role. */
export const traitsOf = (role: Role): string[] =>
  role === "member" ? ["inside"] : ["inside", role, ...(role === "admin" ? ["api"] : [])];

/** Whether an audience holds a key, in the room or on the world. */
export function holds(name: Other | Role, where: "world" | "room", key: string): boolean {
  const rights = name in others ? partOf(name as Other).rights : rightsOf[name as Role];
  const keys = rights?.[where] ?? [];
  return keys === "all" || keys.includes(key);
}
