import type { Author } from "../../../db/contract/author.js";
import type { ChatEvent, ChatEventType, ChatStore } from "../../../db/contract/chat-store.js";
import type { UserRecord, UserStore } from "../../../db/contract/store.js";
import type { Clock } from "../../../db/runtime.js";
import type { Commands, PublicUser, TypedEvent } from "../../../schemas/live/index.js";
import type { World } from "../../../schemas/worlds.js";
import type { ChannelContext, EntryHandlers, CommandSender } from "../../module.js";
import type { Presence } from "../../people/presence.js";
import type { UserRateLimits } from "../../people/user-rate-limits.js";
import { encoded, Json, jsonOf, type Sendable, SharedJson } from "../../rules/encoding.js";
import { tooLarge } from "../../rules/problems.js";
import { isVolatile } from "../../rules/rights.js";
import { SharedReads } from "../../rules/shared-reads.js";
import { sentEvent } from "./audience.js";
import type { ChatChannels } from "./channels.js";
import { usersIn } from "./chat-users.js";
import { readUsers, sharedUser } from "../../rules/sent-users.js";
import type { ReadStates } from "./unread/read-states.js";

/** Maximum number of cached pages: for each entry about a user, all cached pages are scanned. */
const MAX_CACHED_PAGES = 256;

/**
 * Maximum size of all cached pages together, and of each page, in characters of JSON. No page
 * exceeds the latter limit, because the largest pages are the most expensive to read.
 */
const MAX_CACHED_CHARACTERS = 16 * 1024 * 1024;
const MAX_PAGE_CHARACTERS = 8 * 1024 * 1024;

/** Estimated size of a user in a page, in characters of JSON. */
const USER_CHARACTERS = 1000;

/** A page as sent to clients. */
type FetchedPage = Commands["chat.fetch"]["result"];

/** A page of events, shared by all recipients. Do not modify it. */
export interface Page {
  /** Size of the results, in characters of JSON. */
  readonly size: number;
  /** The ids of the users involved in the page's events. */
  readonly involved: readonly string[];
  /** The involved users that the store knows, by id. */
  readonly found: ReadonlyMap<string, UserRecord>;
  readonly results: Json<TypedEvent[]>;
  /** The users as sent to recipients who have none of these users yet, by whether the recipient manages users. */
  readonly everybody: Map<boolean, ShownUsers>;
  /** The complete response for each value of `everybody`. */
  readonly answers: WeakMap<ShownUsers, SharedJson<FetchedPage>>;
}

/** Encoded users by id, and their ids. */
interface ShownUsers {
  readonly ids: ReadonlySet<string>;
  readonly json: Json<Record<string, PublicUser>>;
}

/** Identifies a page. */
interface PageKey {
  readonly world: string;
  readonly channel: string;
  readonly before: number | undefined;
  readonly after: number | undefined;
  readonly limit: number;
  readonly withoutMembers: boolean;
}

/**
 * Caches pages that many clients fetch at the same time: everyone who arrives fetches the latest
 * page. A page is kept until a log entry may have changed it.
 */
export class PageCache {
  readonly #pages: SharedReads<PageKey, Page>;
  readonly handlers: EntryHandlers;

  /**
   * @param isCurrent whether this process has received all entries that were committed to a world's
   * log at least a second ago.
   */
  constructor(isCurrent: (world: string) => boolean) {
    const pages = new SharedReads<PageKey, Page>({
      isCurrent,
      scopeOf: ({ channel }) => channel,
      most: MAX_CACHED_PAGES,
      mostSize: MAX_CACHED_CHARACTERS,
      mostEach: MAX_PAGE_CHARACTERS,
      sizeOf: ({ size, found }) => size + USER_CHARACTERS * (1 + found.size),
    });
    this.#pages = pages;
    const ofChannel = ({ channel }: { channel: string }) => pages.forgetScope(channel);
    const ofUser = ({ world, user }: { world: string; user: string }) =>
      pages.forget((key, page) => key.world === world && (!page || page.found.has(user)));
    const ofWorld = ({ world }: { world: string }) => this.forget(world);
    this.handlers = {
      "chat.event": ofChannel,
      "chat.reacted": ofChannel,
      "user.entered": ofUser,
      "user.updated": ofUser,
      "user.moderated": ofUser,
      "user.erased": ofUser,
      "chat.erased": ofWorld,
      "room.updated": ofWorld,
      "room.deleted": ofWorld,
      "world.updated": ofWorld,
      "world.deleted": ofWorld,
    };
  }

