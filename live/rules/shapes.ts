import { LRUCache } from "lru-cache";
import type { Announcement } from "../../db/contract/announcement-store.js";
import type { RoomValue, UserRecord } from "../../db/contract/store.js";
import { isInactive } from "../../db/rules/user-rows.js";
import { versioned } from "../../db/rules/versions.js";
import type {
  ListedUser,
  OwnUser,
  PublicUser,
  RoomSettings,
  SentAnnouncement,
  SentWorld,
} from "../../schemas/live/index.js";
import { isVisible } from "../../schemas/plain/announcements.js";
import { badgesByTrait } from "../../schemas/plain/guests.js";
import type { Rule } from "../../schemas/rules.js";
import type { World, WorldConfig } from "../../schemas/worlds.js";
import { Json, jsonOf } from "./encoding.js";
import { oncePer } from "./shared-reads.js";

// Records in the form that clients receive. Large values are sent as stored.

/** An object in which some fields are already encoded as JSON. */
type Stored<T, K extends keyof T> = Omit<T, K> & {
  readonly [N in K]: Json<T[N]>;
};

/** Returns an object from a world's config, or undefined if the value has another type. */
export const objectIn = (config: WorldConfig, key: string): Record<string, unknown> | undefined => {
  const value = config[key];
  return typeof value === "object" && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : undefined;
};

/** Returns a list from a world's config, or an empty list if the value has another type. */
export const listIn = (config: WorldConfig, key: string): unknown[] => {
  const value = config[key];
  return Array.isArray(value) ? value : [];
};

/** Returns a rule from a world's config. Configs stored by earlier versions may contain any value. */
export const ruleIn = (config: WorldConfig, key: string): Rule =>
  listIn(config, key).filter(
    (entry): entry is Rule[number] =>
      isText(entry) || (Array.isArray(entry) && entry.every(isText)),
  );

/**
 * Returns the maximum number of connections per user, or undefined if the number is unlimited. The
 * value may have any type, because REST does not validate it. Decimal strings are accepted.
 */
export function connectionLimit(config: WorldConfig): number | undefined {
  const value = config.connection_limit;
  const isDecimal = typeof value === "string" && /^[0-9]{1,10}$/.test(value);
  const limit = isDecimal ? Number(value) : value;
  return Number.isSafeInteger(limit) && (limit as number) > 0 ? (limit as number) : undefined;
}

/** Returns the badges for a set of traits, sorted and without duplicates. */
function badgesOf(traits: readonly string[], config: WorldConfig): string[] {
  const map = badgesByTrait(config);
  const badges = traits.flatMap((trait) => {
    const badge = Object.hasOwn(map, trait) ? map[trait] : undefined;
    return typeof badge === "string" ? [badge] : [];
  });
  return [...new Set(badges)].sort();
}

/** Returns the traits that have a badge. */
export function traitsOfBadge(badge: string, config: WorldConfig): string[] {
  const map = badgesByTrait(config);
  return Object.keys(map).filter((trait) => map[trait] === badge);
}

/** When a user's silence ends by itself, if it does. */
const untilOf = ({ moderated_until: until }: UserRecord) =>
  until === null ? {} : { moderated_until: new Date(until).toISOString() };

const baseOf = (user: UserRecord, { config }: World, now: number) => ({
  id: user.id,
  profile: new Json<PublicUser["profile"]>(user.stored.profile ?? "{}"),
  pretalx_id: user.pretalx_id,
  deleted: user.deleted,
  badges: badgesOf(user.traits, config),
  inactive: isInactive(user.last_login, now),
});

/**
 * Returns a user as other users see them.
 * @param now in milliseconds since 1970.
 * @param admin whether the reader may manage users.
 */
export const publicUser = (
  user: UserRecord,
  world: World,
  now: number,
  admin = false,
): Stored<PublicUser, "profile"> => ({
  ...baseOf(user, world, now),
  ...(admin && {
    moderation_state: user.moderation_state,
    ...untilOf(user),
    token_id: user.token_id,
  }),
});

