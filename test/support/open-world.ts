import type { Test } from "tap";
import type { ClientOptions } from "ws";
import type { Client, Frame, Json } from "../../conformance/client.js";
import { draftWorld } from "../../db/world-management.js";
import type { TestWorld } from "../../testing.js";
import { until } from "./helper.js";
import { demo, type Person, type Server } from "./server.js";

export const invalid = "protocol.invalid_payload";
export const limited = "protocol.rate_limited";

/** The keys of an object, sorted. */
export const keys = (value: object): string[] => Object.keys(value).sort();

/** The names of frames. */
export const namesOf = (frames: Frame[]): string[] => frames.map(([name]) => name);

/** The data of the frames with a name. */
export const named = (frames: Frame[], name: string): Json[] =>
  frames.filter(([one]) => one === name).map(([, data]) => data);

/** Rules that grant each right to the trait of its name. */
const ofTraits = (...names: string[]): Record<string, string[]> =>
  Object.fromEntries(names.map((name) => [name, [name]]));

let count = 0;

/** A world for one case, on a server that several cases share. */
export class OpenWorld {
  #rooms = 0;
  #guests = 0;

  constructor(
    readonly server: Server,
    readonly id: string,
  ) {}

  get app() {
    return this.server.app;
  }

  get store() {
    return this.server.app.store;
  }

  /** The live layer of the server. */
  get live() {
    return this.server.app.live;
  }

  connect(options?: ClientOptions): Promise<Client> {
    return this.server.connect(this.id, options);
  }

  tokenOf(person: Person): string {
    return this.server.tokenOf({ ...person, world: this.id });
  }

  /** Connects a user with a token. A name stands for a user with this name as `uid` and profile. */
  person(person: Person | string, ...traits: string[]): Promise<Client> {
    const whole =
      typeof person === "string"
        ? { uid: person, traits, profile: { display_name: person } }
        : person;
    return this.server.person({ ...whole, world: this.id });
  }

  admin(): Promise<Client> {
    return this.server.admin(this.id);
  }

  guest(clientId: string | number = `guest-${++this.#guests}`): Promise<Client> {
    return this.server.guest(clientId, this.id);
  }

  /** Sends a request as an administrator. @param path below the world. */
  rest(method: string, path = "", body?: unknown) {
    return this.server.rest(method, `${this.id}/${path}`, body);
  }

  /** Changes the settings of the world in the store. */
  async configure(changes: object): Promise<void> {
    await this.store.worlds.configure(this.id, changes);
  }

  /** Creates a room. @returns its id. */
  async room(draft: Record<string, unknown> = {}): Promise<string> {
    const name = `Room ${++this.#rooms}`;
    return (await this.store.rooms.create(this.id, { name, ...draft })).value.id;
  }

  /** Changes a room in the store. */
  async alter(room: string, changes: object): Promise<void> {
    await this.store.rooms.update(this.id, room, changes);
  }

  /** Creates a user who never connects. @returns the id. */
  async user(tokenId: string, profile?: Record<string, unknown>): Promise<string> {
    const visitor = { tokenId, traits: new Set<string>(), ...(profile && { profile }) };
    return (await this.store.users.enter(this.id, visitor)).id;
  }

  /** Creates several users who never connect. @returns their ids. */
  users(size: number, name = "user", profile?: Record<string, unknown>): Promise<string[]> {
    return Promise.all(
      Array.from({ length: size }, (_, i) =>
        this.user(`${name}-${i}`, profile && { ...profile, display_name: `${name} ${i}` }),
      ),
    );
  }

  /** Waits until everything is sent that follows from what was written. */
  async settled(...channels: string[]): Promise<void> {
    const [head] = await this.store.log.heads([this.id]);
    const { events } = this.app;
    await until(
      () => events.reached(this.id) >= (head?.seq ?? 0) || this.live.hub.in(this.id).size === 0,
    );
    await this.server.settled(this.id);
    for (const channel of channels) {
      await this.live.outboxes.ended(channel);
    }
    if (channels.length > 0) await this.server.settled(this.id);
  }

  /** Empties what connections have received, after everything is sent. */
  async calm(channel: string | undefined, ...clients: Client[]): Promise<void> {
    await this.settled(...(channel === undefined ? [] : [channel]));
    for (const client of clients) await client.all();
  }

  /** The frames of the chat that a connection receives up to now. */
  async heard(channel: string, client: Client): Promise<Frame[]> {
    await this.settled(channel);
    return chatOf(client);
  }
}

/** Creates a world for one case. */
export async function openWorld(
  server: Server,
  overrides: Omit<Partial<TestWorld>, "id"> = {},
): Promise<OpenWorld> {
  const id = `world-${++count}`;
  const { title = id, domain = `${id}.localhost`, config, ...rest } = demo({ id, ...overrides });
  const draft = draftWorld({ id, title, domain });
  await server.store.worlds.create({ ...draft, ...rest, config: { ...draft.config, ...config } });
  return new OpenWorld(server, id);
}

/** The frames of the chat that a connection has received. */
export async function chatOf(client: Client): Promise<Frame[]> {
  return (await client.all()).filter(([name]) => name.startsWith("chat."));
}

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
  return (await client.do("chat.send", message(channel, text(body), more))).event;
}