  /** @param make reads a page that is not cached. */
  get(key: PageKey, make: () => Promise<Page>): Promise<Page> {
    const { channel, before, after, limit, withoutMembers } = key;
    const name = `${channel} ${before} ${after} ${limit} ${withoutMembers}`;
    return this.#pages.get(name, key, make);
  }

  /** Forgets a world's pages. */
  forget(world: string): void {
    this.#pages.forgetWorld(world);
  }
}

/** Counts channel events created by this process. */
export interface ChatMetrics {
  chatted(type: ChatEventType): void;
}

/** Ports of the chat commands. */
export interface ChatPorts {
  readonly clock: Clock;
  readonly limits: { readonly maxText: number };
  readonly store: { readonly chat: ChatStore; readonly users: UserStore };
  readonly rates: UserRateLimits;
  readonly presence: Presence;
  readonly channels: ChatChannels;
  readonly readStates: ReadStates;
  readonly pages: PageCache;
  readonly metrics: ChatMetrics | undefined;
  readonly calls: ChatCalls;
  /** Counts the new messages in a world. */
  readonly activity: { count(world: string, what: "messages"): void };
}

/** Calls in direct channels, each of which begins with a message. */
interface ChatCalls {
  /** Returns the body of the message that starts a call, or undefined on a server that holds no calls. */
  bodyFor(channel: string): Record<string, unknown> | undefined;
  /** Returns the message of the call that is currently held in a channel. */
  running(world: string, channel: string): Promise<ChatEvent | undefined>;
  /** Starts the call that a message announces. */
  begin(world: string, event: ChatEvent, by: Author): Promise<void>;
}

/**
 * Maximum page size of the chat history, in events. Clients may request larger pages, but
 * receive at most this many events.
 */
const MAX_PAGE_EVENTS = 1000;

/** Maximum number of messages in a page of search results. */
const SEARCH_RESULTS = 20;

/** Maximum number of users in a page, and their maximum total size in characters of JSON. */
const MAX_USERS = 1000;
const MAX_USERS_CHARACTERS = 256 * 1024;

/** Maximum total size of the users in a page's member events, in characters of JSON. */
const MAX_MEMBERS_CHARACTERS = 4 * 1024 * 1024;

/** Parses an id sent by a client. A number larger than any id selects all events. */
export const idOf = (id: number | string): number => Math.min(Number(id), Number.MAX_SAFE_INTEGER);

/**
 * Returns a page of events, with the users that the connection does not have yet.
 * @param selection.until the id of the last event that may be included, for a connection that is
 * still subscribing.
 */
export async function pageOf(
  context: ChannelContext<ChatPorts, CommandSender>,
  selection: Selection,
): Promise<{
  results: Json<TypedEvent[]>;
  users: ShownUsers;
}> {
  const page = await pageFor(context, selection);
  return { results: page.results, users: usersFor(context, page, selection) };
}

/** Returns the response with a page. All clients that have none of the page's users yet share the same bytes. */
export async function answerWithPage(
  context: ChannelContext<ChatPorts, CommandSender>,
  selection: Selection,
): Promise<Sendable<FetchedPage>> {
  const page = await pageFor(context, selection);
  const { results, answers } = page;
  const users = usersFor(context, page, selection);
  if (users !== page.everybody.get(context.may("user.manage"))) {
    return { results, users: users.json };
  }
  let answer = answers.get(users);
  if (!answer) {
    answer = new SharedJson(Buffer.from(jsonOf({ results, users: users.json })));
    answers.set(users, answer);
  }
  return answer;
}

/** Returns a page of search results, newest first. */
export async function pageOfSearch(
  context: ChannelContext<ChatPorts>,
  query: string,
  before: number | undefined,
) {
  const { ports, connection, channel, world } = context;
  const search = { query, limit: SEARCH_RESULTS + 1, ...(before !== undefined && { before }) };
  const found = await ports.store.chat.search(connection.world, channel, search);
  const page = await pageWith(ports, connection.world, world.value, found.slice(0, SEARCH_RESULTS));
  const users = usersFor(context, page, { limit: SEARCH_RESULTS });
  return { results: page.results, users: users.json, more: found.length > SEARCH_RESULTS };
}