/**
 * Returns a user's data as sent to the same user.
 * @param withState whether to include that the user is silenced.
 */
export const ownUser = (
  user: UserRecord,
  world: World,
  now: number,
  withState = false,
): Stored<OwnUser, "profile" | "client_state"> => ({
  ...baseOf(user, world, now),
  client_state: new Json<OwnUser["client_state"]>(user.stored.client_state),
  ...(withState &&
    user.moderation_state === "silenced" && { moderation_state: "silenced", ...untilOf(user) }),
});

/** Returns a user as a row in search results. */
export function listedUser(
  user: UserRecord,
  world: World,
  now: number,
  admin: boolean,
): Stored<ListedUser, "profile"> {
  const { deleted: _, ...row } = publicUser(user, world, now, admin);
  return row;
}

const noBlocker = { enabled: false, policy_url: null };

/** Returns the setting for embedded pages, with the default entry that clients require. */
export const iframeBlockers = (config: WorldConfig): Record<string, unknown> => {
  const blockers = objectIn(config, "iframe_blockers");
  // Clients read the default entry without checking that it exists.
  const fallback = isObject(blockers?.default) ? {} : { default: noBlocker };
  return { ...blockers, ...fallback };
};

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const isText = (value: unknown): value is string => typeof value === "string";

/**
 * Returns a world as its people see it, without secrets.
 * @param pushKey the server's key for push services; null if it has none.
 */
const sentWorld = ({ id, title, config }: World, pushKey: string | null): SentWorld => ({
  id,
  title,
  pretalx: objectIn(config, "pretalx") ?? {},
  profile_fields: listIn(config, "profile_fields").filter(isObject),
  social_logins: listIn(config, "social_logins").filter(isText),
  iframe_blockers: iframeBlockers(config),
  onsite_traits: ruleIn(config, "onsite_traits"),
  vapid_public_key: pushKey,
});

/** Returns a room's modules as people see them: each module has a `config`, and a chat has its channel. */
function sentModules({ id, module_config }: RoomValue) {
  return module_config.map((module) => ({
    ...module,
    // In Venueless, the config of this module is only for the server.
    config: module.type === "call.bigbluebutton" || !isObject(module.config) ? {} : module.config,
    ...(module.type === "chat.native" && { channel_id: id }),
  }));
}

/** Returns a room's schedule data as stored JSON. */
export const scheduleOf = ({ stored }: RoomValue) =>
  new Json<RoomSettings["schedule_data"]>(stored.schedule_data);

/** Converts a room to the form that clients receive, without the fields that depend on the user. */
const sentRoom = (room: RoomValue) => ({
  id: room.id,
  name: room.name,
  description: room.description,
  picture: room.extras.picture,
  import_id: room.extras.import_id,
  pretalx_id: room.extras.pretalx_id,
  force_join: room.extras.force_join,
  schedule_data: scheduleOf(room),
  modules: sentModules(room),
});

/** Returns a room's settings in the form that clients receive. */
export const roomSettings = (
  room: RoomValue,
): Stored<RoomSettings, "trait_grants" | "module_config" | "schedule_data"> => ({
  id: room.id,
  trait_grants: new Json<RoomSettings["trait_grants"]>(room.stored.permission_config),
  module_config: new Json<RoomSettings["module_config"]>(room.stored.module_config),
  picture: room.extras.picture,
  name: room.name,
  description: room.description,
  sorting_priority: room.sorting_priority,
  pretalx_id: room.extras.pretalx_id,
  force_join: room.extras.force_join,
  schedule_data: scheduleOf(room),
});

/** Converts an announcement to the form that clients receive. */
export const sentAnnouncement = (announcement: Announcement, now: number): SentAnnouncement => ({
  id: announcement.id,
  text: announcement.text,
  show_until:
    announcement.show_until === null ? null : new Date(announcement.show_until).toISOString(),
  state: announcement.state,
  is_visible: isVisible(announcement, now),
});

