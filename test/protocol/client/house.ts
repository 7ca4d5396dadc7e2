import root, { type Test } from "tap";
import { Live, type LiveOptions, type SentEvent } from "../../../client/index.js";
import type { Store } from "../../../db/contract/store.js";
import type { PermissionConfig } from "../../../schemas/plain/permissions.js";
import { rules, worldOf } from "../../support/helper.js";
import { type Server, startServer } from "../../support/server.js";
import { Wire } from "./wire.js";

// The real server for client tests, and users who connect to it over a {@link Wire}.

let running: Promise<Server> | undefined;
let count = 0;

/** Returns the server shared by all tests in this process: starting one takes longer than most tests. */
const shared = (): Promise<Server> => (running ??= startServer(root));

const MODULES = [
  { type: "chat.native", config: {} },
  { type: "question", config: { active: true, requires_moderation: false } },
  { type: "poll", config: { active: true } },
];

/** A user to connect, along with overrides for the client options. */
export interface Visitor extends Partial<LiveOptions> {
  uid?: string;
  traits?: string[];
  wire?: Wire;
}

/** A connected user of a {@link House}. */
export interface Guest {
  readonly live: Live;
  readonly wire: Wire;
  readonly errors: unknown[];
  /** Breaks the connection and waits for the next one. */
  readonly reconnect: () => Promise<void>;
}

/** A separate world for a test, with two rooms that have a chat, questions and polls. */
export class House {
  private constructor(
    private readonly t: Test,
    private readonly server: Server,
    readonly world: string,
    readonly hall: string,
    readonly attic: string,
    /** The id of a user who writes directly to the store. */
    readonly ben: string,
  ) {}

  /** @param changes overrides for the world's rules. */
  static async open(t: Test, changes: PermissionConfig = {}): Promise<House> {
    const server = await shared();
    const id = `house-${++count}`;
    const { rooms, users, worlds } = server.store;
    await worlds.create(worldOf(id, { permission_config: rules(changes) }));
    const room = async (name: string) =>
      (await rooms.create(id, { name, module_config: MODULES })).value.id;
    const [hall, attic] = [await room("Hall"), await room("Attic")];
    const profile = { display_name: "Ben" };
    const traits = new Set<string>();
    const ben = await users.enter(id, { tokenId: "ben", traits, profile });
    return new House(t, server, id, hall, attic, ben.id);
  }

  get baseUrl(): string {
    return this.server.baseUrl;
  }

  get store(): Store {
    return this.server.store;
  }

  token(uid: string, ...traits: string[]): string {
    const profile = { display_name: uid };
    return this.server.tokenOf({ world: this.world, uid, traits, profile });
  }

  /** Creates a client with short delays, which may not be connected yet. It is closed at the end of the test. */
  async client({
    uid = "ada",
    traits = [],
    wire = new Wire(),
    ...options
  }: Visitor = {}): Promise<Guest> {
    const errors: unknown[] = [];
    const live = liveOf(this.t, this, {
      world: this.world,
      clientId: undefined,
      token: this.token(uid, ...traits),
      WebSocket: wire.socketClass,
      onError: (error) => errors.push(error),
      ...options,
    });
    const reconnect = async () => {
      const gone = next(live, "client.disconnected");
      wire.drop();
      await gone;
      await live.connected();
    };
    return { live, wire, errors, reconnect };
  }

  async visit(visitor: Visitor = {}): Promise<Guest> {
    const guest = await this.client(visitor);
    await guest.live.connected({ timeout: 60_000 });
    return guest;
  }

  /** Connects a host, who may do everything. */
  async host(): Promise<Live> {
    return (await this.visit({ uid: "host", traits: ["admin", "api"] })).live;
  }

  /**
   * Sends messages as Ben.
   * @returns the ids of the events.
   */
  async say(channel: string, ...bodies: string[]): Promise<number[]> {
    const sent = bodies.map((body) => this.put(channel, this.ben, { type: "text", body }));
    return Promise.all(sent);
  }

  /**
   * Sends a message as the given user.
   * @returns the id of the event.
   */
  async put(
    channel: string,
    sender: string,
    content: Record<string, unknown>,
    replaces?: number,
  ): Promise<number> {
    const draft = { sender, content, volatile: true };
    const { event } = await this.store.chat.send(this.world, channel, {
      ...draft,
      ...(replaces !== undefined && { replaces }),
    });
    return event.id;
  }

  async allow(room: string, changes: PermissionConfig): Promise<void> {
    const { rooms } = this.store;
    await rooms.update(this.world, room, { permission_config: changes });
  }
}

/** Creates a client with short delays. It is closed at the end of the test. */
export function liveOf(
  t: Test,
  { baseUrl }: { baseUrl: string },
  options: Partial<LiveOptions> = {},
): Live {
  const live = new Live({
    baseUrl,
    world: "demo",
    clientId: "ada",
    retryDelay: 2,
    maxRetryDelay: 20,
    ...options,
  });
  t.teardown(() => live.close());
  return live;
}

/** Removes random delays, so that clients retry and reconnect immediately. */
export const hurry = (t: Test): void => void t.intercept(Math, "random", { value: () => 0 });

/** Resolves to the data of the next event with this name. */
export const next = <T>(live: Live, name: string): Promise<T> =>
  new Promise((resolve) => {
    const stop = live.on(name, (data) => {
      stop();
      resolve(data as T);
    });
  });

export const rejection = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => new Error("It was not rejected."),
    (error: unknown) => error,
  );

export async function nextOf<T>(iteration: AsyncIterator<T, undefined>): Promise<T> {
  const { done, value } = await iteration.next();
  if (done) throw new Error("The iteration has ended.");
  return value;
}

export async function take<T>(iteration: AsyncIterator<T, undefined>, count: number): Promise<T[]> {
  const taken: T[] = [];
  while (taken.length < count) taken.push(await nextOf(iteration));
  return taken;
}

export const bodiesOf = (events: readonly SentEvent[]): unknown[] =>
  events.map(({ content }) => content.body);