interface Selection {
  before?: number;
  after?: number;
  until?: number;
  limit: number;
}

function pageFor(
  context: ChannelContext<ChatPorts, CommandSender>,
  { until, limit, before, after }: Selection,
): Promise<Page> {
  const { ports, connection, channel, room } = context;
  const { world } = connection;
  const withoutMembers =
    room !== undefined && (isVolatile(room.value) || room.value.extras.force_join === true);
  const key = { world, channel, before, after, limit, withoutMembers };
  return until === undefined
    ? ports.pages.get(key, () => readPage(context, key))
    : readPage(context, key, until);
}

async function readPage(
  { ports, connection: { world }, world: { value } }: ChannelContext<ChatPorts, CommandSender>,
  { channel, before, after, limit, withoutMembers }: PageKey,
  until = Infinity,
): Promise<Page> {
  const read =
    limit === 0
      ? []
      : await ports.store.chat.events(world, channel, {
          ...(before !== undefined && { before }),
          ...(after !== undefined && { after }),
          limit: Math.min(limit, MAX_PAGE_EVENTS),
          withoutMembers,
        });
  return pageWith(
    ports,
    world,
    value,
    read.filter(({ id }) => id <= until),
  );
}

/** Builds a page from events. */
async function pageWith(
  ports: ChatPorts,
  world: string,
  value: World,
  events: readonly ChatEvent[],
): Promise<Page> {
  const perEvent = events.map(usersIn);
  // Senders precede users who are only mentioned, because the list is truncated.
  const senders = perEvent.map(([first]) => first ?? "");
  const involved = [...new Set([...senders, ...perEvent.flat()])]
    .filter((id) => id !== "")
    .slice(0, MAX_USERS);
  const found = await readUsers(ports, world, involved);
  const now = ports.clock.date();
  const shownUser = (id: string) => {
    const user = found.get(id);
    return user && sharedUser(user, value, now, false);
  };
  let size = 0;
  const results = events.map((event) => {
    const { type, sender } = event;
    const member = type === "channel.member" && found.get(sender ?? "");
    if (member) size += sharedUser(member, value, now, false).text.length;
    if (size > MAX_MEMBERS_CHARACTERS) throw tooLarge();
    return { ...sentEvent(event, shownUser), type: "chat.event" as const };
  });
  const json = encoded<TypedEvent[]>(results);
  return {
    involved,
    found,
    size: json.text.length,
    results: json,
    everybody: new Map(),
    answers: new WeakMap(),
  };
}

/**
 * Returns the users of a page that the connection does not have yet, and records them as sent. For
 * an HTTP call, returns all users of the page.
 */
function usersFor(
  { ports, connection, channel, may, world: { value } }: ChannelContext<ChatPorts, CommandSender>,
  { involved, found, everybody }: Page,
  { until }: Selection,
): ShownUsers {
  const { subscriptions } = ports.channels;
  const admin = may("user.manage");
  const shown = (ids: readonly string[]) =>
    shownUsers(ids, found, value, ports.clock.date(), admin);
  if (connection.isCall) return shown(involved);
  const listener = subscriptions.listener(connection);
  // A push to a connection that is still subscribing may never be sent.
  const audience = until === undefined ? subscriptions.of(channel) : undefined;
  const unknown = involved.filter(
    (id) => !listener.knows(id, audience?.sentAt(id, connection) ?? -1),
  );
  const knowsNobody = unknown.length === involved.length;
  let users = knowsNobody ? everybody.get(admin) : undefined;
  if (!users) {
    users = shown(unknown);
    if (knowsNobody) everybody.set(admin, users);
  }
  listener.markSent(users.ids);
  return users;
}

/** Encodes users for clients, as many as fit into a page. */
function shownUsers(
  ids: readonly string[],
  found: ReadonlyMap<string, UserRecord>,
  world: World,
  now: number,
  admin: boolean,
): ShownUsers {
  const users: Record<string, Json<PublicUser>> = {};
  let size = 0;
  for (const id of ids) {
    const user = found.get(id);
    if (!user) continue;
    const shown = sharedUser(user, world, now, admin);
    size += shown.text.length;
    if (size > MAX_USERS_CHARACTERS) break;
    users[id] = shown;
  }
  return { ids: new Set(Object.keys(users)), json: encoded<Record<string, PublicUser>>(users) };
}
