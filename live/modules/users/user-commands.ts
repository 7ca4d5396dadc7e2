import { type PushStore, isPoint } from "../../../db/contract/push-store.js";
import type { ChatStore } from "../../../db/contract/chat-store.js";
import { StoreError, type UserRecord, type UserStore } from "../../../db/contract/store.js";
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
  type CommandContext,
  type EntryHandlers,
  type LiveModule,
  type CommandSender,
} from "../../module.js";
import type { Presence } from "../../people/presence.js";
import type { UserRateLimits } from "../../people/user-rate-limits.js";
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
import { requireAllowedName, requireFreeName } from "../../people/names.js";
import { type GuestPushPorts, GuestPushes, guests } from "./guests.js";
import {
  type KioskPorts,
  kiosks,
  requireSeen,
  type KioskLookupPorts,
  withoutHiddenRoom,
} from "./kiosks.js";
import { ModerationTimer, type ModerationTimerPorts } from "./moderation-timer.js";

/** Ports of user searches. */
export interface SearchPorts {
  readonly rates: UserRateLimits;
}

interface Search {
  readonly connection: Connection;
  readonly abort: AbortController;
}

/**
 * The running searches for users. Each user may run at most one search at a time in this process,
 * regardless of the connection, because all searches share one thread. Searches are also
 * rate-limited.
 */
export class Searches {
  readonly #rates: UserRateLimits;
  readonly #byUser = new Map<string, Search>();

  constructor({ rates }: SearchPorts) {
    this.#rates = rates;
  }

  /**
   * Runs a search for a connection.
   * @param search receives a signal that aborts when the connection ends.
   * @throws {LiveError} if the user is already running a search, or has searched too often.
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

  /** Aborts the search of a connection that has ended. */
  end(connection: Connection): void {
    const { user } = connection.login!;
    const search = this.#byUser.get(user);
    if (search?.connection !== connection) return;
    search.abort.abort();
    this.#byUser.delete(user);
  }
}

// Users named in payloads, and users as callers see them.

/** Maximum number of users in a single request. */
export const MOST = 100;

const UUID = new RegExp(uuid.pattern);

/** A payload that names one user. */
export type UserPayload = Commands["user.ban"]["payload"];

/** Ports of the user commands. */
export interface UserPorts {
  readonly clock: Clock;
  readonly store: KioskLookupPorts["store"] & {
    readonly users: UserStore;
    readonly chat: Pick<ChatStore, "send" | "sentBy" | "rejectAll">;
  };
  readonly presence: Presence;
  readonly searches: Searches;
  readonly rates: Pick<UserRateLimits, "mayWrite">;
  /** Makes a connection's user a member of the rooms with forced joins. Never rejects. */
  readonly forceJoins: (connection: Connection) => Promise<void>;
}

/** Returns a user as the caller sees them. */
export const shown = ({ ports, may, world }: CommandContext<UserPorts>, user: UserRecord) =>
  publicUser(user, world.value, ports.clock.date(), may("user.manage"));

/** Actions that users cannot apply to themselves: they fail with `user.<action>.self`. */
type ActionOnOthers = "ban" | "silence" | "reactivate" | "delete" | "block" | "unblock";

/**
 * Finds the user that a payload names.
 * @param action the last part of the action's name, if users cannot apply the action to themselves.
 */
