import type { Room } from "../rooms.js";
import type { PermissionConfig, Rule } from "../rules.js";
import type { World } from "../worlds.js";

// Rights: rules and traits, and nothing of any transport.

export type { PermissionConfig, Rule };

/** The strings that stand for a key in the lists that clients get. */
export interface PermissionStrings {
  /** Those in the list of the world. */
  readonly world?: readonly string[];
  /** The one in the list of a room. Keys without it count on the world only. */
  readonly room?: string;
}

interface Declared extends PermissionStrings {
  /** Whether everybody has it by default. All other keys fail closed. */
  open?: true;
  /** The key whose rule counts if neither the room nor the world has one for this key. */
  otherwise?: string;
}

/** An administrative key of a room, which the list of the world names as well. */
const both = (string: string): PermissionStrings => ({ world: [string], room: string });

/**
 * The keys that the server itself checks, their defaults without a rule, and the strings by
 * which clients see them. Worlds and rooms may have others.
 */
const keys = {
  "world.view": { open: true, world: ["world:view"] },
  "room.view": { open: true, room: "room:view" },
  "file.upload": { open: true },
  "chat.read": { open: true, room: "room:chat.read" },
  "chat.join": { open: true, room: "room:chat.join" },
  "chat.send": { open: true, room: "room:chat.send" },
  "chat.direct": { open: true, world: ["world:chat.direct"] },
  "question.read": { open: true, room: "room:question.read" },
  "question.ask": { open: true, room: "room:question.ask" },
  "question.vote": { open: true, room: "room:question.vote" },
  "poll.read": { open: true, room: "room:poll.read" },
  "poll.vote": { open: true, room: "room:poll.vote" },
  "program.read": { open: true },
  "chat.moderate": both("room:chat.moderate"),
  "question.moderate": { otherwise: "chat.moderate", ...both("room:question.moderate") },
  "poll.manage": { otherwise: "chat.moderate", ...both("room:poll.manage") },
  "poll.results": { otherwise: "poll.manage", ...both("room:poll.early_results") },
  "room.viewers": { otherwise: "chat.moderate", ...both("room:viewers") },
  // It counts only where a module of the room takes people without a name.
  "room.invite": { otherwise: "room.update", room: "room:invite.anonymous" },
  "room.announce": both("room:announce"),
  "world.announce": { world: ["world:announce"] },
  "room.create": { world: ["world:rooms.create.stage", "world:rooms.create.chat"] },
  "room.update": both("room:update"),
  "room.delete": both("room:delete"),
  "program.update": { otherwise: "room.update" },
  "world.update": { world: ["world:update"] },
  "user.list": { otherwise: "world.update", world: ["world:users.list"] },
  "user.manage": { otherwise: "chat.moderate", world: ["world:users.manage"] },
  "user.delete": { otherwise: "world.update" },
  "world.connections": { otherwise: "world.update", world: ["world:connections.unlimited"] },
  "world.secrets": { world: ["world:secrets"] },
  "world.feed": { otherwise: "world.secrets", world: ["world:feed"] },
  "world.api": { world: ["world:api"] },
} satisfies Record<string, Declared>;

export type PermissionKey = keyof typeof keys;

/** All keys that the server asks for. */
export const permissionKeys = Object.keys(keys) as PermissionKey[];

/** The strings of each key. */
export const permissionStrings: Readonly<Record<PermissionKey, Declared>> = keys;

/** The keys that a room may have rules of its own for. The others count on the world only. */
export const roomKeys: readonly PermissionKey[] = permissionKeys.filter(
  (key) => permissionStrings[key].room,
);

/** The default of a key without a rule: everybody, nobody, or the rule of another key. */
export function fallbackOf(key: PermissionKey): "everybody" | "nobody" | PermissionKey {
  const { open, otherwise }: Declared = keys[key];
  return (otherwise as PermissionKey) ?? (open ? "everybody" : "nobody");
}

/** What each key permits, in the languages of the pages. */
export const permissionTitles: Readonly<
  Record<PermissionKey, Readonly<Record<"en" | "de", string>>>
