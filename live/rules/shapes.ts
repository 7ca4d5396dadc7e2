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
import type { Rule } from "../../schemas/rules.js";
import type { World, WorldConfig } from "../../schemas/worlds.js";
import { Json, jsonOf } from "./encoding.js";
import { oncePer } from "./shared-reads.js";

// Records as clients get them. Large values are sent as they are stored.

/** An object with some of its fields as JSON. */
type Stored<T, K extends keyof T> = Omit<T, K> & {
  readonly [N in K]: Json<T[N]>;
};

/** A value of the config of a world, if it has the type that is expected. */
export const objectIn = (config: WorldConfig, key: string): Record<string, unknown> | undefined => {
  const value = config[key];
  return typeof value === "object" && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : undefined;
};

/** A list in the config of a world. */
export const listIn = (config: WorldConfig, key: string): unknown[] => {
  const value = config[key];
  return Array.isArray(value) ? value : [];
};

/** A rule in the config of a world. Documents of earlier versions may hold anything. */
export const ruleIn = (config: WorldConfig, key: string): Rule =>
  listIn(config, key).filter(
    (entry): entry is Rule[number] =>
      isText(entry) || (Array.isArray(entry) && entry.every(isText)),
  );

/**
 * How many connections a user may have; undefined for any number. REST stores any
 * value, and decimal text counts.
 */
export function connectionLimit(config: WorldConfig): number | undefined {
  const value = config.connection_limit;
  const isDecimal = typeof value === "string" && /^[0-9]{1,10}$/.test(value);
  const limit = isDecimal ? Number(value) : value;
  return Number.isSafeInteger(limit) && (limit as number) > 0 ? (limit as number) : undefined;
}

/** The badges of traits, sorted and distinct. */
function badgesOf(traits: readonly string[], config: WorldConfig): string[] {
  const map = objectIn(config, "trait_badges_map");
  if (!map) return [];
  const badges = traits.flatMap((trait) => {
    const badge = Object.hasOwn(map, trait) ? map[trait] : undefined;
    return typeof badge === "string" ? [badge] : [];
  });
  return [...new Set(badges)].sort();
}

/** The traits that a badge stands for. */
export function traitsOfBadge(badge: string, config: WorldConfig): string[] {
  const map = objectIn(config, "trait_badges_map") ?? {};
  return Object.keys(map).filter((trait) => map[trait] === badge);
}

const baseOf = (user: UserRecord, { config }: World, now: number) => ({
  id: user.id,
  profile: new Json<PublicUser["profile"]>(user.stored.profile ?? "{}"),
  pretalx_id: user.pretalx_id,
  deleted: user.deleted,
  badges: badgesOf(user.traits, config),
  inactive: isInactive(user.last_login, now),
});

/**
 * A user as others see it.
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
  ...(admin && { moderation_state: user.moderation_state, token_id: user.token_id }),
});

/**
 * A user as it sees itself.
 * @param withState whether to say that it is silenced.
 */
export const ownUser = (
  user: UserRecord,
  world: World,
  now: number,
  withState = false,
): Stored<OwnUser, "profile" | "client_state"> => ({
  ...baseOf(user, world, now),
  client_state: new Json<OwnUser["client_state"]>(user.stored.client_state),
  ...(withState && user.moderation_state === "silenced" && { moderation_state: "silenced" }),
});

/** A row of a search. */
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

/** The setting for embedding pages, with the default that clients need. */
export const iframeBlockers = (config: WorldConfig): Record<string, unknown> => {
  const blockers = objectIn(config, "iframe_blockers");
  // Clients read the default without looking whether it is there.
  const fallback = isObject(blockers?.default) ? {} : { default: noBlocker };
  return { ...blockers, ...fallback };
};

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const isText = (value: unknown): value is string => typeof value === "string";

