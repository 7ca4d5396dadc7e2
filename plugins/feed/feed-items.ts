import { Cache } from "../../db/cache.js";
import type { Author } from "../../db/contract/author.js";
import type { Store } from "../../db/contract/store.js";
import type { Entry } from "../../db/log/entries.js";
import { type Published, published } from "../../db/log/log-events.js";
import type { TypeFilter } from "../../schemas/plain/feed.js";

/** Whether texts of earlier entries may be gone. */
export const isErasing = (entry: Entry): boolean =>
  entry.type === "user.erased" ||
  entry.type === "chat.erased" ||
  (entry.type === "chat.event" && entry.delivery.event.replaces !== null);

/** An entry of the feed, ready to be sent. */
export interface FeedItem {
  readonly seq: number;
  readonly type: string;
  /** When it was written, in milliseconds since 1970. */
  readonly at: number;
  /** The JSON of the whole entry. */
  readonly json: string;
}

/** The parts of the store that the feed reads. */
export type FeedStore = Pick<Store, "log" | "users" | "chat" | "questions" | "polls" | "audit">;

/** How many users are read at once. */
const USERS_PER_READ = 200;

/** Whether channels are direct, by world and channel. That never changes. */
const direct = new Cache<boolean>(1024 * 1024);

/**
 * The entries of the feed, with everything that is read when they are sent: names, votes, and
 * texts, which may be erased by then. Entries that the feed does not show are left out.
 */
export async function itemsOf(
  store: FeedStore,
  world: string,
  entries: readonly Entry[],
  filter?: TypeFilter,
): Promise<FeedItem[]> {
  const shown = entries.flatMap((entry) => {
    const found = published(entry);
    return found && (filter?.has(found.type) ?? true) ? [{ entry, found }] : [];
  });
  if (shown.length === 0) return [];
  const names = await namesOf(
    store,
    world,
    shown.map(({ entry }) => entry.by),
  );
  const items = await Promise.all(
    shown.map(async ({ entry, found }) => {
      const data = await dataOf(store, world, entry, found);
      if (data === undefined) return [];
      const { seq, at } = entry;
      const head = JSON.stringify({
        seq,
        cursor: String(seq),
        at: new Date(at).toISOString(),
        type: found.type,
        by: authorOf(entry.by, names),
      });
      const json = `${head.slice(0, -1)},"data":${data}}`;
      return [{ seq, type: found.type, at, json }];
    }),
  );
  return items.flat();
}

/** The names in tokens, by the ids of users, and by the digests of callers who are no users. */
export async function namesOf(
  { users, audit }: Pick<FeedStore, "users" | "audit">,
  world: string,
  authors: readonly Author[],
): Promise<Map<string, string | null>> {
  const ids = [...new Set(authors.flatMap(({ user }) => user ?? []))];
  const tokens = new Set(authors.flatMap(({ token }) => token ?? []));
  const names = new Map<string, string | null>(await audit.callers(world, [...tokens]));
  for (let i = 0; i < ids.length; i += USERS_PER_READ) {
    const found = await users.getMany(world, ids.slice(i, i + USERS_PER_READ));
    for (const { id, token_id } of found) names.set(id, token_id);
  }
  return names;
}

/** An author as programs read it; null if an entry stands for many. */
export function authorOf({ kind, user, token }: Author, names: ReadonlyMap<string, string | null>) {
  if (kind === "users") return null;
  if (kind === "command" || kind === "server") return { kind };
  const token_id = names.get(user ?? token ?? "") ?? null;
  return { kind, user_id: user ?? null, token_id };
}

/** The JSON of the data of an entry; undefined if the feed does not show it. */
async function dataOf(
  store: FeedStore,
  world: string,
  entry: Entry,
  { type, data }: Published,
): Promise<string | undefined> {
  const json = JSON.stringify(data);
  switch (entry.type) {
    case "chat.event": {
      if (await isDirect(store, world, entry.channel)) return undefined;
      const { content } = entry.delivery.event;
      // The content is JSON of anything: it is neither parsed nor made again.
      return type === "chat.message" || type === "chat.edited"
        ? `${json.slice(0, -1)},"content":${content}}`
        : json;
    }
    case "question.voted": {
      const { room, question } = entry;
      const found = await store.questions.get(world, room, question);
      return found && JSON.stringify({ ...data, score: found.score });
    }
    case "poll.voted": {
      const found = await store.polls.get(world, entry.room, entry.poll);
      return found && JSON.stringify({ ...data, results: found.results });
    }
    default:
      return json;
  }
}

/** Whether a channel is direct, or gone, so that this is not known any more. */
async function isDirect({ chat }: FeedStore, world: string, id: string): Promise<boolean> {
  const key = `${world} ${id}`;
  const known = direct.get(key);
  if (known !== undefined) return known;
  const channel = await chat.channel(world, id);
  if (!channel) return true;
  const isIt = channel.direct !== undefined;
  direct.set(key, isIt, 2 * key.length + 50);
  return isIt;
}
