import { type PushStore, isPoint } from "../../../db/contract/push-store.js";
import type { UserRecord, UserStore } from "../../../db/contract/store.js";
import type { Clock } from "../../../db/runtime.js";
import { kindOf } from "../../../db/rules/user-rows.js";
import type { Faults } from "../../../schemas/errors.js";
import type { Commands } from "../../../schemas/live/index.js";
import { MAX_PROFILE } from "../../../schemas/plain/limits.js";
import { isOutOfReach } from "../../../schemas/plain/permissions.js";
import { uuid } from "../../../schemas/plain/texts.js";
import { boundFault } from "../../../schemas/validate.js";
import {
  bind,
  type CommandTable,
  type Context,
  type LiveModule,
  type Sender,
} from "../../module.js";
import type { Presence } from "../../people/presence.js";
import type { Rates } from "../../people/rates.js";
import {
  invalidPayload,
  LiveError,
  rateLimited,
  tooLarge,
  unknownUser,
  worldDenied,
} from "../../rules/problems.js";
import { isSilenced } from "../../rules/rights.js";
import { listedUser, listIn, objectIn, publicUser, traitsOfBadge } from "../../rules/shapes.js";
import { sizeOfProfile } from "../../rules/shared-reads.js";
import type { Connection } from "../../socket/connection.js";
import {
  type KioskPorts,
  kiosks,
  requireSeen,
  type ScreenPorts,
  withoutHiddenRoom,
} from "./kiosks.js";

/** The ports of searches. */
export interface SearchPorts {
  readonly rates: Rates;
}

interface Search {
  readonly connection: Connection;
  readonly abort: AbortController;
}

/**
 * The searches for users that are under way. A user has one at a time in this process,
 * over whichever connection: all searches share one thread. They also have a rate.
 */
export class Searches {
  readonly #rates: Rates;
  readonly #byUser = new Map<string, Search>();

  constructor({ rates }: SearchPorts) {
    this.#rates = rates;
  }

