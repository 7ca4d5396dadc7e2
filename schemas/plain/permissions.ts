import type { PermissionConfig, Rule } from "../rules.js";

// Permissions based on rules and traits, independent of any transport.

export type { PermissionConfig, Rule };

/** The strings that represent a key in the permission lists sent to clients. */
export interface PermissionStrings {
  /** The strings in the world's list. */
  readonly world?: readonly string[];
  /** The string in a room's list. Keys without such a string apply to the world only. */
  readonly room?: string;
  /** The string in the lists of rooms with BigBlueButton. Defaults to `room`. */
  readonly bbb?: string;
}

interface Declared extends PermissionStrings {
  /** Whether everybody holds the key by default. */
  open?: true;
  /** The key whose rule applies if neither the room nor the world has a rule for this key. */
  otherwise?: string;
}

/** An administrative room key that also appears in the world's list. */
const both = (string: string): PermissionStrings => ({ world: [string], room: string });

/**
 * The keys that the server itself checks, with their defaults and the strings that clients receive.
 * Worlds and rooms may also have rules for keys that are not listed here.
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
  "session.rate": { open: true },
  "call.join": { open: true, room: "room:call.join", bbb: "room:bbb.join" },
  // On a stage, this key takes effect only for people who were invited to the stage.
  "call.speak": { open: true, room: "room:call.speak" },
  "chat.moderate": both("room:chat.moderate"),
  "question.moderate": { otherwise: "chat.moderate", ...both("room:question.moderate") },
  "poll.manage": { otherwise: "chat.moderate", ...both("room:poll.manage") },
  "poll.results": { otherwise: "poll.manage", ...both("room:poll.early_results") },
  "call.moderate": {
    otherwise: "chat.moderate",
    ...both("room:call.moderate"),
    bbb: "room:bbb.moderate",
  },
  "call.recordings": { otherwise: "call.moderate", ...both("room:bbb.recordings") },
  "room.viewers": { otherwise: "chat.moderate", ...both("room:viewers") },
  // Applies only if one of the room's modules admits people without a name.
  "room.invite": { otherwise: "room.update", room: "room:invite.anonymous" },
  "room.announce": both("room:announce"),
  "world.announce": { world: ["world:announce"] },
  "room.create": { world: ["world:rooms.create.stage", "world:rooms.create.chat"] },
  "room.update": both("room:update"),
  "room.delete": both("room:delete"),
  "room.caption": { otherwise: "room.update", ...both("room:caption") },
  "program.update": { otherwise: "room.update" },
  "world.update": { world: ["world:update"] },
  // Enters an event that is not open to others.
  "world.preview": { otherwise: "world.update" },
  "user.list": { otherwise: "world.update", world: ["world:users.list"] },
  "user.manage": { otherwise: "chat.moderate", world: ["world:users.manage"] },
  "user.delete": { otherwise: "world.update" },
  "user.invite": { otherwise: "world.update", world: ["world:users.invite"] },
  "world.connections": { otherwise: "world.update", world: ["world:connections.unlimited"] },
  "world.secrets": { world: ["world:secrets"] },
  "world.feed": { otherwise: "world.secrets", world: ["world:feed"] },
  "world.api": { world: ["world:api"] },
} satisfies Record<string, Declared>;

export type PermissionKey = keyof typeof keys;

/** All keys that the server checks. */
export const permissionKeys = Object.keys(keys) as PermissionKey[];

/** The declaration of each key, with its strings. */
export const permissionStrings: Readonly<Record<PermissionKey, Declared>> = keys;

/** The keys that a room can override with its own rules. All other keys apply to the world only. */
export const roomKeys: readonly PermissionKey[] = permissionKeys.filter(
  (key) => permissionStrings[key].room,
);

/** Returns who holds a key without a rule: everybody, nobody, or the holders of another key. */
export function fallbackOf(key: PermissionKey): "everybody" | "nobody" | PermissionKey {
  const { open, otherwise }: Declared = keys[key];
  return (otherwise as PermissionKey) ?? (open ? "everybody" : "nobody");
}

/** The label of each key, in the pages' languages. */
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
  "session.rate": { en: "Rate sessions", de: "Programmpunkte bewerten" },
  "call.join": { en: "Join calls", de: "An Gesprächen teilnehmen" },
  "call.speak": { en: "Speak in calls", de: "In Gesprächen sprechen" },
  "chat.moderate": { en: "Delete others’ messages", de: "Nachrichten anderer löschen" },
  "question.moderate": { en: "Moderate questions", de: "Fragen moderieren" },
  "poll.manage": { en: "Run polls", de: "Umfragen leiten" },
  "poll.results": { en: "See results before voting", de: "Ergebnisse vor der Abstimmung sehen" },
  "call.moderate": { en: "Moderate calls", de: "Gespräche moderieren" },
  "call.recordings": { en: "See recordings of calls", de: "Aufzeichnungen von Gesprächen sehen" },
  "room.viewers": { en: "See who is in a room", de: "Sehen, wer in einem Raum ist" },
  "room.invite": { en: "Make links for people without a name", de: "Links ohne Namen erstellen" },
  "room.announce": { en: "Change a room’s schedule", de: "Den Ablauf eines Raums ändern" },
  "world.announce": { en: "Make announcements", de: "Ankündigungen machen" },
  "room.create": { en: "Create rooms", de: "Räume anlegen" },
  "room.update": { en: "Edit rooms", de: "Räume bearbeiten" },
  "room.delete": { en: "Delete rooms", de: "Räume löschen" },
  "room.caption": { en: "Send captions to rooms", de: "Untertitel in Räume senden" },
  "program.update": { en: "Change the program", de: "Das Programm ändern" },
  "world.update": { en: "Edit the event", de: "Die Veranstaltung bearbeiten" },
  "world.preview": {
    en: "Enter before the event is open, and after it",
    de: "Die Veranstaltung betreten, auch wenn sie nicht offen ist",
  },
  "user.list": { en: "List and search people", de: "Personen auflisten und suchen" },
  "user.manage": { en: "Silence and ban people", de: "Personen stummschalten und ausschließen" },
  "user.delete": { en: "Erase people", de: "Personendaten löschen" },
  "user.invite": { en: "Invite people", de: "Personen einladen" },
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

