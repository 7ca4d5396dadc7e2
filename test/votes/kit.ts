import { setTimeout as delay } from "node:timers/promises";
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

/** The two modules that people vote with. */
export type Kind = "question" | "poll";

/** The keys of an object, sorted. */
export const keys = (value: object): string[] => Object.keys(value).sort();

/** The keys of a question: 4.6. */
export const QUESTION = [
  "answered",
  "content",
  "id",
  "is_pinned",
  "room_id",
  "score",
  "state",
  "timestamp",
];

/** The keys of a poll for people who may not see its results: 4.7. */
export const POLL = [
  "content",
  "id",
  "is_pinned",
  "options",
  "room_id",
  "state",
  "timestamp",
];

/** The keys of a poll with results. */
export const COUNTED_POLL = [...POLL, "results"].sort();

export const invalid = "protocol.invalid_payload";

export const questionStates = ["mod_queue", "visible", "archived"] as const;
export const pollStates = ["draft", "open", "closed", "archived"] as const;

/** A rule that asks for a trait with the name of the right. */
const ofTraits = (...names: string[]): Record<string, string[]> =>
  Object.fromEntries(names.map((name) => [name, [name]]));

/** Rules that grant each key to the trait of its name. */
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
  world?: string;
}

/** What differs in a poll. */
interface PollOptions {
  state?: string;
  poll_type?: string;
  options?: string[];
}

/** The frames of a connection that are about questions or polls, or say so in a chat. */
const isOfVotes = ([name, data]: Frame): boolean =>
  name.startsWith("question.") ||
  name.startsWith("poll.") ||
  (name === "chat.event" && (data as Json).event_type === "channel.poll");

/** The answers and pushes of votes that come to a connection, named as they are. */
export const namesOf = (frames: Frame[]): string[] =>
  frames.map(([name]) => name);

/** Counts of options in their order. */
export const countsOf = ({ options, results }: Json): number[] | undefined =>
  results && options.map(({ id }: Json) => results[id]);

/** A server with rooms in which people ask and vote. */
class Votes {
  #count = 0;
  #host: Promise<Client> | undefined;

  constructor(readonly live: LiveServer) {}

  /** Creates a room. @returns its id. */
  async room({
    question = { active: true },
    poll = { active: true },
    chat = false,
    rules = {},
    world = "demo",
  }: RoomOptions = {}): Promise<string> {
    const draft = {
      name: `Room ${++this.#count}`,
      module_config: modules({ question, poll, chat }),
      permission_config: rules,
    };
    return makeRoom(this.live, draft, world);
  }

  /** Changes the modules of a room. */
  async alter(room: string, options: RoomOptions): Promise<void> {
    const { question = { active: true }, poll = { active: true } } = options;
    const module_config = modules({ ...options, question, poll });
    await this.live.app.store.rooms.update("demo", room, { module_config });
  }

  /** Connects a user with traits; twice the same name is the same user. */
  person(uid: string, traits: string[] = [], world = "demo"): Promise<Client> {
    return this.live.person({ uid, traits }, world);
  }

  /** Connects a user who enters a room. */
  async entered(
    room: string,
    uid: string,
    traits: string[] = [],
  ): Promise<Client> {
    const client = await this.person(uid, traits);
    await client.do("room.enter", { room });
    return client;
  }

  /** Makes users who never connect. @returns their ids. */
  async users(count: number): Promise<string[]> {
    const { users } = this.live.app.store;
    const entered = Array.from({ length: count }, () =>
      users.enter("demo", {
        clientId: `user ${++this.#count}`,
        traits: new Set(),
      }),
    );
    return (await Promise.all(entered)).map(({ id }) => id);
  }

