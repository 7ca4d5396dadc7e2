import type { ChatEvent, ChatEventType, ChatStore } from "../../../db/contract/chat-store.js";
import type { UserRecord, UserStore } from "../../../db/contract/store.js";
import type { Clock } from "../../../db/runtime.js";
import type { Commands, PublicUser, TypedEvent } from "../../../schemas/live/index.js";
import type { World } from "../../../schemas/worlds.js";
import type { ChannelContext, EntryHandlers, Sender } from "../../module.js";
import type { Presence } from "../../people/presence.js";
import type { Rates } from "../../people/rates.js";
import { encoded, Json, jsonOf, type Sendable, SharedJson } from "../../rules/encoding.js";
import { tooLarge } from "../../rules/problems.js";
import { isVolatile } from "../../rules/rights.js";
import { SharedReads } from "../../rules/shared-reads.js";
import { sentEvent } from "./audience.js";
import type { Channels } from "./channels.js";
import { readUsers, sharedUser, usersIn } from "./chat-users.js";
import type { ReadStates } from "./unread/read-states.js";

/** How many pages are kept: each entry about a user looks at all of them. */
const MAX_CACHED_PAGES = 256;

/**
 * How large they are, all together and each, in characters of JSON. No page is larger:
 * the largest is the one that costs most to read.
 */
const MAX_CACHED_CHARACTERS = 16 * 1024 * 1024;
const MAX_PAGE_CHARACTERS = 8 * 1024 * 1024;

/** The size of a user of a page, likewise. */
const USER_CHARACTERS = 1000;

/** A page as it is sent. */
type FetchedPage = Commands["chat.fetch"]["result"];

/** A page of events, shared by all receivers. Do not change it. */
export interface Page {
  /** How large the results are, in characters of JSON. */
  readonly size: number;
  /** The ids of the users that it carries. */
  readonly involved: readonly string[];
  /** The known ones among them. */
  readonly found: ReadonlyMap<string, UserRecord>;
  readonly results: Json<TypedEvent[]>;
  /** All of them as a receiver without any users gets them, by whether they manage users. */
  readonly everybody: Map<boolean, ShownUsers>;
  /** The whole answers with them. */
  readonly answers: WeakMap<ShownUsers, SharedJson<FetchedPage>>;
}

/** Users by their ids, and the ids. */
interface ShownUsers {
  readonly ids: ReadonlySet<string>;
  readonly json: Json<Record<string, PublicUser>>;
}

/** Which page it is. */
interface PageKey {
  readonly world: string;
  readonly channel: string;
  readonly before: number | undefined;
  readonly after: number | undefined;
  readonly limit: number;
  readonly withoutMembers: boolean;
}

/**
 * Pages that many clients fetch at the same time: all arriving users fetch the latest page.
 * A page is kept until an entry of the log may have changed it.
 */
export class PageCache {
  readonly #pages: SharedReads<PageKey, Page>;
  /** The handlers of entries. */
  readonly handlers: EntryHandlers;

  /** @param isCurrent whether this process has got all entries of a world up to a second ago. */
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

  /** @param make reads a page that is not kept. */
  get(key: PageKey, make: () => Promise<Page>): Promise<Page> {
    const { channel, before, after, limit, withoutMembers } = key;
    const name = `${channel} ${before} ${after} ${limit} ${withoutMembers}`;
    return this.#pages.get(name, key, make);
  }

  /** Forgets the pages of a world. */
  forget(world: string): void {
    this.#pages.forgetWorld(world);
  }
}

/** Counts the events of channels that this process made. */
export interface ChatMetrics {
  chatted(type: ChatEventType): void;
}

/** The ports of the commands of the chat. */
export interface ChatPorts {
  readonly clock: Clock;
  readonly limits: { readonly maxText: number };
  readonly store: { readonly chat: ChatStore; readonly users: UserStore };
  readonly rates: Rates;
  readonly presence: Presence;
  readonly channels: Channels;
  readonly readStates: ReadStates;
  readonly pages: PageCache;
  readonly metrics: ChatMetrics | undefined;
  /** Counts the new messages of a world. */
  readonly activity: { count(world: string, what: "messages"): void };
}

/** How many events a page has at most. */
const MAX_PAGE_EVENTS = 1000;

/** How many messages a search finds at a time. */
const SEARCH_RESULTS = 20;

/** How many users a page carries, and their largest size together, in characters of JSON. */
const MAX_USERS = 1000;
const MAX_USERS_CHARACTERS = 256 * 1024;

/** How large the users in the member events of a page may be, likewise. */
const MAX_MEMBERS_CHARACTERS = 4 * 1024 * 1024;

/** An id as clients send it. A number above every id means all events. */
export const idOf = (id: number | string): number => Math.min(Number(id), Number.MAX_SAFE_INTEGER);

/**
 * A page of events, with the users that the connection does not have yet.
 * @param selection.until the id of the last event that may be part of it, for a
 *   connection that is only about to subscribe.
 */
export async function pageOf(
  context: ChannelContext<ChatPorts, Sender>,
  selection: Selection,
): Promise<{
  results: Json<TypedEvent[]>;
  users: ShownUsers;
}> {
  const page = await pageFor(context, selection);
  return { results: page.results, users: usersFor(context, page, selection) };
}

/** The answer with a page. All who have none of its users yet share its bytes. */
export async function answerWithPage(
  context: ChannelContext<ChatPorts, Sender>,
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

/** A page of the messages that a search finds, the newest first. */
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
  context: ChannelContext<ChatPorts, Sender>,
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
  { ports, connection: { world }, world: { value } }: ChannelContext<ChatPorts, Sender>,
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

/** A page with some events. */
async function pageWith(
  ports: ChatPorts,
  world: string,
  value: World,
  events: readonly ChatEvent[],
): Promise<Page> {
  const perEvent = events.map(usersIn);
  // Every sender comes before users who are only mentioned.
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
 * The users of a page that the connection does not have yet. From now on, they count as sent. A
 * call over HTTP has none.
 */
function usersFor(
  { ports, connection, channel, may, world: { value } }: ChannelContext<ChatPorts, Sender>,
  { involved, found, everybody }: Page,
  { until }: Selection,
): ShownUsers {
  const { subscriptions } = ports.channels;
  const admin = may("user.manage");
  const shown = (ids: readonly string[]) =>
    shownUsers(ids, found, value, ports.clock.date(), admin);
  if (connection.isCall) return shown(involved);
  const listener = subscriptions.listener(connection);
  // A push during a subscription may never be sent.
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

/** Some users as clients get them, as many as fit in. */
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