/** A new world's rules, which are the same as Venueless's defaults. */
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
 * The rules for the Moderator role, in events created from a template. All other moderation rights
 * follow from `chat.moderate`.
 */
export const moderatorRules: PermissionConfig = {
  "chat.moderate": [["admin", "moderator"]],
  "world.announce": [["admin", "moderator"]],
};

/**
 * Whether a rule holds for these traits. Every entry must hold. A list of traits holds if any trait
 * in the list matches.
 */
export function holds(rule: Rule, traits: ReadonlySet<string>): boolean {
  return rule.every((entry) =>
    typeof entry === "string" ? traits.has(entry) : entry.some((trait) => traits.has(trait)),
  );
}

/**
 * Whether these traits grant a key.
 * @param world the world's rules.
 * @param room a room's rules, which take precedence.
 */
export function allows(
  key: PermissionKey,
  traits: ReadonlySet<string>,
  world: PermissionConfig,
  room?: PermissionConfig,
): boolean {
  const rule = room?.[key] ?? world[key];
  if (rule) return holds(rule, traits);
  // Keys that an embedder defines are denied without a rule.
  const { open, otherwise }: Partial<Declared> = declaredOf(key) ?? {};
  return otherwise === undefined
    ? open === true
    : allows(otherwise as PermissionKey, traits, world, room);
}

const declaredOf = (key: string): Declared | undefined =>
  Object.hasOwn(keys, key) ? keys[key as PermissionKey] : undefined;

/**
 * Whether these traits grant a key in the live layer, which also requires `world.view`, and
 * `room.view` in a room.
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

/** The keys required for every call to `/api/v1/`. */
export const CALL: readonly PermissionKey[] = ["world.api"];

/** The keys required to see a room, alone or in a list. */
export const SEE: readonly PermissionKey[] = ["room.view"];

/** The keys required for user actions over the websocket, and for hosts' calls over HTTP. */
export const LIVE: readonly PermissionKey[] = ["world.view"];

/** The keys of the people who run an event. A caller needs the same keys to act on these people. */
export const RUNNING: readonly PermissionKey[] = ["world.secrets", "world.update", "user.manage"];

/**
 * Whether a caller may not act on a user, because the user holds a key for running the event that
 * the caller lacks.
 * @param may whether the caller holds a key.
 */
export const isOutOfReach = (
  traits: readonly string[],
  world: PermissionConfig,
  may: (key: PermissionKey) => boolean,
): boolean => RUNNING.some((key) => !may(key) && allows(key, new Set(traits), world));

/** The keys that silenced users retain. */
const SILENCED: ReadonlySet<PermissionKey> = new Set<PermissionKey>([
  "world.view",
  "room.view",
  "chat.read",
  "chat.join",
  "question.read",
  "poll.read",
  "program.read",
  "call.join",
]);

/** Whether a user's moderation state revokes a key. */
export const isWithheld = (
  state: "" | "silenced" | "banned" | "waiting",
  key: PermissionKey,
): boolean =>
  state === "banned" || state === "waiting" || (state === "silenced" && !SILENCED.has(key));

/**
 * The fixed rights that a special link grants, regardless of the rules. An unnamed person in the
 * hall is limited to one room. A read-only screen is limited to one room, or to everything that
 * guests may see.
 */
export type Scope =
  | {
      readonly kind: "anonymous";
      readonly room: string;
      /** The link's token. */
      readonly token: string;
    }
  | { readonly kind: "kiosk"; readonly room: string | undefined };

/** The keys that each kind of scope grants in its room. */
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
    // A screen is read-only: in calls, it can only listen.
    "call.join",
    // A screen cannot vote, so it needs this key to show results.
    "poll.results",
    // The screen shows the link that people in the hall use to participate.
    "room.invite",
  ]),
};

const NO_TRAITS: ReadonlySet<string> = new Set();

/**
 * Whether a scope grants a key.
 * @param room the room in question; undefined for the world.
 */
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

/** The keys required for an upload. */
export const UPLOAD: readonly PermissionKey[] = ["world.view", "file.upload"];

/** A world or a room. */
interface WithRules {
  permission_config: PermissionConfig;
}

/** The objects whose rules apply. The room's rules take precedence. */
export interface RuleLocation {
  readonly world: WithRules;
  readonly room?: WithRules | undefined;
}

/**
 * Whether a user holds all of `keys`.
 * @param who the user, of whom only the traits matter.
 */
export function may(
  who: { readonly traits: ReadonlySet<string> },
  keys: readonly PermissionKey[],
  { world, room }: RuleLocation,
): boolean {
  const ofWorld = world.permission_config;
  const ofRoom = room?.permission_config;
  for (const key of keys) {
    if (!allows(key, who.traits, ofWorld, ofRoom)) return false;
  }
  return true;
}