/**
 * A world as the people in it see it. It holds no secrets.
 * @param pushKey of the server for push services; null without one.
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

/** The modules of a room as people get them: always with `config`, a chat with its channel. */
function sentModules({ id, module_config }: RoomValue) {
  return module_config.map((module) => ({
    ...module,
    // In Venueless, its content is for the server.
    config: module.type === "call.bigbluebutton" || !isObject(module.config) ? {} : module.config,
    ...(module.type === "chat.native" && { channel_id: id }),
  }));
}

/** The schedule data of a room. */
export const scheduleOf = ({ stored }: RoomValue) =>
  new Json<RoomSettings["schedule_data"]>(stored.schedule_data);

/** A room for clients, without the fields that depend on the user. */
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

/** The settings of a room. */
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

/** An announcement as clients get it. */
export const sentAnnouncement = (announcement: Announcement, now: number): SentAnnouncement => ({
  id: announcement.id,
  text: announcement.text,
  show_until:
    announcement.show_until === null ? null : new Date(announcement.show_until).toISOString(),
  state: announcement.state,
  is_visible: isVisible(announcement, now),
});

/** An announcement with its version, which covers `is_visible` and so follows the time, too. */
export const announcementRecord = (announcement: SentAnnouncement) =>
  versioned(
    () => announcement,
    () => JSON.stringify(announcement),
    0,
  );

/** How many views of each state have their JSON kept. */
const KEPT_VIEWS = 16;

/** The JSON of a room before and after the permissions. @param types of its modules; undefined for all. */
const jsonAround =
  (types?: ReadonlySet<string>) =>
  (room: RoomValue): [string, string] => {
    const { modules, ...rest } = sentRoom(room);
    const shown = modules.filter(({ type }) => types?.has(type) ?? true);
    return [`${jsonOf(rest).slice(0, -1)},"permissions":`, `,"modules":${JSON.stringify(shown)}`];
  };

const aroundPermissions = oncePer(jsonAround());
const aroundForAnonymous = oncePer(jsonAround(new Set(["question", "poll"])));

/** The JSON of a view, and a number for the state of its crowds. */
interface SentView {
  readonly json: Buffer;
  readonly changes: number;
}

/** The JSON of a world and its rooms at one moment, made once for all who get the same. */
export class StateJson {
  /** The JSON of lists of permissions: many rooms and views have the same. */
  readonly #lists = new Map<string, string>();
  /** The JSON of the views that were asked for last. */
  readonly #jsons: Record<Counting, LRUCache<object, SentView>> = {
    words: new LRUCache({ max: KEPT_VIEWS }),
    counts: new LRUCache({ max: KEPT_VIEWS }),
  };
  #world: string | undefined;

  /**
   * @param pushKey the key of the server for push services; null without one.
   * @param before of an earlier state. If the world is the same, its JSON stays.
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

  /** A list as JSON, which is one string in memory for all equal lists. */
  shared(list: readonly string[]): string {
    const json = JSON.stringify(list);
    const known = this.#lists.get(json);
    if (known === undefined) this.#lists.set(json, json);
    return known ?? json;
  }

  /**
   * A room with a user's permissions, as JSON without the last brace.
   * @param isAnonymous whether it is for a person of the hall, who gets nothing but questions and polls.
   */
  room(room: RoomValue, permissions: string, isAnonymous: boolean): string {
    const around = isAnonymous ? aroundForAnonymous : aroundPermissions;
    const [before, after] = around(room);
    return before + permissions + after;
  }

  /**
   * The JSON of a view. Only a few are kept: each may be large, and there may be as
   * many views as people.
   */
  of(view: object, { counting, changes }: SentCrowds, make: () => string): Buffer {
    const known = this.#jsons[counting].get(view);
    if (known?.changes === changes) return known.json;
    const json = Buffer.from(make());
    this.#jsons[counting].set(view, { json, changes });
    return json;
  }
}

/** Whether a client gets a word for each crowd, or its size as well. */
export type Counting = "words" | "counts";

/** The crowds of a world as they were sent last. */
export interface SentCrowds {
  readonly counting: Counting;
  /** A number that is another one whenever any crowd has changed. */
  readonly changes: number;
  /** The fields of a room about its crowd, as JSON without braces. */
  readonly jsonOf: (room: string) => string;
}