/**
 * Returns an announcement with its version. The version covers `is_visible`, and therefore also
 * changes when an announcement expires.
 */
export const announcementRecord = (announcement: SentAnnouncement) =>
  versioned(
    () => announcement,
    () => JSON.stringify(announcement),
    0,
  );

/** Number of views per state whose JSON is cached. */
const KEPT_VIEWS = 16;

/**
 * Returns two parts of a room's JSON: the part before the permissions, and the part after them.
 * @param types the types of modules to include; undefined for all.
 */
const jsonAround =
  (types?: ReadonlySet<string>) =>
  (room: RoomValue): [string, string] => {
    const { modules, ...rest } = sentRoom(room);
    const shown = modules.filter(({ type }) => types?.has(type) ?? true);
    return [`${jsonOf(rest).slice(0, -1)},"permissions":`, `,"modules":${JSON.stringify(shown)}`];
  };

const aroundPermissions = oncePer(jsonAround());
const aroundForAnonymous = oncePer(jsonAround(new Set(["question", "poll"])));

/** The JSON of a view, and the change number of its crowds. */
interface SentView {
  readonly json: Buffer;
  readonly changes: number;
}

/** The JSON of a world and its rooms at one moment. It is encoded once for all users who receive the same JSON. */
export class StateJson {
  /** Permission lists as JSON, because many rooms and views have identical lists. */
  readonly #lists = new Map<string, string>();
  /** The JSON of the most recently requested views. */
  readonly #jsons: Record<Counting, LRUCache<object, SentView>> = {
    words: new LRUCache({ max: KEPT_VIEWS }),
    counts: new LRUCache({ max: KEPT_VIEWS }),
  };
  #world: string | undefined;

  /**
   * @param pushKey the server's key for push services; null if it has none.
   * @param before the JSON of an earlier state. Its encoded world is reused if the world has not
   * changed.
   */
  constructor(
    readonly value: World,
    readonly pushKey: string | null,
    before?: StateJson,
  ) {
    if (before?.value === value) this.#world = before.#world;
  }

  /** The world as people see it, as JSON. */
  get world(): string {
    return (this.#world ??= JSON.stringify(sentWorld(this.value, this.pushKey)));
  }

  /** Returns a list as JSON. Equal lists share one string in memory. */
  shared(list: readonly string[]): string {
    const json = JSON.stringify(list);
    const known = this.#lists.get(json);
    if (known === undefined) this.#lists.set(json, json);
    return known ?? json;
  }

  /**
   * Returns a room with a user's permissions, as JSON without the closing brace.
   * @param isAnonymous whether the recipient is a person in the hall who has no name and sees only
   * questions and polls.
   */
  room(room: RoomValue, permissions: string, isAnonymous: boolean): string {
    const around = isAnonymous ? aroundForAnonymous : aroundPermissions;
    const [before, after] = around(room);
    return before + permissions + after;
  }

  /**
   * Returns the JSON of a view. Only a few views are cached: their JSON may be large, and there may
   * be as many views as people.
   */
  of(view: object, { counting, changes }: SentCrowds, make: () => string): Buffer {
    const known = this.#jsons[counting].get(view);
    if (known?.changes === changes) return known.json;
    const json = Buffer.from(make());
    this.#jsons[counting].set(view, { json, changes });
    return json;
  }
}

/** Whether a client receives only a word for each crowd, or the crowd's size as well. */
export type Counting = "words" | "counts";

/** A world's crowds, as last sent. */
export interface SentCrowds {
  readonly counting: Counting;
  /** A number that changes whenever any crowd does. */
  readonly changes: number;
  /** Returns the JSON fields about a room's crowd, without braces. */
  readonly jsonOf: (room: string) => string;
}
