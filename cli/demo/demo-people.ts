import type { Live } from "../../client/live.js";

// Simulated people, who show visitors to the demo what an event feels like.

/** An action that a simulated person performs in a room. */
export type DemoAct =
  | { readonly say: string }
  | { readonly ask: string }
  /** A floating reaction. */
  | { readonly react: "👏" | "❤️" | "👍" }
  /** Votes in the open poll, for an option that varies from vote to vote. */
  | "vote"
  /** Votes for the first visible question that the person has not voted for yet. */
  | "support";

export type Beat = readonly [by: string, room: string, act: DemoAct];

/** Actions that are played once, in this order. */
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

/** Actions that repeat once the script is over. */
export const IDLE: readonly Beat[] = SCRIPT.filter(
  ([, , act]) => typeof act === "string" || "react" in act,
);

/** The simulation's intervals, in milliseconds. */
export interface DemoPace {
  /** Between two checks for visitors. */
  readonly look: number;
  /** Between two actions of the script. */
  readonly beat: number;
  /** Between two actions after the script is over. */
  readonly idle: number;
}

const PACE: DemoPace = { look: 1000, beat: 4000, idle: 15_000 };

/**
 * Number of visitors' connections above which the simulated people leave, because the event is then
 * lively enough.
 */
const ENOUGH = 20;

/** Time within which a message is not repeated in a room, in milliseconds. */
const FRESH = 60 * 60_000;

/** Access to the demo world's connections, and to logins for the simulated people. */
export interface DemoPorts {
  /** Returns the number of websockets in the world, including the simulated people. */
  readonly connections: () => number;
  /** Logs a simulated person in. */
  readonly enter: (name: string) => Promise<Live>;
}

/**
 * Simulated people who talk, ask, vote and clap while a few visitors are connected. They use the
 * server through the same client as any other program. Failed actions are skipped, since an
 * organizer may have changed the demo.
 */
export class DemoPeople {
  readonly #ports: DemoPorts;
  readonly #pace: DemoPace;
  readonly #people = new Map<string, Live>();
  readonly #timer: NodeJS.Timeout;
  /** Index of the next action in the script. */
  #next = 0;
  /** Due time of the next action, on the `performance.now()` clock. */
  #due = 0;
  #acting = false;
  #stopped = false;

  constructor(ports: DemoPorts, pace: DemoPace = PACE) {
    this.#ports = ports;
    this.#pace = pace;
    this.#timer = setInterval(() => this.#look(), pace.look);
    this.#timer.unref();
  }

  /** Disconnects all simulated people for good. */
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

  /** Votes in a room's open poll, if there is one. */
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
