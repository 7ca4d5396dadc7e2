import type { ChatEvent, ChatStore } from "../../../db/contract/chat-store.js";
import type { UserRecord, UserStore } from "../../../db/contract/store.js";
import type { Clock } from "../../../db/runtime.js";
import type { PublicUser } from "../../../schemas/live/index.js";
import { firstOf, UUID } from "../../../schemas/plain/texts.js";
import type { World } from "../../../schemas/worlds.js";
import type { ChannelContext } from "../../module.js";
import { encoded, type Json } from "../../rules/encoding.js";
import { isVolatile } from "../../rules/rights.js";
import { publicUser } from "../../rules/shapes.js";

/** A message that mentions this many users, or more, sends no notifications. */
const SILENT_MENTIONS = 50;

const MENTION = new RegExp(`@(${UUID})`, "gi");

/**
 * The ids that a text mentions, in lower case and each once; none if there are 50 or
 * more. The JSON of a text mentions the same.
 */
export function mentionsIn(text: string): string[] {
  const ids = new Set<string>();
  for (const [, id] of text.matchAll(MENTION)) {
    ids.add(id!.toLowerCase());
    if (ids.size >= SILENT_MENTIONS) return [];
  }
  return [...ids];
}

/** Where users are read. */
export interface UserReads {
  readonly store: { readonly users: UserStore };
}

// The users of events, and their form for clients.

/** Whether a user has a display name, which members need. */
export const hasName = ({ profile }: UserRecord): boolean =>
  typeof profile?.display_name === "string" && profile.display_name !== "";

/** How many users of one event are looked at. */
const MAX_INVOLVED = 64;

/** How large the users of one push are together, in bytes of JSON. */
const MAX_PUSHED_CHARACTERS = 32 * 1024;

/** The longest display name in a profile that is not sent as a whole, in characters. */
const SHORT_NAME = 100;

/** How many users are read at a time. */
const USERS_PER_READ = 200;

/** For how long the public form of a user is kept: `inactive` depends on the time. In milliseconds. */
const PUBLIC_FORM_AGE_MS = 60_000;

/**
 * The ids of the users of an event, at most 64: the sender, then the users who reacted,
 * the newest reaction of each emoji first, then the mentioned users, anywhere in the
 * content.
 */
export function usersIn({ sender, reactions, content }: ChatEvent): string[] {
  const ids = new Set<string>();
  const take = (id: string) => ids.size < MAX_INVOLVED && ids.add(id);
  if (sender !== null) take(sender);
  const lists = Object.values(reactions);
  for (let back = 1; ids.size < MAX_INVOLVED; back++) {
    const left = lists.filter(({ length }) => length >= back);
    if (left.length === 0) break;
    for (const list of left) take(list.at(-back)!);
  }
  for (const id of mentionsIn(content)) take(id);
  return [...ids];
}

/** Users with some ids, by id. Tombstones are included; unknown ids are left out. */
export async function readUsers(
  { store }: UserReads,
  world: string,
  ids: readonly string[],
): Promise<Map<string, UserRecord>> {
  const found = new Map<string, UserRecord>();
  for (let i = 0; i < ids.length; i += USERS_PER_READ) {
    const slice = ids.slice(i, i + USERS_PER_READ);
    for (const user of await store.users.getMany(world, slice)) {
      found.set(user.id, user);
    }
  }
  return found;
}

interface Known {
  readonly world: World;
  /** In milliseconds since 1970. */
  readonly at: number;
  readonly json: Json<PublicUser>;
  /** How long it is, in bytes. */
  readonly size: number;
}

/** By whether the reader manages users. Records are frozen, and the same until the user changes. */
const known = {
  others: new WeakMap<UserRecord, Known>(),
  admins: new WeakMap<UserRecord, Known>(),
};

function knownUser(user: UserRecord, world: World, now: number, admin: boolean): Known {
  const map = admin ? known.admins : known.others;
  let entry = map.get(user);
  if (entry?.world !== world || Math.abs(now - entry.at) > PUBLIC_FORM_AGE_MS) {
    const json = encoded<PublicUser>(publicUser(user, world, now, admin));
    const size = Buffer.byteLength(json.text);
    entry = { world, at: now, json, size };
    map.set(user, entry);
  }
  return entry;
}

