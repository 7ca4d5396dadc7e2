import type { Live } from "../../client/live.js";

// Simulated people, who show a visitor of the demo what an event feels like.

// What the simulated people of the demo do, in this order.

/** Something that a person does in a room. */
export type Act =
  | { readonly say: string }
  | { readonly ask: string }
  /** A floating reaction. */
  | { readonly react: "👏" | "❤️" | "👍" }
  /** Votes in the open poll: for another option each time. */
  | "vote"
  /** Votes for the first question that the person has not voted for. */
  | "support";

export type Beat = readonly [by: string, room: string, act: Act];

/** What is said once. */
export const SCRIPT: readonly Beat[] = [
  ["Jonas", "Main stage", { react: "👏" }],
  ["Yuki", "Main stage", { say: "Hello from the train. The picture is sharp even here." }],
  ["Jonas", "Hallway", { say: "Back with a coffee. Which talk are you in?" }],
  ["Leila", "Main stage", { react: "❤️" }],
  ["Sven", "Main stage", "vote"],
  ["Priya", "Side stage", { ask: "Does the antenna turn by itself when the boat does?" }],
  ["Adaeze", "Hallway", { say: "The Main stage. They are getting to the interesting part." }],
  ["Yuki", "Side stage", "support"],
  ["Adaeze", "Main stage", { react: "👏" }],
  ["Priya", "Main stage", { react: "👏" }],
  ["Tomás", "Workshop", { say: "My plan is down to one page. What do you leave out first?" }],
  ["Leila", "Main stage", { say: "That graph should hang in every office." }],
  ["Mira", "Hallway", { say: "I have three pages of notes already." }],
  ["Leila", "Side stage", "support"],
  ["Jonas", "Main stage", "vote"],
  ["Priya", "Workshop", { say: "Everything that nobody asks for on the day itself." }],
  ["Sven", "Main stage", { react: "👍" }],
  ["Sven", "Side stage", { ask: "How long does the battery last if the sun is out?" }],
  ["Jonas", "Hallway", { say: "Then lunch is on you, and you tell us about them." }],
  ["Yuki", "Main stage", { react: "❤️" }],
  ["Mira", "Side stage", "support"],
  ["Yuki", "Help desk", { say: "Are there captions? The room next door is loud." }],
  ["Leila", "Main stage", { react: "👏" }],
  ["Sven", "Help desk", { say: "In the menu of the player, if the speaker has sent them." }],
  ["Tomás", "Main stage", "vote"],
  ["Adaeze", "Main stage", { say: "Vote in the poll, it is nearly a draw!" }],
];

/** What they do when all is said. */
export const IDLE: readonly Beat[] = SCRIPT.filter(
  ([, , act]) => typeof act === "string" || "react" in act,
);

/** How long the people of the demo wait for what, in milliseconds. */
export interface DemoPace {
  /** Between two looks for visitors. */
  readonly look: number;
  /** Between two acts while there is something to say. */
  readonly beat: number;
  /** Between two acts when all is said. */
  readonly idle: number;
}

const PACE: DemoPace = { look: 1000, beat: 4000, idle: 15_000 };

/** From how many other connections on the people of the demo go: then there is life enough. */
const ENOUGH = 20;

/** Within this time, a text is not repeated in a room, in milliseconds. */
const FRESH = 60 * 60_000;

/** The connections of the demo, and how to be one of its people. */
export interface DemoPorts {
  /** How many websockets are in the world, with the simulated people. */
  readonly connections: () => number;
  /** Logs in a person. */
  readonly enter: (name: string) => Promise<Live>;
}

/**
 * People who talk, ask, vote and clap while others are connected. They use the server as any
 * client does. What fails is left out: an organizer may have changed the demo.
 */
export class DemoPeople {
  readonly #ports: DemoPorts;
  readonly #pace: DemoPace;
  readonly #people = new Map<string, Live>();
  readonly #timer: NodeJS.Timeout;
  /** The next thing in the script. */
  #next = 0;
  /** When the next thing is due, on the clock of the process. */
  #due = 0;
  #acting = false;
  #stopped = false;

  constructor(ports: DemoPorts, pace: DemoPace = PACE) {
    this.#ports = ports;
    this.#pace = pace;
    this.#timer = setInterval(() => this.#look(), pace.look);
    this.#timer.unref();
  }

  /** They leave for good. */
  stop(): void {
    this.#stopped = true;
    clearInterval(this.#timer);
    this.#leave();
  }

  #leave(): void {
    for (const live of this.#people.values()) live.close();
    this.#people.clear();
  }

  #look(): void {
    if (this.#acting) return;
    const own = [...this.#people.values()].filter((live) => live.isConnected);
    const others = this.#ports.connections() - own.length;
    if (others < 1 || others > ENOUGH) return this.#leave();
    const now = performance.now();
    if (now < this.#due) return;
    const beat = this.#next < SCRIPT.length ? SCRIPT[this.#next]! : IDLE[this.#next % IDLE.length]!;
    this.#next++;
    const { beat: talking, idle } = this.#pace;
    this.#due = now + (this.#next < SCRIPT.length ? talking : idle);
    this.#acting = true;
    void this.#act(beat)
      .catch(() => {})
      .finally(() => (this.#acting = false));
  }

  async #act([name, roomName, act]: Beat): Promise<void> {
    const live = await this.#person(name);
    const { rooms } = await live.connected();
    const room = rooms.find((room) => room.name === roomName)?.id;
    if (room === undefined) return;
    await live.call("room.enter", { room });
    if (act === "vote") await this.#vote(live, room);
    else if (act === "support") await support(live, room);
    else if ("react" in act) {
      await live.call("room.react", { room, reaction: act.react });
    } else if ("ask" in act) await ask(live, room, act.ask);
    else await say(live, room, act.say);
  }

  async #person(name: string): Promise<Live> {
    const known = this.#people.get(name);
    if (known) return known;
    const live = await this.#ports.enter(name);
    if (this.#stopped) live.close();
    else this.#people.set(name, live);
    return live;
  }

  /** Votes in the open poll of a room. */
  async #vote(live: Live, room: string): Promise<void> {
    const polls = await live.call("poll.list", { room });
    const poll = polls.find(({ state }) => state === "open");
    if (!poll) return;
    const { id } = poll.options[this.#next % poll.options.length]!;
    await live.call("poll.vote", { room, id: poll.id, options: [id] });
  }
}

async function support(live: Live, room: string): Promise<void> {
  const questions = await live.call("question.list", { room });
  const question = questions.find(({ state, voted }) => state === "visible" && !voted);
  if (!question) return;
  await live.call("question.vote", { room, id: question.id, vote: true });
}

async function ask(live: Live, room: string, content: string): Promise<void> {
  const questions = await live.call("question.list", { room });
  if (questions.some((question) => question.content === content)) return;
  await live.call("question.ask", { room, content });
}

async function say(live: Live, channel: string, body: string): Promise<void> {
  const { next_event_id } = await live.call("chat.join", { channel });
  const { results } = await live.call("chat.fetch", {
    channel,
    count: 50,
    before_id: next_event_id,
  });
  const isFresh = ({ content, timestamp }: (typeof results)[number]) =>
    (content as { body?: unknown }).body === body && Date.now() - Date.parse(timestamp) < FRESH;
  if (results.some(isFresh)) return;
  await live.call("chat.send", {
    channel,
    event_type: "channel.message",
    content: { type: "text", body },
  });
}
