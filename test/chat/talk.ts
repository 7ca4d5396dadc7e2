import type { Test } from "tap";
import type { LiveLimits } from "../../config.js";
import type { TestWorld } from "../../testing.js";
import {
  type Client,
  demo,
  type Frame,
  type Json,
  type LiveServer,
  makeRoom,
  startLive,
} from "../live/client.js";

/** The keys of an object, sorted. */
export const keys = (value: object): string[] => Object.keys(value).sort();

/** The keys of a user whom everybody may see. */
export const USER = [
  "badges",
  "deleted",
  "id",
  "inactive",
  "pretalx_id",
  "profile",
];

/** The fields of a user that holders of the key `user.manage` see. */
export const MANAGED = [...USER, "moderation_state", "token_id"].sort();

export const invalid = "protocol.invalid_payload";

/** The content of a message. */
export const text = (body: string) => ({ type: "text", body });

/** The payload of a message. */
export const message = (channel: string, content: Json, more = {}) => ({
  channel,
  event_type: "channel.message",
  content,
  ...more,
});

/** Sends a text. @returns its event. */
export async function say(
  client: Client,
  channel: string,
  body: string,
  more: object = {},
): Promise<Json> {
  const payload = message(channel, text(body), more);
  return (await client.do("chat.send", payload)).event;
}

/** The newest events of a channel, as a connection may see them. */
export async function history(
  client: Client,
  channel: string,
  count = 100,
): Promise<Json[]> {
  // As clients write it: no double holds 2^63 - 1.
  const before_id = "9223372036854775807";
  const page = { channel, count, before_id };
  return (await client.do("chat.fetch", page)).results;
}

export const idsOf = (events: Json[]): number[] =>
  events.map(({ event_id }) => event_id);

export const bodiesOf = (events: Json[]): string[] =>
  events.map(({ content }) => content.body);

/** The names of frames. */
export const namesOf = (frames: Frame[]): string[] =>
  frames.map(([name]) => name);

/** The data of those frames that have a name. */
export const named = (frames: Frame[], name: string): Json[] =>
  frames.filter(([one]) => one === name).map(([, data]) => data);

/** What differs in a room. */
export interface RoomOptions {
  volatile?: boolean;
  force_join?: boolean;
  permission_config?: Record<string, unknown>;
  modules?: Json[];
  world?: string;
}

/** What differs in a person. */
interface PersonOptions {
  traits?: string[];
  world?: string;
  /** A display name; the name of the person by default, none if null. */
  name?: string | null;
}

/** A server with people who talk. */
export class Talk {
  /** The events that only prove that everything before them was delivered. */
  readonly #fences = new Set<number>();
  #count = 0;

  constructor(readonly live: LiveServer) {}

  /** Creates a room with a chat. @returns its id, which its channel shares. */
  async room({
    volatile,
    force_join,
    permission_config = {},
    modules = [
      {
        type: "chat.native",
        ...(volatile !== undefined && { config: { volatile } }),
      },
    ],
    world = "demo",
  }: RoomOptions = {}): Promise<string> {
    const draft = {
      name: `Room ${++this.#count}`,
      module_config: modules,
      permission_config,
    };
    const id = await makeRoom(this.live, draft, world);
    if (force_join) await this.alter(id, { extras: { force_join } }, world);
    return id;
  }

  /** Changes a room in the store. */
  async alter(room: string, changes: object, world = "demo"): Promise<void> {
    await this.live.app.store.rooms.update(world, room, changes);
  }

  /** Connects a user; twice the same name is the same user. */
  person(
    uid: string,
    { traits = [], world = "demo", name = uid }: PersonOptions = {},
  ): Promise<Client> {
    const profile = name === null ? {} : { display_name: name };
    return this.live.person({ uid, traits, profile }, world);
  }

  /** Connects a user with the traits of an administrator. */
  moderator(uid: string): Promise<Client> {
    return this.person(uid, { traits: ["admin"] });
  }

  /** Connects a user who joins a channel. */
  async member(
    uid: string,
    channel: string,
    options: PersonOptions = {},
  ): Promise<Client> {
    const client = await this.person(uid, options);
    await client.do("chat.join", { channel });
    return client;
  }

  /**
   * Waits until everything is sent that follows from earlier events of a channel.
   * Events of a channel are delivered in order, so it is enough to wait for one more: a user
   * new joins, which concerns no unread list.
   * @param speaker says something instead; it is subscribed. Needed where joining
   *   makes no event.
   */
  async settle(channel: string, speaker?: Client): Promise<void> {
    await this.live.settled();
    if (speaker) {
      const { event_id } = await say(speaker, channel, "fence");
      this.#fences.add(event_id);
      await speaker.next("chat.event", (event) => event.event_id === event_id);
      await this.#noticed(channel, event_id);
    } else {
      const client = await this.member(`fence ${++this.#count}`, channel);
      const { event_id } = await client.next(
        "chat.event",
        ({ sender }) => sender === client.id,
      );
      this.#fences.add(event_id);
      await this.#noticed(channel, event_id);
    }
    await this.live.settled();
  }

  /** Waits until all notices of an event were sent, also by other processes. */
  async #noticed(channel: string, event: number): Promise<void> {
    await this.live.app.live.chat.channels.sent(channel, event);
  }

  /** What of chat came to a connection and no test has taken yet, without what {@link settle} caused. */
  async came(client: Client): Promise<Frame[]> {
    const frames = await client.all();
    return frames.filter(
      (frame) => frame[0].startsWith("chat.") && !this.#isFence(frame),
    );
  }

  /** What of chat comes to a connection up to now; see {@link settle}. */
  async heard(
    channel: string,
    client: Client,
    speaker?: Client,
  ): Promise<Frame[]> {
    await this.settle(channel, speaker);
    return this.came(client);
  }

  /** Empties what came. */
  async calm(channel: string, ...clients: Client[]): Promise<void> {
    await this.settle(channel);
    for (const client of clients) await client.all();
  }

  #isFence([name, data]: Frame): boolean {
    const { event_id, event } = data as Json;
    if (name === "chat.event") return this.#fences.has(event_id);
    if (name === "chat.notification") return this.#fences.has(event.event_id);
    if (name !== "chat.unread_pointers") return false;
    return Object.values(data as Record<string, number>).some((id) =>
      this.#fences.has(id),
    );
  }
}

/** High rates, for tests of anything but limits. */
const tireless = { messagesPerSecond: 10_000, commandsPerSecond: 10_000 };

/** Starts a server for tests of chat; it is closed with the test. */
export async function startTalk(
  t: Test,
  limits: Partial<LiveLimits> = {},
  worlds: TestWorld[] = [demo()],
): Promise<Talk> {
  return new Talk(await startLive(t, { ...tireless, ...limits }, worlds));
}

/** Opens the direct channel of some people for the first of them. @returns its id. */
export async function direct(
  creator: Client,
  ...others: Client[]
): Promise<string> {
  const users = others.map(({ id }) => id);
  return (await creator.do("chat.direct.create", { users })).id;
}