  /**
   * Searches for a connection.
   * @param search gets a signal that aborts when the connection ends.
   * @throws {LiveError} if another search of the user is under way, or there were too many.
   */
  async run<T>(connection: Connection, search: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const { user } = connection.login!;
    if (this.#byUser.has(user) || !this.#rates.maySearch(connection)) {
      throw rateLimited();
    }
    const abort = new AbortController();
    const underWay = { connection, abort };
    this.#byUser.set(user, underWay);
    try {
      return await search(abort.signal);
    } finally {
      if (this.#byUser.get(user) === underWay) this.#byUser.delete(user);
    }
  }

  /** A connection ended: its search is no longer needed. */
  end(connection: Connection): void {
    const { user } = connection.login!;
    const search = this.#byUser.get(user);
    if (search?.connection !== connection) return;
    search.abort.abort();
    this.#byUser.delete(user);
  }
}

// The users that payloads name, and users as callers see them.

/** How many users one request reads. */
export const MOST = 100;

const UUID = new RegExp(uuid.pattern);

/** A payload that names one user. */
export type Named = Commands["user.ban"]["payload"];

/** The ports of the commands about users. */
export interface UserPorts {
  readonly clock: Clock;
  readonly store: ScreenPorts["store"] & { readonly users: UserStore };
  readonly presence: Presence;
  readonly searches: Searches;
  readonly rates: Pick<Rates, "mayWrite">;
  /** Makes the user of a connection a member of the rooms that ask for it. It never rejects. */
  readonly forceJoins: (connection: Connection) => Promise<void>;
}

/** A user as the caller sees them. */
export const shown = ({ ports, may, world }: Context<UserPorts>, user: UserRecord) =>
  publicUser(user, world.value, ports.clock.date(), may("user.manage"));

/** What nobody does to themselves: `user.<action>.self`. */
type ActionOnOthers = "ban" | "silence" | "reactivate" | "delete" | "block" | "unblock";

/**
 * The user that a payload names.
 * @param action the last word of the action, if it is not for oneself.
 */
async function userNamed(
  { ports, connection, me }: Context<UserPorts, Sender>,
  { id }: Named,
  action?: ActionOnOthers,
): Promise<UserRecord> {
  if (action !== undefined && id === me.id) {
    throw new LiveError(`user.${action}.self`);
  }
  const isId = typeof id === "string" && UUID.test(id);
  const user = isId && (await ports.store.users.get(connection.world, id));
  if (!user) throw unknownUser();
  return user;
}

/** The same, without users who were erased. */
async function personNamed(
  context: Context<UserPorts, Sender>,
  payload: Named,
  action?: ActionOnOthers,
): Promise<UserRecord> {
  const user = await userNamed(context, payload, action);
  if (user.deleted) throw unknownUser();
  return user;
}

/**
 * The person that a payload names, for a decision of the caller about them.
 * @throws {LiveError} `auth.denied` if the person runs the event with rights that the caller lacks.
 */
async function subjectNamed(
  context: Context<UserPorts, Sender>,
  payload: Named,
  action?: ActionOnOthers,
): Promise<UserRecord> {
  const user = await personNamed(context, payload, action);
  const { permission_config } = context.world.value;
  if (isOutOfReach(user.traits, permission_config, context.may)) {
    throw worldDenied();
  }
  return user;
}

/** The first ids that can name a user. */
export const idsIn = (ids: readonly unknown[]): string[] => [
  ...new Set(
    ids.slice(0, MOST).filter((id): id is string => typeof id === "string" && UUID.test(id)),
  ),
];

// How users find others: by ids, by lists, and by searches.

/**
 * How many users are read at a time for the list of all. The store refuses pages that
 * are too large, which this many users cannot be.
 */
const USERS_PER_PAGE = 200;

/** The largest list of all users, in characters of their profiles. */
const MAX_LIST = 8 * 1024 * 1024;

const NONE = { results: [], isLastPage: true };

/** The commands that read users. */
export const finding: CommandTable<
  "user.fetch" | "user.list" | "user.list.search" | "user.online_status",
  UserPorts
> = {
  "user.fetch": { requires: "world.view", handler: fetchUsers },
  "user.list": { requires: "user.list", handler: list },
  "user.list.search": { requires: "login", handler: search },
  "user.online_status": { requires: "world.view", handler: onlineStatus },
};

/** What `user.list` can list. */
const kinds = ["person", "kiosk", "anonymous"] as const;

async function fetchUsers(
  context: Context<UserPorts>,
  { id, ids, pretalx_ids }: Commands["user.fetch"]["payload"],
) {
  const { ports, connection } = context;
  const { users } = ports.store;
  if (ids !== undefined) {
    const found = await users.getMany(connection.world, idsIn(ids));
    return Object.fromEntries(
      found
        .filter((user) => kindOf(user) === "person")
        .map((user) => [user.id, shown(context, user)]),
    );
  }
  if (pretalx_ids !== undefined) {
    const named = pretalx_ids
      .slice(0, MOST)
      .filter((id) => typeof id === "string" || typeof id === "number")
      .map(String);
    const found = await users.byPretalx(connection.world, named);
    return Object.fromEntries(found.map((user) => [user.pretalx_id!, shown(context, user)]));
  }
  if (id === undefined) {
    throw invalidPayload({ id: ["This field is required, or ids, or pretalx_ids."] });
  }
  const user = await userNamed(context, { id });
  return withoutHiddenRoom(context, user, shown(context, user));
}

async function list(context: Context<UserPorts>, payload: Commands["user.list"]["payload"]) {
  const { ports, connection, may } = context;
  const { type = "person", include_banned = true } = payload ?? {};
  const kind = kinds.find((known) => known === type);
  if (!kind) return { results: [] };
  const banned = payload !== null && include_banned && may("user.manage");
  return ports.searches.run(connection, async (signal) => {
    const results: ReturnType<typeof shown>[] = [];
    let size = 0;
    for (let page = 1; ; page++) {
      const { users } = await ports.store.users.search(
        connection.world,
        { page, pageSize: USERS_PER_PAGE, banned, kind },
        signal,
      );
      for (const user of users) {
        const sent = shown(context, user);
        results.push(await withoutHiddenRoom(context, user, sent));
      }
      for (const user of users) size += sizeOfProfile(user);
      if (size > MAX_LIST) throw tooLarge();
      if (users.length < USERS_PER_PAGE) return { results };
    }
  });
}

async function search(
  context: Context<UserPorts>,
  payload: Commands["user.list.search"]["payload"],
) {
  const { ports, connection, world, may } = context;
  const { config } = world.value;
  const { search_term, badge, include_banned = true } = payload;
  const page = Number(payload.page);
  const { page_size, search_min_chars } = objectIn(config, "user_list") ?? {};
  const size = Math.trunc(numberIn(page_size)) || 20;
  const pageSize = Math.min(Math.max(size, 1), 1000);
  const term = search_term.trim();
  if (page < 1 || (!badge && term.length < numberIn(search_min_chars))) return NONE;
  const traits = badge ? traitsOfBadge(badge, config) : undefined;
  if (traits?.length === 0) return NONE;
  const admin = may("user.manage");
  const selection = {
    page,
    pageSize,
    named: true,
    banned: admin && include_banned,
    fields: searchableFields(listIn(config, "profile_fields")),
    ...(term && { term }),
    ...(traits && { traits }),
  };
  const { count, users } = await ports.searches.run(connection, (signal) =>
    ports.store.users.search(connection.world, selection, signal),
  );
  if (users.length === 0) return NONE;
  const rows = users.map((user) => listedUser(user, world.value, ports.clock.date(), admin));
  // Within a page, the first ones.
  rows.sort((a, b) => Number(a.inactive) - Number(b.inactive));
  return { results: rows, isLastPage: page * pageSize >= count };
}

/** A number, or its text; 0 for anything else, which REST stores as well. */
const numberIn = (value: unknown): number =>
  typeof value === "number" || typeof value === "string" ? Number(value) : 0;

/** The ids of the fields of profiles that may be searched. */
const searchableFields = (fields: readonly unknown[]): string[] =>
  fields.flatMap((field) => {
    const { id, searchable } = (field ?? {}) as Record<string, unknown>;
    return searchable === true && typeof id === "string" ? [id] : [];
  });

async function onlineStatus(
  { ports, connection }: Context<UserPorts>,
  { ids }: Commands["user.online_status"]["payload"],
) {
  return Object.fromEntries(
    idsIn(ids).map((id) => [id, ports.presence.isOnline(connection.world, id)]),
  );
}

// What users decide about others: moderators about all, and each user about whom they block.

/** What moderators decide about users. */
export const moderation: CommandTable<
  "user.ban" | "user.silence" | "user.reactivate",
  UserPorts,
  Sender
> = {
  "user.ban": { requires: "user.manage", handler: moderate("banned", "ban") },
  "user.silence": { requires: "user.manage", handler: moderate("silenced", "silence") },
  "user.reactivate": { requires: "user.manage", handler: moderate("", "reactivate") },
};

/** What users decide about each other, moderation included. */
const decisions: CommandTable<
  keyof typeof moderation | "user.delete" | "user.block" | "user.unblock" | "user.list.blocked",
  UserPorts
> = {
  ...moderation,
  "user.delete": { requires: "user.delete", handler: erase },
  "user.block": { requires: "login", handler: block },
  "user.unblock": { requires: "login", handler: unblock },
  "user.list.blocked": { requires: "login", handler: listBlocked },
};

function moderate(state: UserRecord["moderation_state"], action: ActionOnOthers) {
  return async (context: Context<UserPorts, Sender>, payload: Named) => {
    const { id } = await subjectNamed(context, payload, action);
    const { ports, connection } = context;
    await ports.store.users.moderate(connection.world, id, state, connection.author);
    return {};
  };
}

async function erase(context: Context<UserPorts>, payload: Named) {
  const { id } = await subjectNamed(context, payload, "delete");
  const { ports, connection } = context;
  const name = { user_id: id };
  await ports.store.users.erase(connection.world, name, connection.author);
  return {};
}

async function block(context: Context<UserPorts>, payload: Named) {
  const { id } = await personNamed(context, payload, "block");
  const { ports, connection, me } = context;
  await ports.store.users.block(connection.world, me.id, id, connection.author);
  return {};
}

async function unblock(context: Context<UserPorts>, payload: Named) {
  const { id } = await personNamed(context, payload, "unblock");
  const { ports, connection, me } = context;
  await ports.store.users.unblock(connection.world, me.id, id, connection.author);
  return {};
}

async function listBlocked(context: Context<UserPorts>) {
  const { ports, connection, me } = context;
  const blocked = await ports.store.users.blocked(connection.world, me.id);
  return { users: blocked.map((user) => shown(context, user)) };
}

/** The ports of the command about web push. */
export interface WebPushPorts {
  readonly clock: Clock;
  readonly store: { readonly push: PushStore };
  readonly rates: Pick<Rates, "maySubscribe">;
  /** What is wrong with an address that a user names; undefined if requests may go there. */
  readonly addressFault: (url: string) => Promise<string | undefined>;
}

/** Messages to browsers whose page is closed. */
export const webPush: CommandTable<
  Extract<keyof Commands, `user.web_push.${string}`>,
  WebPushPorts
> = { "user.web_push.subscribe": { requires: "world.view", handler: subscribe } };

async function subscribe(
  { ports, connection, me }: Context<WebPushPorts>,
  { subscription }: Commands["user.web_push.subscribe"]["payload"],
) {
  const { endpoint, keys } = subscription;
  const { p256dh, auth } = keys;
  const faults = { ...faultIn("p256dh", p256dh, 65), ...faultIn("auth", auth, 16) };
  if (Object.keys(faults).length > 0) throw invalidPayload(faults);
  if (!ports.rates.maySubscribe(connection)) throw rateLimited();
  const fault = await ports.addressFault(endpoint);
  if (fault) throw invalidPayload({ "subscription.endpoint": [fault] });
  await ports.store.push.subscribe(
    connection.world,
    me.id,
    { endpoint, p256dh, auth },
    ports.clock.date(),
  );
  return {};
}

/** What is wrong with a key of a browser (RFC 8291). @param size in bytes. */
function faultIn(name: "p256dh" | "auth", text: string, size: number) {
  const bytes = Buffer.from(text, "base64url");
  const isKey = bytes.length === size && (name === "auth" || isPoint(bytes));
  return isKey ? {} : { [`subscription.keys.${name}`]: ["Is no key of a browser."] };
}

/** The largest client state, in bytes of JSON. */
const MAX_CLIENT_STATE = 32 * 1024;

/** The users of a world, and their moderation. */
export const users: CommandTable<
  Exclude<
    Extract<keyof Commands, `user.${string}` | `exhibition.${string}`>,
    `user.kiosk.${string}` | `user.web_push.${string}`
  >,
  UserPorts
> = {
  "user.update": { requires: "world.view", handler: update },
  "user.admin.update": { requires: "user.delete", handler: updateOther },
  ...finding,
  ...decisions,
  "exhibition.get.staffed_by_user": {
    requires: "login",
    handler: async () => ({ exhibitors: [] }),
  },
};

/** Refuses values that are too large to be stored. */
function boundSize(fields: Record<string, [value: unknown, most: number]>): void {
  const faults: Faults = {};
  for (const [name, [value, most]] of Object.entries(fields)) {
    const fault = value === undefined ? undefined : boundFault(value, most);
    if (fault) faults[name] = [fault];
  }
  if (Object.keys(faults).length > 0) throw invalidPayload(faults);
}

async function update(
  { ports, connection, login, me }: Context<UserPorts>,
  { profile, client_state }: Commands["user.update"]["payload"],
) {
  // All people in the rooms of a silenced user would read the new name.
  if (profile && (isSilenced(me) || login.scope)) throw worldDenied();
  boundSize({ profile: [profile, MAX_PROFILE], client_state: [client_state, MAX_CLIENT_STATE] });
  const changes = { ...(profile && { profile }), ...(client_state && { client_state }) };
  const size = Buffer.byteLength(JSON.stringify(changes));
  if (!ports.rates.mayWrite(connection, size)) throw rateLimited();
  const { users } = ports.store;
  await users.update(connection.world, me.id, changes, connection.author);
  connection.loop.afterAnswer(() => ports.forceJoins(connection));
  return {};
}

async function updateOther(
  context: Context<UserPorts>,
  payload: Commands["user.admin.update"]["payload"],
) {
  const { profile, pretalx_id, client_state } = payload;
  boundSize({ profile: [profile, MAX_PROFILE], client_state: [client_state, MAX_CLIENT_STATE] });
  const { ports, connection } = context;
  const user = await subjectNamed(context, payload);
  const { id } = user;
  const isScreen = kindOf(user) === "kiosk";
  if (profile && isScreen) await requireSeen(context, { profile });
  const changes = {
    ...(profile && { profile }),
    ...(client_state && isScreen && { client_state }),
    ...(pretalx_id !== undefined && { pretalx_id }),
  };
  // Every connection of the user gets the push, also this one.
  const { connection: _, ...by } = connection.author;
  await ports.store.users.update(connection.world, id, changes, by);
  return {};
}

/** The people of a world. */
export function userModule(
  ports: Omit<UserPorts, "searches"> & SearchPorts & KioskPorts & WebPushPorts,
) {
  const searches = new Searches(ports);
  return {
    bound: bind({ ...users, ...kiosks, ...webPush }, { ...ports, searches }),
    // Clients of Venueless expect these.
    entrance: async () => () => ({ exhibition: { exhibitors: [], contact_requests: [] } }),
    leave: (connection: Connection) => searches.end(connection),
  } satisfies LiveModule;
}