/**
 * A user as others see it. It is made once for all readers.
 * @param now in milliseconds since 1970.
 */
export const sharedUser = (
  user: UserRecord,
  world: World,
  now: number,
  admin: boolean,
): Json<PublicUser> => knownUser(user, world, now, admin).json;

/**
 * The users who fit into one push together: always the first, and then as many as there
 * is space for.
 */
export function fitting(users: Iterable<UserRecord>, world: World, now: number): UserRecord[] {
  const shown: UserRecord[] = [];
  let left = MAX_PUSHED_CHARACTERS;
  for (const user of users) {
    const { size } = knownUser(user, world, now, false);
    if (size > left && shown.length > 0) continue;
    left -= size;
    shown.push(user);
  }
  return shown;
}

/** A user with nothing but the name in the profile. */
export function briefUser(
  user: UserRecord,
  world: World,
  now: number,
  admin: boolean,
): Json<PublicUser> {
  const name = user.profile?.display_name;
  const profile = typeof name === "string" ? { display_name: firstOf(name, SHORT_NAME) } : {};
  return encoded<PublicUser>({ ...publicUser(user, world, now, admin), profile });
}

/** The placeholder for a user without a record, such as after an import. */
export const absentUser = (id: string): PublicUser => ({
  id,
  profile: {},
  pretalx_id: null,
  deleted: true,
  badges: [],
  inactive: true,
});

/** How many members are listed, and how large they may be together, in characters of JSON. */
const MAX_MEMBERS = 1000;
const MAX_MEMBERS_SIZE = 256 * 1024;

/** How many members are read at a time. */
const MEMBERS_PER_READ = 100;

/** For how long a list is kept, in milliseconds. A crowd that comes back asks for it at once. */
const LIST_AGE_MS = 1000;

const NONE = encoded<PublicUser[]>([]);

interface List {
  readonly at: number;
  readonly members: Promise<Json<PublicUser[]>>;
}

/** The ports of lists of members. */
export interface MemberPorts extends UserReads {
  readonly clock: Clock;
  readonly store: UserReads["store"] & { readonly chat: ChatStore };
}

/** The members of channels, as subscribers get them. */
export class Members {
  readonly #ports: MemberPorts;
  readonly #lists = new Map<string, List>();

  constructor(ports: MemberPorts) {
    this.#ports = ports;
  }

  /** Something changed in the members of channels, or in users. */
  forget(): void {
    this.#lists.clear();
  }

  /** The latest to join come first. */
  of(context: ChannelContext): Promise<Json<PublicUser[]>> {
    const { channel, room, may } = context;
    if (room && isVolatile(room.value)) return Promise.resolve(NONE);
    const admin = may("user.manage");
    const key = `${channel} ${admin}`;
    const now = this.#ports.clock.now();
    const known = this.#lists.get(key);
    if (known && now - known.at < LIST_AGE_MS) return known.members;
    for (const [other, { at }] of this.#lists) {
      if (now - at >= LIST_AGE_MS) this.#lists.delete(other);
    }
    const members = read(this.#ports, context, admin).then(encoded<PublicUser[]>);
    this.#lists.set(key, { at: now, members });
    members.catch(() => this.#lists.delete(key));
    return members;
  }
}

async function read(
  { store, clock }: MemberPorts,
  { connection, world, channel, direct }: ChannelContext,
  admin: boolean,
): Promise<Json<PublicUser>[]> {
  const ids = direct ?? (await store.chat.members(connection.world, channel, MAX_MEMBERS));
  const isListed = ({ deleted, moderation_state }: UserRecord) =>
    direct !== undefined || (!deleted && moderation_state !== "banned");
  const members: Json<PublicUser>[] = [];
  let size = 0;
  for (let i = 0; i < ids.length; i += MEMBERS_PER_READ) {
    const slice = ids.slice(i, i + MEMBERS_PER_READ);
    const users = await readUsers({ store }, connection.world, slice);
    for (const id of slice) {
      const user = users.get(id);
      if (!user || !isListed(user)) continue;
      const member = sharedUser(user, world.value, clock.date(), admin);
      size += member.text.length;
      if (size > MAX_MEMBERS_SIZE) return members;
      members.push(member);
    }
  }
  return members;
}
