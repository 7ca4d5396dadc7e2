import { writable, type Readable } from "svelte/store";
import {
  FoyerError,
  type Foyer,
  type Live,
  type PublicUser,
  type User,
} from "../../client/index.js";
import { may } from "../lib/rights.js";
import { messageOf } from "./session.js";

/** A user in the list of people. Fields that the reader may not see are undefined. */
export interface Person {
  readonly id: string;
  readonly profile: Record<string, unknown>;
  readonly badges: readonly string[];
  readonly state: PublicUser["moderation_state"];
  /** When the silence ends by itself, in ISO 8601. */
  readonly until: string | undefined;
  /** The `uid` of the user's tokens; null for a guest. */
  readonly tokenId: string | null | undefined;
  readonly traits: readonly string[] | undefined;
  /** In ISO 8601. */
  readonly lastSeen: string | undefined;
  readonly isOnline: boolean | undefined;
  readonly passkeys: number | undefined;
}

export interface Listing {
  /** Undefined during the first load. */
  readonly people: readonly Person[] | undefined;
  readonly term: string;
  /** Starts at 1. */
  readonly page: number;
  readonly isLast: boolean;
  /** Total over all pages, or undefined if the server does not report the total. */
  readonly count: number | undefined;
  readonly isLoading: boolean;
  readonly problem: string | undefined;
}

/** Number of users per page of the HTTP API, and per live request. */
const PAGE_USERS = 50;

interface Found {
  people: Person[];
  isLast: boolean;
  count?: number;
}

/**
 * A world's users, one page at a time. Without a search term, users are ordered by when they were
 * last seen, if the reader may list users with the HTTP API; otherwise, users are ordered by name.
 */
export class Directory implements Readable<Listing> {
  readonly #api: Foyer;
  readonly #live: Live;
  readonly #store = writable<Listing>({
    people: undefined,
    term: "",
    page: 1,
    isLast: true,
    count: undefined,
    isLoading: true,
    problem: undefined,
  });
  readonly subscribe = this.#store.subscribe;
  /** HTTP API records of the users on loaded pages. */
  readonly #users = new Map<string, User>();
  /** Whether the HTTP API refuses to list users. */
  #isRefused = false;
  #asked = 0;
  #shown: Listing | undefined;

  constructor({ api, live }: { api: Foyer; live: Live }) {
    this.#api = api;
    this.#live = live;
    this.#store.subscribe((listing) => (this.#shown = listing));
  }

  /**
   * Shows a page. A later call supersedes a call in flight.
   * @param page from 1.
   */
  async show(term: string, page: number): Promise<void> {
    const asked = ++this.#asked;
    this.#store.update((it) => ({ ...it, term, page, isLoading: true }));
    try {
      const { people, isLast, count } = await this.#find(term.trim(), page);
      if (asked !== this.#asked) return;
      this.#store.set({ people, term, page, isLast, count, isLoading: false, problem: undefined });
      await this.refresh();
    } catch (error) {
      if (asked !== this.#asked) return;
      const problem = messageOf(error);
      this.#store.update((it) => ({ ...it, isLoading: false, problem }));
    }
  }

  /** Fetches the online status and moderation state of the shown users. */
  async refresh(): Promise<void> {
    const ids = this.#shown?.people?.map(({ id }) => id) ?? [];
    if (ids.length === 0) return;
    const [online, users] = await Promise.all([
      batches(ids, (batch) => this.#live.call("user.online_status", { ids: batch })),
      batches(
        ids,
        async (batch) =>
          (await this.#live.call("user.fetch", { ids: batch })) as Record<string, PublicUser>,
      ),
    ]);
    this.#change((person) => {
      const isOnline = online[person.id] ?? person.isOnline;
      const user = users[person.id];
      if (user?.deleted) return undefined;
      return user
        ? { ...personOf(user, this.#users.get(person.id)), isOnline }
        : { ...person, isOnline };
    });
  }

  /** Ends a silence or a ban, or admits a guest who waits. */
  async reactivate(id: string): Promise<void> {
    await this.#live.call("user.reactivate", { id });
    await this.refresh();
  }

  /** Erases everything that identifies a user. */
  async erase(id: string): Promise<void> {
    await this.#api.deleteUser({ user_id: id });
    this.#users.delete(id);
    this.#change((person) => (person.id === id ? undefined : person));
  }

  async #find(term: string, page: number): Promise<Found> {
    if (term === "" && !this.#isRefused && this.#mayList) {
      try {
        return await this.#list(page);
      } catch (error) {
        const isRefused = error instanceof FoyerError && error.status === 403;
        if (!isRefused) throw error;
        this.#isRefused = true;
      }
    }
    const { results, isLastPage } = await this.#live.call("user.list.search", {
      search_term: term,
      page,
      include_banned: true,
    });
    return {
      people: results.map((user) => personOf(user, this.#users.get(user.id))),
      isLast: isLastPage,
    };
  }

  /** Whether the reader's known rights allow listing users over the HTTP API. */
  get #mayList(): boolean {
    const { state } = this.#live;
    return may(state, "world:update") && may(state, "world:api");
  }

  async #list(page: number): Promise<Found> {
    const { results, next, count } = await this.#api.listUsers({
      ordering: "-last_seen",
      page,
      page_size: PAGE_USERS,
    });
    for (const user of results) this.#users.set(user.id, user);
    return {
      people: results.map((user) =>
        personOf({ id: user.id, profile: user.profile ?? {}, badges: [] }, user),
      ),
      isLast: next === null,
      count,
    };
  }

  /** @param change returns undefined to remove a person. */
  #change(change: (person: Person) => Person | undefined): void {
    this.#store.update((listing) => ({
      ...listing,
      people: listing.people?.flatMap((person) => change(person) ?? []),
    }));
  }
}

type Known = Pick<PublicUser, "id" | "profile" | "badges"> &
  Partial<Pick<PublicUser, "moderation_state" | "moderated_until" | "token_id">>;

const personOf = (
  { id, profile, badges, moderation_state, moderated_until, token_id }: Known,
  user: User | undefined,
): Person => ({
  id,
  profile,
  badges,
  state: moderation_state,
  until: moderated_until,
  tokenId: token_id ?? user?.token_id,
  traits: user?.traits,
  lastSeen: user?.last_seen,
  passkeys: user?.passkeys,
  isOnline: undefined,
});

/** Maximum number of recent visitors to read, and the page size. */
const MAX_SEEN = 5000;
const SEEN = 500;

/** Counts the matching users who are online, among the last few thousand visitors. */
export async function countPresent(
  { api, live }: { api: Foyer; live: Live },
  isAsked: (user: User) => boolean,
): Promise<number> {
  const ids: string[] = [];
  let looked = 0;
  const query = { ordering: "-last_seen", page_size: SEEN } as const;
  for await (const user of api.users(query)) {
    if (isAsked(user)) ids.push(user.id);
    if (++looked === MAX_SEEN) break;
  }
  const online = await batches(ids, (batch) => live.call("user.online_status", { ids: batch }));
  return Object.values(online).filter((isOnline) => isOnline).length;
}

/** Requests 50 ids at a time and merges the responses. */
async function batches<T>(
  ids: readonly string[],
  ask: (ids: string[]) => Promise<Record<string, T>>,
): Promise<Record<string, T>> {
  const all: Record<string, T> = {};
  for (let at = 0; at < ids.length; at += PAGE_USERS) {
    Object.assign(all, await ask(ids.slice(at, at + PAGE_USERS)));
  }
  return all;
}
