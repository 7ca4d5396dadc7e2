import { readable, type Readable, writable } from "svelte/store";
import { Foyer, Live, LiveError, type LiveState, type PublicUser } from "../../client/index.js";
import { POLL_KINDS } from "../../schemas/plain/polls.js";
import { type ClosedPhase, CLOSED_PHASES } from "../../schemas/plain/access.js";
import { t } from "../i18n/index.js";
import type { Identity } from "./identity.js";

/** State of the connection. Times are in milliseconds. */
export type Connection =
  | { readonly is: "connecting" }
  | { readonly is: "online" }
  /** The client retries at `retryAt`, on the clock of `Date`. */
  | { readonly is: "offline"; readonly retryAt: number }
  /** The server rejected the client, or the client was closed. */
  | {
      readonly is: "ended";
      readonly code: string;
      /** Whether a moderator banned the user. */
      readonly isBanned?: boolean;
      /** The phase of the event that keeps the user out. */
      readonly phase?: ClosedPhase | undefined;
    };

interface SessionOptions {
  /** The server's address. */
  baseUrl: string;
  world: string;
  identity: Identity;
  /** Replaces the connection in tests. */
  live?: Live;
}

/** A visit to a world: the connection and its state. */
export class Session {
  readonly live: Live;
  readonly api: Foyer;
  readonly baseUrl: string;
  readonly world: string;
  readonly identity: Identity;
  readonly notices = new Notices();
  readonly people: People;
  /** The user's view of the world, or undefined before the first login. */
  readonly state: Readable<LiveState | undefined>;
  readonly connection: Readable<Connection>;

  constructor({ baseUrl, world, identity, live }: SessionOptions) {
    this.baseUrl = baseUrl;
    this.world = world;
    this.identity = identity;
    const access = { baseUrl, world, ...identity };
    this.api = new Foyer(access);
    this.live = live ?? new Live({ ...access, pollKinds: POLL_KINDS });
    this.people = new People(this.live);
    this.state = stateOf(this.live);
    this.connection = connectionOf(this.live);
  }

  /** Whether the visitor is anonymous, and therefore sees only the room that the visitor's link names. */
  get isAnonymous(): boolean {
    return this.identity.inviteToken !== undefined;
  }

  /** The current user, or undefined before the first login. */
  get me(): PublicUser | undefined {
    return this.live.state?.user;
  }

  close(): void {
    this.live.close();
  }
}

/** A client's current state. */
const stateOf = (live: Live): Readable<LiveState | undefined> =>
  readable<LiveState | undefined>(live.state, (set) => {
    set(live.state);
    return live.on("client.state", set);
  });

function connectionOf(live: Live): Readable<Connection> {
  const store = writable<Connection>({ is: live.isConnected ? "online" : "connecting" });
  live.on("authenticated", () => store.set({ is: "online" }));
  live.on("client.disconnected", ({ retryIn }) =>
    store.set({ is: "offline", retryAt: Date.now() + retryIn }),
  );
  live.on("client.closed", ({ code, details }) => {
    const isBanned = details["moderation_state"]?.includes("banned") ?? false;
    const phase = CLOSED_PHASES.find((it) => details["access"]?.includes(it));
    store.set({ is: "ended", code, isBanned, phase });
  });
  return { subscribe: store.subscribe };
}

/**
 * Returns an error's message. Messages from the server are in English, except for those that people
 * meet in normal use.
 */
export const messageOf = (error: unknown): string => {
  // An answer to a poll is refused as a vote, with the code of the reason in the details.
  const codes = error instanceof LiveError ? [error.code, ...(error.details["code"] ?? [])] : [];
  if (codes.includes("chat.blocked_word")) return t("chat.blockedWord");
  return error instanceof Error ? error.message : String(error);
};

/** Returns the code of an error from the live client, or undefined for any other error. */
export const codeOf = (error: unknown): string | undefined =>
  error instanceof LiveError ? error.code : undefined;

/** A short message to the user. */
export interface Notice {
  readonly id: number;
  readonly kind: "info" | "error";
  readonly text: string;
  /** The route of the page that the notice is about. */
  readonly href?: string;
}

/** Duration of an info notice, in milliseconds. Errors stay until they are closed or the page changes. */
const NOTICE_MS = 2500;

/** A page's notices. */
export class Notices implements Readable<readonly Notice[]> {
  readonly #all = writable<readonly Notice[]>([]);
  readonly subscribe = this.#all.subscribe;
  #last = 0;

  info(text: string, href?: string): void {
    const id = this.#add("info", text, href);
    setTimeout(() => this.close(id), NOTICE_MS);
  }

  error(text: string): void {
    this.#add("error", text);
  }

  /** Removes all notices, because they are about the previous page. */
  clear(): void {
    this.#all.set([]);
  }

  close(id: number): void {
    this.#all.update((all) => all.filter((notice) => notice.id !== id));
  }

  #add(kind: Notice["kind"], text: string, href?: string): number {
    const id = ++this.#last;
    // Do not repeat a notice that is still shown.
    this.#all.update((all) => [
      ...all.filter((notice) => notice.text !== text).slice(-3),
      { id, kind, text, ...(href !== undefined && { href }) },
    ]);
    return id;
  }
}

/** Maximum number of users per request. */
const MAX_BATCH_USERS = 100;

/** The users that a page has encountered, by id. Unknown users are fetched in batches. */
export class People implements Readable<ReadonlyMap<string, PublicUser>> {
  readonly #live: Live;
  readonly #known = new Map<string, PublicUser>();
  readonly #store = writable<ReadonlyMap<string, PublicUser>>(this.#known);
  readonly subscribe = this.#store.subscribe;
  /** Ids that are being fetched, or that the server did not find. */
  readonly #asked = new Set<string>();
  #wanted: string[] = [];

  constructor(live: Live) {
    this.#live = live;
    live.on("user.updated", (user) => this.add([user]));
    live.on("authenticated", () => this.#asked.clear());
  }

  get(id: string): PublicUser | undefined {
    return this.#known.get(id);
  }

  /** Caches users that the server has sent. */
  add(users: Iterable<PublicUser>): void {
    let isChanged = false;
    for (const user of users) {
      if (this.#known.get(user.id) === user) continue;
      this.#known.set(user.id, user);
      isChanged = true;
    }
    if (isChanged) this.#store.set(this.#known);
  }

  /** Fetches users that have not been cached yet, in the next batch. */
  want(ids: Iterable<string>): void {
    for (const id of ids) {
      if (this.#known.has(id) || this.#asked.has(id)) continue;
      this.#asked.add(id);
      if (this.#wanted.push(id) === 1) queueMicrotask(() => void this.#fetch());
    }
  }

  async #fetch(): Promise<void> {
    const ids = this.#wanted;
    this.#wanted = [];
    for (let at = 0; at < ids.length; at += MAX_BATCH_USERS) {
      const batch = ids.slice(at, at + MAX_BATCH_USERS);
      try {
        const found = await this.#live.call("user.fetch", { ids: batch });
        this.add(Object.values(found as Record<string, PublicUser>));
      } catch {
        // Without a connection, the next request for these users retries.
        batch.forEach((id) => this.#asked.delete(id));
      }
    }
  }
}