> = {
  "world.view": { en: "Enter the event", de: "Die Veranstaltung betreten" },
  "room.view": { en: "See and enter a room", de: "Einen Raum sehen und betreten" },
  "file.upload": { en: "Upload files", de: "Dateien hochladen" },
  "chat.read": { en: "Read the chat", de: "Den Chat lesen" },
  "chat.join": { en: "Join the chat", de: "Dem Chat beitreten" },
  "chat.send": { en: "Write in the chat", de: "Im Chat schreiben" },
  "chat.direct": { en: "Write direct messages", de: "Direktnachrichten schreiben" },
  "question.read": { en: "See questions", de: "Fragen sehen" },
  "question.ask": { en: "Ask questions", de: "Fragen stellen" },
  "question.vote": { en: "Vote for questions", de: "Für Fragen stimmen" },
  "poll.read": { en: "See polls", de: "Umfragen sehen" },
  "poll.vote": { en: "Vote in polls", de: "An Umfragen teilnehmen" },
  "program.read": { en: "Read the program", de: "Das Programm sehen" },
  "chat.moderate": { en: "Delete others’ messages", de: "Nachrichten anderer löschen" },
  "question.moderate": { en: "Moderate questions", de: "Fragen moderieren" },
  "poll.manage": { en: "Run polls", de: "Umfragen leiten" },
  "poll.results": { en: "See results before voting", de: "Ergebnisse vor der Abstimmung sehen" },
  "room.viewers": { en: "See who is in a room", de: "Sehen, wer in einem Raum ist" },
  "room.invite": { en: "Make links for people without a name", de: "Links ohne Namen erstellen" },
  "room.announce": { en: "Change a room’s schedule", de: "Den Ablauf eines Raums ändern" },
  "world.announce": { en: "Make announcements", de: "Ankündigungen machen" },
  "room.create": { en: "Create rooms", de: "Räume anlegen" },
  "room.update": { en: "Edit rooms", de: "Räume bearbeiten" },
  "room.delete": { en: "Delete rooms", de: "Räume löschen" },
  "program.update": { en: "Change the program", de: "Das Programm ändern" },
  "world.update": { en: "Edit the event", de: "Die Veranstaltung bearbeiten" },
  "user.list": { en: "List and search people", de: "Personen auflisten und suchen" },
  "user.manage": { en: "Silence and ban people", de: "Personen stummschalten und ausschließen" },
  "user.delete": { en: "Erase people", de: "Personendaten löschen" },
  "world.connections": {
    en: "Open any number of connections",
    de: "Beliebig viele Verbindungen öffnen",
  },
  "world.secrets": { en: "See the keys of the event", de: "Die Schlüssel der Veranstaltung sehen" },
  "world.feed": {
    en: "Follow all changes, and read the history",
    de: "Alle Änderungen verfolgen und den Verlauf lesen",
  },
  "world.api": { en: "Use the HTTP API", de: "Die HTTP-API verwenden" },
};

/** The rules of a new world, which are the defaults of Venueless. */
export const defaultPermissionConfig: PermissionConfig = {
  "world.update": ["admin"],
  "world.secrets": ["admin", "api"],
  "world.announce": ["admin"],
  "world.api": ["admin", "api"],
  "room.create": ["admin"],
  "room.announce": ["admin"],
  "room.update": ["admin"],
  "room.delete": ["admin"],
  "chat.moderate": ["admin"],
};

/**
 * The rules by which the role Moderator moderates, in events that begin with a template. All other
 * rights of moderation follow from `chat.moderate`.
 */
export const moderatorRules: PermissionConfig = {
  "chat.moderate": [["admin", "moderator"]],
  "world.announce": [["admin", "moderator"]],
};

/** Whether a rule holds for these traits: every entry must, and of a list one trait is enough. */
export function holds(rule: Rule, traits: ReadonlySet<string>): boolean {
  return rule.every((entry) =>
    typeof entry === "string" ? traits.has(entry) : entry.some((trait) => traits.has(trait)),
  );
}

/**
 * Whether these traits grant a key.
 * @param world the rules of the world.
 * @param room the rules of a room in it, which take precedence.
 */
export function allows(
  key: PermissionKey,
  traits: ReadonlySet<string>,
  world: PermissionConfig,
  room?: PermissionConfig,
): boolean {
  const rule = room?.[key] ?? world[key];
  if (rule) return holds(rule, traits);
  // A key of an embedder denies without a rule.
  const { open, otherwise }: Partial<Declared> = declaredOf(key) ?? {};
  return otherwise === undefined
    ? open === true
    : allows(otherwise as PermissionKey, traits, world, room);
}

const declaredOf = (key: string): Declared | undefined =>
  Object.hasOwn(keys, key) ? keys[key as PermissionKey] : undefined;

