import type { ChatEvent } from "../../../db/contract/chat-store.js";
import type { UserRecord } from "../../../db/contract/store.js";
import type { PublicUser, TypedEvent } from "../../../schemas/live/index.js";
import type { World } from "../../../schemas/worlds.js";
import type { ChannelContext, Sender } from "../../module.js";
import { encoded, Json, jsonOf, type Sendable, SharedJson } from "../../rules/encoding.js";
import { tooLarge } from "../../rules/problems.js";
import { isVolatile } from "../../rules/rights.js";
import { sentEvent } from "./audience.js";
import type { ChatPorts } from "./chat-ports.js";
import { readUsers, sharedUser, usersIn } from "./chat-users.js";
import type { FetchedPage, Page, PageKey, ShownUsers } from "./page-cache.js";

/** How many events a page has at most. */
const MAX_PAGE = 1000;

/** How many messages a search finds at a time. */
const FOUND = 20;

/** How many users a page carries, and their largest size together, in characters of JSON. */
const MAX_USERS = 1000;
const MAX_USERS_SIZE = 256 * 1024;

/** How large the users in the member events of a page may be, likewise. */
const MAX_MEMBERS_SIZE = 4 * 1024 * 1024;

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
  const search = { query, limit: FOUND + 1, ...(before !== undefined && { before }) };
  const found = await ports.store.chat.search(connection.world, channel, search);
  const page = await pageWith(ports, connection.world, world.value, found.slice(0, FOUND));
  const users = usersFor(context, page, { limit: FOUND });
  return { results: page.results, users: users.json, more: found.length > FOUND };
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
          limit: Math.min(limit, MAX_PAGE),
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
    if (size > MAX_MEMBERS_SIZE) throw tooLarge();
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
    (id) => !listener.knows(id, audience?.toldOf(id, connection) ?? -1),
  );
  const knowsNobody = unknown.length === involved.length;
  let users = knowsNobody ? everybody.get(admin) : undefined;
  if (!users) {
    users = shown(unknown);
    if (knowsNobody) everybody.set(admin, users);
  }
  listener.tell(users.ids);
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
    if (size > MAX_USERS_SIZE) break;
    users[id] = shown;
  }
  return { ids: new Set(Object.keys(users)), json: encoded<Record<string, PublicUser>>(users) };
}
