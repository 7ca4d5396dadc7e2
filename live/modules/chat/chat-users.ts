import type { ChatEvent, ChatStore } from "../../../db/contract/chat-store.js";
import { isGone, type UserRecord } from "../../../db/contract/store.js";
import type { Clock } from "../../../db/runtime.js";
import type { PublicUser } from "../../../schemas/live/index.js";
import { UUID } from "../../../schemas/plain/texts.js";
import type { ChannelContext } from "../../module.js";
import { encoded, type Json } from "../../rules/encoding.js";
import { isVolatile } from "../../rules/rights.js";
import { readUsers, sharedUser, type UserReads } from "../../rules/sent-users.js";

/** A message with this many mentions or more sends no notifications. */
const SILENT_MENTIONS = 50;

const MENTION = new RegExp(`@(${UUID})`, "gi");

/**
 * Returns the ids that a string mentions, lowercased and without duplicates, or no ids if there are
 * 50 or more. The string's JSON encoding yields the same ids.
 */
export function mentionsIn(text: string): string[] {
  const ids = new Set<string>();
  for (const [, id] of text.matchAll(MENTION)) {
    ids.add(id!.toLowerCase());
    if (ids.size >= SILENT_MENTIONS) return [];
  }
  return [...ids];
}

// The users involved in events, and their public form.

/** Whether a user has a display name, which is required for membership. */
export const hasName = ({ profile }: UserRecord): boolean =>
  typeof profile?.display_name === "string" && profile.display_name !== "";

/** Maximum number of users considered per event. */
const MAX_INVOLVED = 64;

/**
 * Returns the ids of the users in an event, at most 64: the sender, then the users who reacted,
 * beginning with the newest reaction of each emoji, then the users mentioned anywhere in the
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

/** Maximum number of listed members, and their maximum total size in characters of JSON. */
const MAX_MEMBERS = 1000;
const MAX_MEMBERS_SIZE = 256 * 1024;

/** Number of members per read. */
const MEMBERS_PER_READ = 100;

/**
 * How long a member list is cached, in milliseconds. When a crowd returns, all of its members
 * request the list at the same time.
 */
const LIST_AGE_MS = 1000;

const NONE = encoded<PublicUser[]>([]);

interface List {
  readonly at: number;
  readonly members: Promise<Json<PublicUser[]>>;
}

/** Ports of member lists. */
export interface MemberPorts extends UserReads {
  readonly clock: Clock;
  readonly store: UserReads["store"] & { readonly chat: ChatStore };
}

/** The members of channels, as sent to subscribers. */
export class Members {
  readonly #ports: MemberPorts;
  readonly #lists = new Map<string, List>();

  constructor(ports: MemberPorts) {
    this.#ports = ports;
  }

  /** Drops all lists after a change to channel members or users. */
  forget(): void {
    this.#lists.clear();
  }

  /** Returns the members of a channel. The latest member to join comes first. */
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
  const isListed = (user: UserRecord) => direct !== undefined || !isGone(user);
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
