import type { Test } from "tap";
import type {
  ListedPoll,
  ListedQuestion,
  LiveOptions,
  SentRoom,
} from "../../client/index.js";
import {
  agree,
  HALL,
  liveOf,
  next,
  startFake,
  welcome,
  type Answer,
  type Peer,
} from "./fake-server.js";

/** A question that was asked in this minute. */
export const question = (
  minute: number,
  changes: Partial<ListedQuestion> = {},
): ListedQuestion => ({
  id: `question-${minute}`,
  content: `Question ${minute}?`,
  state: "visible",
  answered: false,
  timestamp: timeOf(minute),
  room_id: HALL,
  score: 0,
  is_pinned: false,
  voted: false,
  ...changes,
});

/** A poll with the options `a` and `b` that was created in this minute. */
export const poll = (
  minute: number,
  changes: Partial<ListedPoll> = {},
): ListedPoll => ({
  id: `poll-${minute}`,
  content: `Poll ${minute}?`,
  state: "open",
  timestamp: timeOf(minute),
  room_id: HALL,
  is_pinned: false,
  options: ["a", "b"].map((id, i) => ({ id, content: id, order: i + 1 })),
  ...changes,
});

const timeOf = (minute: number) =>
  new Date(Date.UTC(2026, 0, 1, 10, minute)).toISOString();

/** As pushes and answers have it: without what is the user's own. */
export function sent<T extends object>(item: T): T {
  const copy: T & { voted?: unknown; answers?: unknown } = { ...item };
  delete copy.voted;
  delete copy.answers;
  return copy;
}

type Payload = Record<string, unknown>;

/** A room of a fake server, with questions and polls as the test says. */
export class FakeRoom {
  questions: ListedQuestion[] = [];
  polls: ListedPoll[] = [];
  /** What the user may do there, beside reading. */
  permissions: string[] = [];
  /** What the user may read there. */
  readable = ["room:question.read", "room:poll.read"];
  readonly inside = new Set<Peer>();
  /** The commands that came in, but logins, with their payloads. */
  readonly commands: [name: string, payload: Payload][] = [];
  /** How commands are answered, by their names; else by `{}`. */
  readonly answers: Record<string, (payload: Payload, peer: Peer) => unknown> =
    {};
  /** Takes a frame before the room does; true if the room shall ignore it. */
  intercept: (peer: Peer, name: string, id: unknown) => boolean = () => false;

  /** The server's {@link Answer}. */
  readonly answer: Answer = (peer, frame) => {
    const [name, id, payload = {}] = frame as [string, unknown, Payload?];
    if (name === "ping") return agree(peer, frame);
    if (name === "authenticate") {
      peer.send(["authenticated", { ...welcome, "world.config": this.world }]);
      return;
    }
    this.commands.push([name, payload]);
    if (this.intercept(peer, name, id)) return;
    if (name === "room.enter") this.inside.add(peer);
    if (name === "room.leave") this.inside.delete(peer);
    peer.send(["success", id, this.#result(name, payload, peer)]);
  };

  /** The world as the user sees it. */
  get world(): (typeof welcome)["world.config"] {
    const room: SentRoom = {
      ...welcome["world.config"].rooms[0]!,
      permissions: [...this.readable, ...this.permissions],
    };
    return { ...welcome["world.config"], rooms: [room] };
  }

  /** How many open connections have entered. */
  get visitors(): number {
    return [...this.inside].filter(({ isOpen }) => isOpen).length;
  }

  /** How often a command came in. */
  count(name: string): number {
    return this.commands.filter(([one]) => one === name).length;
  }

  /** Pushes something to the connections that have entered. */
  push(name: string, data: object): void {
    for (const peer of this.inside) {
      if (peer.isOpen) peer.send([name, data]);
    }
  }

  /** Pushes a question or a poll. */
  save(item: ListedQuestion | ListedPoll): void {
    if ("options" in item)
      this.push("poll.created_or_updated", { poll: sent(item) });
    else this.push("question.created_or_updated", { question: sent(item) });
  }

  #result(name: string, payload: Payload, peer: Peer): unknown {
    if (name === "question.list") return this.questions;
    if (name === "poll.list") return this.polls;
    return this.answers[name]?.(payload, peer) ?? {};
  }
}

/** A client of a fake server with a room. */
export async function startRoom(
  t: Test,
  permissions: string[] = [],
  options: Partial<LiveOptions> = {},
) {
  const room = new FakeRoom();
  room.permissions = permissions;
  const server = await startFake(t, room.answer);
  const live = liveOf(t, server, options);
  await live.connected();
  const peer = () => server.peers.at(-1)!;
  /** Breaks the connection, and waits for the next one. */
  const reconnect = async () => {
    const gone = next(live, "client.disconnected");
    peer().drop();
    await gone;
    await live.connected();
  };
  return { room, server, live, peer, reconnect };
}

/** The next value of an iteration. */
export async function nextOf<T>(
  iteration: AsyncIterator<T, undefined>,
): Promise<T> {
  const { done, value } = await iteration.next();
  if (done) throw new Error("The iteration has ended.");
  return value;
}

/** Makes doubts and reconnections immediate. */
export const hurry = (t: Test): void =>
  void t.intercept(Math, "random", { value: () => 0 });
