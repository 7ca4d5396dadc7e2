import { readable, type Readable, writable } from "svelte/store";
import { Foyer, Live, LiveError, type LiveState, type PublicUser } from "../../client/index.js";
import type { Identity } from "./identity.js";

/** Whether there is a connection. Times are in milliseconds. */
export type Connection =
  | { readonly is: "connecting" }
  | { readonly is: "online" }
  /** The client tries again at `retryAt`, on the clock of `Date`. */
  | { readonly is: "offline"; readonly retryAt: number }
  /** The server turned the client away, or it was closed. */
  | {
      readonly is: "ended";
      readonly code: string;
      /** Whether a moderator banned the user. */
      readonly isBanned?: boolean;
    };

/** The options of a session. */
interface SessionOptions {
  /** The address of the server. */
  baseUrl: string;
  world: string;
  identity: Identity;
  /** For tests. */
  live?: Live;
}

/** One visit to a world: the connection and the state behind it. */
export class Session {
  readonly live: Live;
  readonly api: Foyer;
  readonly baseUrl: string;
  readonly world: string;
  readonly identity: Identity;
  readonly notices = new Notices();
  readonly people: People;
  /** The user's view of the world; undefined before the first login. */
  readonly state: Readable<LiveState | undefined>;
  readonly connection: Readable<Connection>;

  constructor({ baseUrl, world, identity, live }: SessionOptions) {
    this.baseUrl = baseUrl;
    this.world = world;
    this.identity = identity;
    const access = { baseUrl, world, ...identity };
    this.api = new Foyer(access);
    this.live = live ?? new Live(access);
    this.people = new People(this.live);
    this.state = stateOf(this.live);
    this.connection = connectionOf(this.live);
  }

  /** Whether the visitor has no name, and sees nothing but the room of a link. */
  get isAnonymous(): boolean {
    return this.identity.inviteToken !== undefined;
  }

  /** The own user; undefined before the first login. */
  get me(): PublicUser | undefined {
    return this.live.state?.user;
  }

  close(): void {
    this.live.close();
  }
}

/** The state of a client, as it changes. */
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
    store.set({ is: "ended", code, isBanned });
  });
  return { subscribe: store.subscribe };
}

/** The message of an error, in the server's words, in English. */
export const messageOf = (error: unknown): string =>
  error instanceof Error ? error.message : String(error);

/** The code of an error of the live client; undefined for another. */
export const codeOf = (error: unknown): string | undefined =>
  error instanceof LiveError ? error.code : undefined;

/** A short message that disappears by itself. */
export interface Notice {
  readonly id: number;
  readonly kind: "info" | "error";
  readonly text: string;
  /** A page within this one that it is about. */
  readonly href?: string;
}

/** How long a notice stays, in milliseconds. Errors stay until they are closed, or the page changes. */
const NOTICE_MS = 2500;

/** The notices of a page. */
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

  /** Removes all, as they were about another page. */
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

/** How many users are asked for at once. */
const MAX_BATCH_USERS = 100;

/** The users that a page has met, by id. It fetches unknown ones in batches. */
export class People implements Readable<ReadonlyMap<string, PublicUser>> {
  readonly #live: Live;
  readonly #known = new Map<string, PublicUser>();
  readonly #store = writable<ReadonlyMap<string, PublicUser>>(this.#known);
  readonly subscribe = this.#store.subscribe;
  /** The ids that are being fetched, or were fetched in vain. */
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

  /** Remembers users that the server has sent. */
  add(users: Iterable<PublicUser>): void {
    let isChanged = false;
    for (const user of users) {
      if (this.#known.get(user.id) === user) continue;
      this.#known.set(user.id, user);
      isChanged = true;
    }
    if (isChanged) this.#store.set(this.#known);
  }

  /** Fetches unknown users. */
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
        // Without a connection; the next that wants them asks again.
        batch.forEach((id) => this.#asked.delete(id));
      }
    }
  }
}