  /** A user with all keys in rooms, who enters none. */
  host(): Promise<Client> {
    const traits = ["admin", "api", ...Object.keys(byTrait)];
    return (this.#host ??= this.person("host", traits));
  }

  /** Asks a question for a test. @returns it as moderators see it. */
  async question(room: string, state = "visible", by?: Client): Promise<Json> {
    const host = await this.host();
    const asked = { room, content: `Question ${++this.#count}?` };
    const { question } = await (by ?? host).do("question.ask", asked);
    if (question.state === state) return question;
    const changes = { room, id: question.id, state };
    return (await host.do("question.update", changes)).question;
  }

  /** Creates a poll for a test. @returns it as managers see it. */
  async poll(
    room: string,
    { state = "open", poll_type, options = ["A", "B", "C"] }: PollOptions = {},
  ): Promise<Json> {
    const host = await this.host();
    const { poll } = await host.do("poll.create", {
      room,
      content: `Poll ${++this.#count}?`,
      state,
      ...(poll_type && { poll_type }),
      options: options.map((content, i) => ({ content, order: i + 1 })),
    });
    return poll;
  }

  /** Creates what people vote on. @returns its id. */
  async make(kind: Kind, room: string): Promise<string> {
    const made =
      kind === "poll" ? await this.poll(room) : await this.question(room);
    return made.id;
  }

  /** A poll as its managers see it now. */
  async pollNow(room: string, id: string): Promise<Json> {
    const list: Json[] = await (await this.host()).do("poll.list", { room });
    return list.find((poll) => poll.id === id);
  }

  /** A question as its moderators see it now. */
  async questionNow(room: string, id: string): Promise<Json> {
    const host = await this.host();
    const list: Json[] = await host.do("question.list", { room });
    return list.find((question) => question.id === id);
  }

  /** Votes in a poll by the places of its options. @returns the poll of the answer. */
  async vote(client: Client, poll: Json, ...places: number[]): Promise<Json> {
    const options = places.map((place) => poll.options[place].id);
    const payload = { room: poll.room_id, id: poll.id, options };
    return (await client.do("poll.vote", payload)).poll;
  }

  /**
   * Votes in a poll, and waits until that is pushed.
   * @param observer a manager in the room.
   */
  async cast(
    observer: Client,
    client: Client,
    poll: Json,
    ...places: number[]
  ): Promise<Json> {
    const answer = await this.vote(client, poll, ...places);
    const wanted = countsOf(await this.pollNow(poll.room_id, poll.id))!.join();
    await observer.next(
      "poll.created_or_updated",
      (data) =>
        data.poll.id === poll.id && countsOf(data.poll)?.join() === wanted,
    );
    return answer;
  }

  /** What of questions and polls came to a connection and no test has taken yet. */
  async came(client: Client): Promise<Frame[]> {
    return (await client.all()).filter(isOfVotes);
  }

  /**
   * The next frames of a connection that answer something, or are about questions or
   * polls, in their order.
   */
  async frames(client: Client, count: number): Promise<Frame[]> {
    const frames: Frame[] = [];
    while (frames.length < count) {
      const frame = await client.frame();
      const isAnswer = ["success", "error"].includes(frame[0]);
      if (isAnswer || isOfVotes(frame)) frames.push(frame);
    }
    return frames;
  }

  /** Empties what came to some connections. */
  async calm(...clients: Client[]): Promise<void> {
    await this.live.settled();
    for (const client of clients) await client.all();
  }

  /**
   * What comes to each of some connections while something is done. It waits until
   * everybody who should hear of it did, or too long, and then until everything is
   * sent that follows from what was done.
   * @param expected how many frames should come, by the names of their receivers.
   */
  async heard(
    people: Record<string, Client>,
    expected: Record<string, number>,
    act: () => Promise<unknown>,
  ): Promise<Record<string, Frame[]>> {
    await this.calm(...Object.values(people));
    await act();
    const heard: Record<string, Frame[]> = {};
    const gather = async () => {
      await this.live.settled();
      for (const [name, client] of Object.entries(people)) {
        const frames = await this.came(client);
        if (frames.length > 0) (heard[name] ??= []).push(...frames);
      }
    };
    const ends = Date.now() + 30_000;
    do await gather();
    while (
      Object.entries(expected).some(
        ([name, count]) => (heard[name]?.length ?? 0) < count,
      ) &&
      Date.now() < ends &&
      (await delay(10, true))
    );
    await gather();
    return heard;
  }

  /**
   * Holds who hears of something, and what, against a table.
   * @param expected the names of the receivers, each once.
   * @returns what each of them heard.
   */
  async audience(
    t: Test,
    people: Record<string, Client>,
    expected: string[],
    push: string,
    act: () => Promise<unknown>,
    name = push,
  ): Promise<Record<string, Json>> {
    const counts = Object.fromEntries(expected.map((one) => [one, 1]));
    const heard = await this.heard(people, counts, act);
    const names = Object.fromEntries(
      Object.entries(heard).map(([one, frames]) => [one, namesOf(frames)]),
    );
    const wanted = Object.fromEntries(expected.map((one) => [one, [push]]));
    t.same(names, wanted, name);
    return Object.fromEntries(
      Object.entries(heard).map(([one, frames]) => [one, frames[0]![1]]),
    );
  }
}

function modules({ question, poll, chat }: RoomOptions): Json[] {
  return [
    ...(question === null ? [] : [moduleOf("question", question)]),
    ...(poll === null ? [] : [moduleOf("poll", poll)]),
    ...(chat ? [{ type: "chat.native", config: {} }] : []),
  ];
}

/** A module; one whose config is `none` has none. */
const moduleOf = (type: Kind, config: Json): Json =>
  config === "none" ? { type } : { type, config };

/** High rates, for tests of anything but limits. */
const tireless = { messagesPerSecond: 10_000, commandsPerSecond: 10_000 };

/** Starts a server for tests of questions and polls; it is closed with the test. */
export async function startVotes(
  t: Test,
  limits: Partial<LiveLimits> = {},
  worlds: TestWorld[] = [demo(), demo({ id: "other" })],
): Promise<Votes> {
  return new Votes(await startLive(t, { ...tireless, ...limits }, worlds));
}