/** The newest events of a channel, as a connection may see them. */
export async function history(client: Client, channel: string, size = 100): Promise<Json[]> {
  // As clients write it: no double holds 2^63 - 1.
  const page = { channel, count: size, before_id: "9223372036854775807" };
  return (await client.do("chat.fetch", page)).results;
}

export const idsOf = (events: Json[]): number[] => events.map(({ event_id }) => event_id);

export const bodiesOf = (events: Json[]): string[] => events.map(({ content }) => content.body);

/** The ids of the channels in a list. */
export const listOf = ({ channels }: Json): string[] => channels.map(({ id }: Json) => id);

/** Creates a room with a chat. @returns its id, which its channel shares. */
export async function chatRoom(
  world: OpenWorld,
  { volatile, force_join, ...draft }: Record<string, unknown> = {},
): Promise<string> {
  const module = { type: "chat.native", ...(volatile !== undefined && { config: { volatile } }) };
  const id = await world.room({ module_config: [module], ...draft });
  if (force_join) await world.alter(id, { extras: { force_join } });
  return id;
}

/** Connects a user who joins channels. */
export async function member(world: OpenWorld, uid: string, ...channels: string[]) {
  const client = await world.person(uid);
  for (const channel of channels) await client.do("chat.join", { channel });
  return client;
}

/** Opens the direct channel of some people for the first of them. @returns its id. */
export async function direct(creator: Client, ...others: Client[]): Promise<string> {
  return (await creator.do("chat.direct.create", { users: others.map(({ id }) => id) })).id;
}

/** The keys of a user whom everybody may see. */
export const USER = ["badges", "deleted", "id", "inactive", "pretalx_id", "profile"];

/** The fields of a user that holders of the key `user.manage` see. */
export const MANAGED = [...USER, "moderation_state", "token_id"].sort();

/** Sends commands all at once. @returns the codes of their answers. */
export async function codesOf(
  client: Client,
  commands: [action: string, payload: object][],
): Promise<string[]> {
  commands.forEach(([action, payload], i) => client.sendFrame(action, `c${i}`, payload));
  const codes: string[] = [];
  for (const i of commands.keys()) {
    const [name, , result] = await client.answered(`c${i}`);
    codes.push(name === "success" ? "ok" : (result as { code: string }).code);
  }
  return codes;
}

/**
 * Stops the clock by which the server counts rates and paces pushes, so that a test may last
 * as long as it needs.
 * @returns a function that starts it again.
 */
export function holdRates(t: Test): () => void {
  const now = performance.now();
  return t.intercept(performance, "now", { value: () => now }).restore;
}

/** Rules that grant each right to the trait of its name. */
export const byTrait = ofTraits(
  "question.read",
  "question.ask",
  "question.vote",
  "question.moderate",
  "poll.read",
  "poll.vote",
  "poll.manage",
  "poll.results",
);

/** What differs in a room; a module that is null is not there. */
interface RoomOptions {
  question?: Json;
  poll?: Json;
  chat?: boolean;
  rules?: Record<string, unknown>;
}

const ACTIVE = { active: true };

/** The modules of a room. A config of `none` is left out. */
export function modulesOf({ question = ACTIVE, poll = ACTIVE, chat }: RoomOptions = {}): Json[] {
  return Object.entries({ question, poll, "chat.native": chat ? {} : null })
    .filter(([, config]) => config !== null)
    .map(([type, config]) => (config === "none" ? { type } : { type, config }));
}

/** Creates a room with questions and polls. @returns its id. */
export const voteRoom = (world: OpenWorld, { rules = {}, ...options }: RoomOptions = {}) =>
  world.room({ module_config: modulesOf(options), permission_config: rules });

/** Connects a user with all keys in rooms, who enters none. */
export const hostOf = (world: OpenWorld): Promise<Client> =>
  world.person("host", "admin", "api", ...Object.keys(byTrait));

/** Connects a user who enters a room. */
export async function entered(world: OpenWorld, room: string, uid: string, ...traits: string[]) {
  const client = await world.person({ uid, traits });
  await client.do("room.enter", { room });
  return client;
}

let questionsAndPolls = 0;

/** Makes a question. @returns it as moderators see it. */
export async function makeQuestion(host: Client, room: string, state = "visible"): Promise<Json> {
  const asked = await host.do("question.ask", {
    room,
    content: `Question ${++questionsAndPolls}?`,
  });
  const { id } = asked.question;
  if (asked.question.state === state) return asked.question;
  return (await host.do("question.update", { room, id, state })).question;
}

/** Makes a poll, open and with three options by default. @returns it as managers see it. */
export async function makePoll(host: Client, room: string, draft: object = {}): Promise<Json> {
  const options = ["A", "B", "C"].map((content, i) => ({ content, order: i + 1 }));
  const content = `Poll ${++questionsAndPolls}?`;
  return (await host.do("poll.create", { room, content, state: "open", options, ...draft })).poll;
}

/** Votes in a poll by the positions of its options. @returns the poll of the answer. */
export async function vote(client: Client, poll: Json, ...positions: number[]): Promise<Json> {
  const options = positions.map((position) => poll.options[position].id);
  return (await client.do("poll.vote", { room: poll.room_id, id: poll.id, options })).poll;
}

/** The votes for each option in their order; undefined without results. */
export const countsOf = ({ options, results }: Json): number[] | undefined =>
  results && options.map(({ id }: Json) => results[id]);

export type { Client, Frame, Json } from "../../conformance/client.js";
export { soon } from "../../conformance/client.js";
