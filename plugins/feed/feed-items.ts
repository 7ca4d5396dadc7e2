import { Cache } from "../../db/cache.js";
import type { Author } from "../../db/contract/author.js";
import type { Store } from "../../db/contract/store.js";
import type { Entry } from "../../db/log/entries.js";
import { type Published, published } from "../../db/log/log-events.js";
import type { TypeFilter } from "../../schemas/plain/feed.js";
import { cutSummary, hasCounts } from "../../schemas/plain/polls.js";

/** Whether an entry may indicate that text in earlier entries was erased. */
export const isErasing = (entry: Entry): boolean =>
  entry.type === "user.erased" ||
  entry.type === "chat.erased" ||
  entry.type === "caption.erased" ||
  (entry.type === "chat.event" && entry.delivery.event.replaces !== null);

/** A feed entry, ready to send. */
export interface FeedItem {
  readonly seq: number;
  readonly type: string;
  /** Time at which the entry was written, in milliseconds since 1970. */
  readonly at: number;
  /** The whole entry as JSON. */
  readonly json: string;
}

/** Maximum size of the words or texts of an entry, in bytes. */
const MAX_SUMMARY = 16 * 1024;

/** The parts of the store that the feed reads. */
export type FeedStore = Pick<
  Store,
  "log" | "users" | "chat" | "questions" | "polls" | "captions" | "audit"
>;

const USERS_PER_READ = 200;

/** Whether a channel is direct, by world and channel. A channel's kind never changes. */
const direct = new Cache<boolean>(1024 * 1024);

/**
 * Builds feed items from entries, omitting entries that the feed does not show. Authors' token ids
 * and vote totals are taken from the store's current state, because entries do not contain them.
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
  // Many entries of a page may be about the votes in one poll, which are added up once.
  const polls = new Map<string, Promise<object | undefined>>();
  const items = await Promise.all(
    shown.map(async ({ entry, found }) => {
      const data = await dataOf(store, world, entry, found, polls);
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

/** Returns authors' token ids, keyed by user id, or by token digest for callers who are not users. */
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

/** Returns an author as shown in the feed, or null if the entry aggregates several users. */
export function authorOf({ kind, user, token }: Author, names: ReadonlyMap<string, string | null>) {
  if (kind === "users") return null;
  if (kind === "command" || kind === "server") return { kind };
  const token_id = names.get(user ?? token ?? "") ?? null;
  return { kind, user_id: user ?? null, token_id };
}

/** Serializes an entry's data, or returns undefined if the feed does not show the entry. */
async function dataOf(
  store: FeedStore,
  world: string,
  entry: Entry,
  { type, data }: Published,
  polls: Map<string, Promise<object | undefined>>,
): Promise<string | undefined> {
  const json = JSON.stringify(data);
  switch (entry.type) {
    case "chat.event": {
      if (await isDirect(store, world, entry.channel)) return undefined;
      const { content } = entry.delivery.event;
      // The content is arbitrary JSON text, so it is inserted as is rather than parsed and
      // serialized.
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
      const { room, poll } = entry;
      const results = polls.get(poll) ?? resultsOf(store, world, room, poll);
      polls.set(poll, results);
      const found = await results;
      return found && JSON.stringify({ ...data, ...found });
    }
    case "caption.added": {
      const found = await store.captions.get(world, entry.caption);
      if (!found) return undefined;
      const { session, lang, text, at } = found;
      const spoken_at = new Date(at).toISOString();
      return JSON.stringify({ ...data, session_id: session, lang, text, spoken_at });
    }
    default:
      return json;
  }
}

/** Returns the results of a poll as everybody may see them, or undefined if it was deleted. */
async function resultsOf({ polls }: FeedStore, world: string, room: string, id: string) {
  const found = await polls.get(world, room, id);
  if (!found) return undefined;
  const { results, poll_type } = found;
  const summary = hasCounts(poll_type) ? undefined : await polls.summary(world, room, id, false);
  return { results, ...(summary && { summary: cutSummary(summary, MAX_SUMMARY) }) };
}

/** Whether a channel is direct. A deleted channel counts as direct, because its kind is no longer known. */
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
