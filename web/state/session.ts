import { readable, type Readable, writable } from "svelte/store";
import { Foyer, Live, LiveError, type LiveState, type PublicUser } from "../../client/index.js";
import type { Identity } from "./identity.js";
import { Notices } from "./notices.js";
import { People } from "./people.js";

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
export interface SessionOptions {
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