/**
 * Whether these traits grant a key in the live layer, which also requires `world.view`, and
 * `room.view` if there is a room.
 */
export const grants = (
  key: PermissionKey,
  traits: ReadonlySet<string>,
  world: PermissionConfig,
  room?: PermissionConfig,
): boolean =>
  allows("world.view", traits, world) &&
  (!room || allows("room.view", traits, world, room)) &&
  allows(key, traits, world, room);

/** The keys for every call of `/api/v1/`. */
export const CALL: readonly PermissionKey[] = ["world.api"];

/** The keys for seeing a room, alone or in a list. */
export const SEE: readonly PermissionKey[] = ["room.view"];

/** The keys for what users do on the websocket, and hosts by a call. */
export const LIVE: readonly PermissionKey[] = ["world.view"];

/** The keys of the people who run an event. Only their equals decide about them. */
export const RUNNING: readonly PermissionKey[] = ["world.secrets", "world.update", "user.manage"];

/**
 * Whether a user is out of reach for a caller: the user's traits grant a key of those who run the
 * event, and the caller lacks this key.
 * @param may whether the caller has a key.
 */
export const isOutOfReach = (
  traits: readonly string[],
  world: PermissionConfig,
  may: (key: PermissionKey) => boolean,
): boolean => RUNNING.some((key) => !may(key) && allows(key, new Set(traits), world));

/** The keys that silenced users keep. */
const SILENCED: ReadonlySet<PermissionKey> = new Set<PermissionKey>([
  "world.view",
  "room.view",
  "chat.read",
  "chat.join",
  "question.read",
  "poll.read",
  "program.read",
]);

/** Whether moderation takes a key away from a user. */
export const isWithheld = (state: "" | "silenced" | "banned", key: PermissionKey): boolean =>
  state === "banned" || (state === "silenced" && !SILENCED.has(key));

/**
 * The rights of a link of its own kind, whatever the rules say: of a person in the hall, who
 * has come without a name to one room; or of a screen, which only looks, at one room or at what
 * guests may see.
 */
export type Scope =
  | {
      readonly kind: "anonymous";
      readonly room: string;
      /** Of the link. */
      readonly token: string;
    }
  | { readonly kind: "kiosk"; readonly room: string | undefined };

/** The keys that each kind has in its room. */
const scoped: Readonly<Record<Scope["kind"], ReadonlySet<PermissionKey>>> = {
  anonymous: new Set<PermissionKey>([
    "room.view",
    "question.read",
    "question.ask",
    "question.vote",
    "poll.read",
    "poll.vote",
  ]),
  kiosk: new Set<PermissionKey>([
    "room.view",
    "chat.read",
    "question.read",
    "poll.read",
    // A screen has no vote, and shows how others voted.
    "poll.results",
    // It shows how people in the hall take part.
    "room.invite",
  ]),
};

const NO_TRAITS: ReadonlySet<string> = new Set();

/** Whether a scope grants a key. @param room the room in question; undefined for the world. */
export function inScope(
  scope: Scope,
  key: PermissionKey,
  world: PermissionConfig,
  room?: { readonly id: string; readonly permission_config: PermissionConfig },
): boolean {
  if (!room) {
    if (key === "world.view") return true;
    const isProgram = scope.kind === "kiosk" && key === "program.read";
    return isProgram && allows(key, NO_TRAITS, world);
  }
  if (!scoped[scope.kind].has(key)) return false;
  if (scope.room !== undefined) return scope.room === room.id;
  const rules = [world, room.permission_config] as const;
  return allows("room.view", NO_TRAITS, ...rules) && allows(key, NO_TRAITS, ...rules);
}

/** The keys for an upload. */
export const UPLOAD: readonly PermissionKey[] = ["world.view", "file.upload"];

/** The objects whose rules apply: first the room, if there is one. */
export interface Place {
  readonly world: Pick<World, "permission_config">;
  readonly room?: Pick<Room, "permission_config"> | undefined;
}

/**
 * Whether a user has all of `keys`.
 * @param who only their traits count.
 */
export function may(
  who: { readonly traits: ReadonlySet<string> },
  keys: readonly PermissionKey[],
  { world, room }: Place,
): boolean {
  const ofWorld = world.permission_config;
  const ofRoom = room?.permission_config;
  for (const key of keys) {
    if (!allows(key, who.traits, ofWorld, ofRoom)) return false;
  }
  return true;
}
