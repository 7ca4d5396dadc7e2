import type { Test } from "tap";
import type { ClientOptions } from "ws";
import type { Client, Frame, Json } from "../../conformance/client.js";
import { type Clock, processClock } from "../../db/runtime.js";
import { draftWorld } from "../../db/world-management.js";
import type { TestWorld } from "../../testing.js";
import { until } from "./helper.js";
import { demo, type Person, type Server } from "./server.js";

export const invalid = "protocol.invalid_payload";
export const limited = "protocol.rate_limited";

/** Returns the sorted keys of an object. */
export const keys = (value: object): string[] => Object.keys(value).sort();

/** Returns the names of frames. */
export const namesOf = (frames: Frame[]): string[] => frames.map(([name]) => name);

/** Returns the data of the frames with a given name. */
export const named = (frames: Frame[], name: string): Json[] =>
  frames.filter(([one]) => one === name).map(([, data]) => data);

/** Returns rules that grant each right to the trait of the same name. */
const ofTraits = (...names: string[]): Record<string, string[]> =>
  Object.fromEntries(names.map((name) => [name, [name]]));

let count = 0;

/** A world for one test case, on a server shared by several cases. */
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

  get live() {
    return this.server.app.live;
  }

  connect(options?: ClientOptions): Promise<Client> {
    return this.server.connect(this.id, options);
  }

  tokenOf(person: Person): string {
    return this.server.tokenOf({ ...person, world: this.id });
  }

  /** Connects a user with a token. A string is used as both the `uid` and the display name. */
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

  /** Sends a request as an administrator. @param path relative to the world. */
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

  /** Waits until everything that follows from earlier writes has been sent. */
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

  /** Waits until everything has been sent, then discards what the connections have received. */
  async calm(channel: string | undefined, ...clients: Client[]): Promise<void> {
    await this.settled(...(channel === undefined ? [] : [channel]));
    for (const client of clients) await client.all();
  }

  /** Returns the chat frames that a connection has received, after everything has been sent. */
  async heard(channel: string, client: Client): Promise<Frame[]> {
    await this.settled(channel);
    return chatOf(client);
  }
}

/** Creates a world for one test case. */
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

/** Returns the chat frames that a connection has received. */
export async function chatOf(client: Client): Promise<Frame[]> {
  return (await client.all()).filter(([name]) => name.startsWith("chat."));
}

/** Returns the content of a text message. */
export const text = (body: string) => ({ type: "text", body });

/** Returns the payload of a message. */
export const message = (channel: string, content: Json, more = {}) => ({
  channel,
  event_type: "channel.message",
  content,
  ...more,
});

/** Sends a text message. @returns its event. */
export async function say(
  client: Client,
  channel: string,
  body: string,
  more: object = {},
): Promise<Json> {
  return (await client.do("chat.send", message(channel, text(body), more))).event;
}

/** Returns the newest events of a channel that a connection may see. */
export async function history(client: Client, channel: string, size = 100): Promise<Json[]> {
  // A string, as clients send it: a double cannot represent 2^63 - 1.
  const page = { channel, count: size, before_id: "9223372036854775807" };
  return (await client.do("chat.fetch", page)).results;
}

export const idsOf = (events: Json[]): number[] => events.map(({ event_id }) => event_id);

export const bodiesOf = (events: Json[]): string[] => events.map(({ content }) => content.body);

/** Returns the ids of the channels in a list. */
export const listOf = ({ channels }: Json): string[] => channels.map(({ id }: Json) => id);

/** Creates a room with a chat. @returns its id, which is also that of its channel. */
export async function chatRoom(
  world: OpenWorld,
  { volatile, force_join, ...draft }: Record<string, unknown> = {},
): Promise<string> {
  const module = { type: "chat.native", ...(volatile !== undefined && { config: { volatile } }) };
  const id = await world.room({ module_config: [module], ...draft });
  if (force_join) await world.alter(id, { extras: { force_join } });
  return id;
}

/** Connects a user who joins some channels. */
export async function member(world: OpenWorld, uid: string, ...channels: string[]) {
  const client = await world.person(uid);
  for (const channel of channels) await client.do("chat.join", { channel });
  return client;
}

/** Opens a direct channel between some people, as the first of them. @returns its id. */
export async function direct(creator: Client, ...others: Client[]): Promise<string> {
  return (await creator.do("chat.direct.create", { users: others.map(({ id }) => id) })).id;
}