async function userNamed(
  { ports, connection, me }: CommandContext<UserPorts, CommandSender>,
  { id }: UserPayload,
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

/** Like {@link userNamed}, but without erased users. */
async function personNamed(
  context: CommandContext<UserPorts, CommandSender>,
  payload: UserPayload,
  action?: ActionOnOthers,
): Promise<UserRecord> {
  const user = await userNamed(context, payload, action);
  if (user.deleted) throw unknownUser();
  return user;
}

/**
 * Finds the person that a payload names, so that the caller can make a decision about that person.
 * @throws {LiveError} `auth.denied` if the person runs the event with rights that the caller lacks.
 */
async function subjectNamed(
  context: CommandContext<UserPorts, CommandSender>,
  payload: UserPayload,
  action?: ActionOnOthers,
): Promise<UserRecord> {
  const user = await personNamed(context, payload, action);
  const { permission_config } = context.world.value;
  if (isOutOfReach(user.traits, permission_config, context.may)) {
    throw worldDenied();
  }
  return user;
}

/** Returns the valid user ids among the first {@link MOST} values, without duplicates. */
export const idsIn = (ids: readonly unknown[]): string[] => [
  ...new Set(
    ids.slice(0, MOST).filter((id): id is string => typeof id === "string" && UUID.test(id)),
  ),
];

// Finding other users: by id, by list, and by search.

/**
 * Number of users per read for the list of all users. The store rejects pages that are too large,
 * but this many users always fit.
 */
const USERS_PER_PAGE = 200;

/** Maximum size of the list of all users, in characters of their profiles. */
const MAX_LIST = 8 * 1024 * 1024;

const NONE = { results: [], isLastPage: true };

/** Commands that read users. */
export const finding: CommandTable<
  "user.fetch" | "user.list" | "user.list.search" | "user.online_status",
  UserPorts
> = {
  "user.fetch": { requires: "world.view", handler: fetchUsers },
  "user.list": { requires: "user.list", handler: list },
  "user.list.search": { requires: "login", handler: search },
  "user.online_status": { requires: "world.view", handler: onlineStatus },
};

/** The kinds of users that `user.list` can list. */
const kinds = ["person", "kiosk", "anonymous"] as const;

async function fetchUsers(
  context: CommandContext<UserPorts>,
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

async function list(context: CommandContext<UserPorts>, payload: Commands["user.list"]["payload"]) {
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
  context: CommandContext<UserPorts>,
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
  // Active users come first, but only within a page.
  rows.sort((a, b) => Number(a.inactive) - Number(b.inactive));
  return { results: rows, isLastPage: page * pageSize >= count };
}

/**
 * Parses a number or a numeric string. Returns 0 for any other type, because REST accepts any value
 * for this parameter.
 */
const numberIn = (value: unknown): number =>
  typeof value === "number" || typeof value === "string" ? Number(value) : 0;

/** Returns the ids of the searchable profile fields. */
const searchableFields = (fields: readonly unknown[]): string[] =>
  fields.flatMap((field) => {
    const { id, searchable } = (field ?? {}) as Record<string, unknown>;
    return searchable === true && typeof id === "string" ? [id] : [];
  });

async function onlineStatus(
  { ports, connection }: CommandContext<UserPorts>,
  { ids }: Commands["user.online_status"]["payload"],
) {
  return Object.fromEntries(
    idsIn(ids).map((id) => [id, ports.presence.isOnline(connection.world, id)]),
  );
}

// Decisions about other users: moderators decide about everyone, and each user decides whom to
// block.

/** Commands for moderating users. */
export const moderation: CommandTable<
  "user.ban" | "user.silence" | "user.reactivate",
  UserPorts,
  CommandSender
> = {
  "user.ban": { requires: "user.manage", handler: ban },
  "user.silence": { requires: "user.manage", handler: silence },
  "user.reactivate": { requires: "user.manage", handler: reactivate },
};

/** Commands for decisions about other users, including moderation. */
const decisions: CommandTable<
  | keyof typeof moderation
  | "user.messages.delete"
  | "user.delete"
  | "user.block"
  | "user.unblock"
  | "user.list.blocked",
  UserPorts
> = {
  ...moderation,
  "user.messages.delete": { requires: "user.manage", handler: deleteMessages },
  "user.delete": { requires: "user.delete", handler: erase },
  "user.block": { requires: "login", handler: block },
  "user.unblock": { requires: "login", handler: unblock },
  "user.list.blocked": { requires: "login", handler: listBlocked },
};

const HOUR_MS = 60 * 60 * 1000;

async function ban(
  context: CommandContext<UserPorts, CommandSender>,
  payload: Commands["user.ban"]["payload"],
) {
  const { id } = await subjectNamed(context, payload, "ban");
  const { ports, connection } = context;
  const { users } = ports.store;
  const { network } = payload;
  const until = network === undefined ? undefined : ports.clock.date() + network * HOUR_MS;
  const decision = { state: "banned", networkUntil: until } as const;
  await users.moderate(connection.world, id, decision, connection.author);
  if (until === undefined) return {};
  return { network: (await users.networkBan(connection.world, id)) !== undefined };
}

async function silence(
  context: CommandContext<UserPorts, CommandSender>,
  payload: Commands["user.silence"]["payload"],
) {
  const until = payload.until == null ? undefined : Date.parse(payload.until);
  const { ports, connection } = context;
  if (until !== undefined && !(until > ports.clock.date())) {
    throw invalidPayload({ until: ["Must be in the future."] });
  }
  const { id } = await subjectNamed(context, payload, "silence");
  const decision = { state: "silenced", until } as const;
  await ports.store.users.moderate(connection.world, id, decision, connection.author);
  return {};
}

async function reactivate(context: CommandContext<UserPorts, CommandSender>, payload: UserPayload) {
  const { id } = await subjectNamed(context, payload, "reactivate");
  const { ports, connection } = context;
  await ports.store.users.moderate(connection.world, id, "", connection.author);
  return {};
}

/** Deletes a user's messages one by one, as a moderator would, so that every open page follows. */
async function deleteMessages(context: CommandContext<UserPorts>, payload: UserPayload) {
  const { id } = await subjectNamed(context, payload);
  const { ports, connection, me } = context;
  const { chat } = ports.store;
  const { world, author } = connection;
  // What a moderator approves meanwhile is sent, and found below.
  let deleted = await chat.rejectAll(world, id, author);
  for (let after: number | undefined = 0; after !== undefined;) {
    const slice: {
      next: number | undefined;
      messages: readonly { id: number; channel: string }[];
    } = await chat.sentBy(world, id, after);
    for (const { id: replaces, channel } of slice.messages) {
      const draft = { sender: me.id, content: { type: "deleted" }, replaces } as const;
      try {
        await chat.send(world, channel, { ...draft, moderates: true, volatile: true }, author);
        deleted++;
      } catch (error) {
        // The message or its room has just been deleted.
        if (!(error instanceof StoreError) || error.problem !== "absent") throw error;
      }
    }
    after = slice.next;
  }
  return { deleted };
}

async function erase(context: CommandContext<UserPorts>, payload: UserPayload) {
  const { id } = await subjectNamed(context, payload, "delete");
  const { ports, connection } = context;
  const name = { user_id: id };
  await ports.store.users.erase(connection.world, name, connection.author);
  return {};
}

async function block(context: CommandContext<UserPorts>, payload: UserPayload) {
  const { id } = await personNamed(context, payload, "block");
  const { ports, connection, me } = context;
  await ports.store.users.block(connection.world, me.id, id, connection.author);
  return {};
}

async function unblock(context: CommandContext<UserPorts>, payload: UserPayload) {
  const { id } = await personNamed(context, payload, "unblock");
  const { ports, connection, me } = context;
  await ports.store.users.unblock(connection.world, me.id, id, connection.author);
  return {};
}

async function listBlocked(context: CommandContext<UserPorts>) {
  const { ports, connection, me } = context;
  const blocked = await ports.store.users.blocked(connection.world, me.id);
  return { users: blocked.map((user) => shown(context, user)) };
}

/** Ports of the web push command. */
export interface WebPushPorts {
  readonly clock: Clock;
  readonly store: { readonly push: PushStore };
  readonly rates: Pick<UserRateLimits, "maySubscribe">;
  /** Returns what is wrong with a URL that a user submitted, or undefined if requests may be sent to that URL. */
  readonly addressFault: (url: string) => Promise<string | undefined>;
}

/** The command for web push, which reaches browsers whose page is closed. */
export const webPush: CommandTable<
  Extract<keyof Commands, `user.web_push.${string}`>,
  WebPushPorts
> = { "user.web_push.subscribe": { requires: "world.view", handler: subscribe } };

async function subscribe(
  { ports, connection, me }: CommandContext<WebPushPorts>,
  { subscription, moderation = false }: Commands["user.web_push.subscribe"]["payload"],
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
    { endpoint, p256dh, auth, moderation },
    ports.clock.date(),
  );
  return {};
}

/**
 * Returns the faults of a browser's key (RFC 8291), by field path; empty if there are none.
 * @param size required size of the key, in bytes.
 */
function faultIn(name: "p256dh" | "auth", text: string, size: number) {
  const bytes = Buffer.from(text, "base64url");
  const isKey = bytes.length === size && (name === "auth" || isPoint(bytes));
  return isKey ? {} : { [`subscription.keys.${name}`]: ["Is not a browser's key."] };
}

/** Maximum size of a client state, in bytes of JSON. */
const MAX_CLIENT_STATE = 32 * 1024;

/** Commands for a world's users and their moderation. */
export const users: CommandTable<
  Exclude<
    Extract<keyof Commands, `user.${string}` | `exhibition.${string}`>,
    `user.kiosk.${string}` | `user.web_push.${string}` | "user.report"
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

/** Rejects values that are too large to store. */
function boundSize(fields: Record<string, [value: unknown, most: number]>): void {
  const faults: Faults = {};
  for (const [name, [value, most]] of Object.entries(fields)) {
    const fault = value === undefined ? undefined : boundFault(value, most);
    if (fault) faults[name] = [fault];
  }
  if (Object.keys(faults).length > 0) throw invalidPayload(faults);
}

async function update(
  { ports, connection, login, me, world }: CommandContext<UserPorts>,
  { profile, client_state }: Commands["user.update"]["payload"],
) {
  // Everyone in a silenced user's rooms would see the new name.
  if (profile && (isSilenced(me) || login.scope)) throw worldDenied();
  boundSize({ profile: [profile, MAX_PROFILE], client_state: [client_state, MAX_CLIENT_STATE] });
  const changes = { ...(profile && { profile }), ...(client_state && { client_state }) };
  const size = Buffer.byteLength(JSON.stringify(changes));
  if (!ports.rates.mayWrite(connection, size)) throw rateLimited();
  const { users } = ports.store;
  if (profile) {
    requireAllowedName(world.value, { profile, me });
    await requireFreeName(users, world.value, { identity: login, profile, me });
  }
  await users.update(connection.world, me.id, changes, connection.author);
  connection.loop.afterAnswer(() => ports.forceJoins(connection));
  return {};
}

async function updateOther(
  context: CommandContext<UserPorts>,
  payload: Commands["user.admin.update"]["payload"],
) {
  const { profile, pretalx_id, client_state } = payload;
  boundSize({ profile: [profile, MAX_PROFILE], client_state: [client_state, MAX_CLIENT_STATE] });
  const { ports, connection } = context;
  const user = await subjectNamed(context, payload);
  const { id } = user;
  const isScreen = kindOf(user) === "kiosk";
  if (profile && isScreen) await requireSeen(context, { profile });
  if (profile) requireAllowedName(context.world.value, { profile, me: user });
  const changes = {
    ...(profile && { profile }),
    ...(client_state && isScreen && { client_state }),
    ...(pretalx_id !== undefined && { pretalx_id }),
  };
  // Omits the connection from the author: if callers change their own user, their connection is
  // pushed the change like all other connections of that user.
  const { connection: _, ...by } = connection.author;
  await ports.store.users.update(connection.world, id, changes, by);
  return {};
}

/** Creates the module for the people in a world. */
export function userModule(
  ports: Omit<UserPorts, "searches"> &
    SearchPorts &
    KioskPorts &
    WebPushPorts &
    GuestPushPorts &
    ModerationTimerPorts,
) {
  const searches = new Searches(ports);
  const timer = new ModerationTimer(ports);
  const waiting = new GuestPushes(ports);
  return {
    bound: bind({ ...users, ...kiosks, ...webPush, ...guests }, { ...ports, searches }),
    /** Pushes guests who wait for approval to managers of users. */
    onEntry: waiting.handlers,
    /** Ends silences by themselves. */
    onModeration: timer.handlers,
    enter: async (world: string) => timer.watch(world),
    forget: (world: string) => timer.unwatch(world),
    stop: () => timer.close(),
    // Clients of Venueless expect these fields.
    entrance: async () => () => ({ exhibition: { exhibitors: [], contact_requests: [] } }),
    leave: (connection: Connection) => searches.end(connection),
  } satisfies LiveModule & { onModeration: EntryHandlers };
}
