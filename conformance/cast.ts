// The users and connections of a row, and their rights.

import {
  fallbackOf,
  type PermissionKey,
  permissionKeys,
  roomKeys,
} from "../schemas/plain/permissions.js";

/** The rights that a caller may come with. */
export type Role = "member" | "moderator" | "admin";

/** Whether the moderators of a chat have a key by default. */
const isModerated = (key: PermissionKey): boolean => {
  if (key === "chat.moderate") return true;
  const otherwise = fallbackOf(key);
  return otherwise !== "everybody" && otherwise !== "nobody" && isModerated(otherwise);
};
const isOpen = (key: PermissionKey) => fallbackOf(key) === "everybody";
const isOfRoom = (key: PermissionKey) => roomKeys.includes(key);

// The rights of all users in the world and in the room, and of moderators: the defaults, which
// `test/protocol/live/live-rights.test.ts` lists.
const inWorld = permissionKeys.filter((key) => isOpen(key) && !isOfRoom(key));
const inRoom = roomKeys.filter(isOpen);
const moderated = roomKeys.filter(isModerated);
const silencedIn = ["room.view", "chat.read", "chat.join"].concat("question.read", "poll.read");

interface Rights {
  /** The keys that they hold on the world; `all` for every key. */
  world: readonly string[] | "all";
  /** The keys that they hold in the room. */
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
  /** They entered the room, subscribed to its channel, and listed its questions and polls. */
  enters?: true;
  /** They are members of the room's channel. */
  joined?: true;
  state?: "silenced" | "banned";
}

/** Each connection that watches a row, except the two of the caller. */
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
  /** A silenced user, who has every right otherwise. */
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
  /** A connection that did not log in. */
  stranger: { traits: [] },
} as const satisfies Record<string, Part>;

export type Other = keyof typeof others;
/** The audiences without a place in the world. */
export type Audience = "me" | "second" | Other;
/** A user of the world. */
export type Person = "me" | Exclude<Other, "foreigner" | "stranger">;

export const partOf = (name: Other): Part => others[name];
export const otherNames = Object.keys(others) as Other[];
export const audiences: readonly Audience[] = ["me", "second", ...otherNames];

/** Words for several audiences at once. */
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
 * The audiences that some words name: `room -me` is all in the room but the caller's
 * own connection.
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

/** The traits of a caller. */
export const traitsOf = (role: Role): string[] =>
  role === "member" ? ["inside"] : ["inside", role, ...(role === "admin" ? ["api"] : [])];

/** Whether an audience holds a key, in the room or on the world. */
export function holds(name: Other | Role, where: "world" | "room", key: string): boolean {
  const rights = name in others ? partOf(name as Other).rights : rightsOf[name as Role];
  const keys = rights?.[where] ?? [];
  return keys === "all" || keys.includes(key);
}