/** The fields of a user that everybody may see. */
export const USER = ["badges", "deleted", "id", "inactive", "pretalx_id", "profile"];

/** All fields of a user that holders of the key `user.manage` see. */
export const MANAGED = [...USER, "moderation_state", "token_id"].sort();

/** Sends several commands without waiting in between. @returns the codes of their answers. */
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
 * Stops the clock that the server uses to limit rates and pace pushes, so that a test can take as
 * long as it needs.
 * @returns a function that restarts it.
 */
export function holdRates(t: Test): () => void {
  const now = performance.now();
  return t.intercept(performance, "now", { value: () => now }).restore;
}

/** Timers of at least this many milliseconds wait for the test that holds the time. */
const HELD_MS = 1000;

/**
 * Makes the server's timers of a second and more wait for the test, so that minutes pass at once.
 * Call this before the server sets them.
 * @returns a function that lets a time in milliseconds pass: it moves the wall clock, and calls
 *     what is due by then.
 */
export function holdTime(t: Test): (ms: number) => void {
  const waiting = new Set<{ due: number; call: () => void }>();
  const now = Date.now;
  let passed = 0;
  t.intercept(Date, "now", { value: () => now() + passed });
  const real = { ...processClock };
  const hold: Clock["after"] = (delay, call, keepsAlive) => {
    if (delay < HELD_MS) return real.after(delay, call, keepsAlive);
    const timer = { due: Date.now() + delay, call };
    waiting.add(timer);
    return () => void waiting.delete(timer);
  };
  t.intercept(processClock, "after", { value: hold });
  return (ms) => {
    passed += ms;
    for (const timer of [...waiting].filter(({ due }) => due <= Date.now())) {
      if (waiting.delete(timer)) timer.call();
    }
  };
}

/** Rules that grant each right to the trait of the same name. */
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

/** Overrides for a room. A module that is null is omitted. */
interface RoomOptions {
  question?: Json;
  poll?: Json;
  chat?: boolean;
  rules?: Record<string, unknown>;
}

const ACTIVE = { active: true };

/** Returns the modules of a room. The config `none` omits the module's config. */
export function modulesOf({ question = ACTIVE, poll = ACTIVE, chat }: RoomOptions = {}): Json[] {
  return Object.entries({ question, poll, "chat.native": chat ? {} : null })
    .filter(([, config]) => config !== null)
    .map(([type, config]) => (config === "none" ? { type } : { type, config }));
}

/** Creates a room with questions and polls. @returns its id. */
export const voteRoom = (world: OpenWorld, { rules = {}, ...options }: RoomOptions = {}) =>
  world.room({ module_config: modulesOf(options), permission_config: rules });

/** Connects a user who holds all keys in rooms, and enters none. */
export const hostOf = (world: OpenWorld): Promise<Client> =>
  world.person("host", "admin", "api", ...Object.keys(byTrait));

/** Connects a user, who then enters a room. */
export async function entered(world: OpenWorld, room: string, uid: string, ...traits: string[]) {
  const client = await world.person({ uid, traits });
  await client.do("room.enter", { room });
  return client;
}

let questionsAndPolls = 0;

/** Creates a question. @returns it as moderators see it. */
export async function makeQuestion(host: Client, room: string, state = "visible"): Promise<Json> {
  const asked = await host.do("question.ask", {
    room,
    content: `Question ${++questionsAndPolls}?`,
  });
  const { id } = asked.question;
  if (asked.question.state === state) return asked.question;
  return (await host.do("question.update", { room, id, state })).question;
}

/** Creates a poll, by default open and with three options. @returns it as managers see it. */
export async function makePoll(host: Client, room: string, draft: object = {}): Promise<Json> {
  const options = ["A", "B", "C"].map((content, i) => ({ content, order: i + 1 }));
  const content = `Poll ${++questionsAndPolls}?`;
  return (await host.do("poll.create", { room, content, state: "open", options, ...draft })).poll;
}

/** Votes for the options at these positions. @returns the poll in the answer. */
export async function vote(client: Client, poll: Json, ...positions: number[]): Promise<Json> {
  const options = positions.map((position) => poll.options[position].id);
  return (await client.do("poll.vote", { room: poll.room_id, id: poll.id, options })).poll;
}

/** Returns the number of votes for each option, in order; undefined without results. */
export const countsOf = ({ options, results }: Json): number[] | undefined =>
  results && options.map(({ id }: Json) => results[id]);

export type { Client, Frame, Json } from "../../conformance/client.js";
export { soon } from "../../conformance/client.js";
