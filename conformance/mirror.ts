import { PollKind, QuestionKind } from "../client/live/item-kind.js";
import type { Client as Port } from "../client/live/client.js";
import { firstState, type LiveState, nextState, stateAfter } from "../client/live/state.js";
import type { ListedPoll, ListedQuestion, PublicUser } from "../schemas/live/index.js";
import type { Client, Frame, Json } from "./client.js";

/** More events than any row creates. */
const ALL = 1000;
const NEWEST = 2 ** 53 - 1;

/**
 * A connection's state: the responses to its login and queries, updated by pushes and by the
 * connection's own commands. Foyer's client code maintains the state. Therefore, a difference
 * between this state and the state of a new connection is a bug in the server's pushes or in the
 * client.
 */
export class Mirror {
  state: LiveState;
  #questions: readonly ListedQuestion[] | undefined;
  #polls: readonly ListedPoll[] | undefined;
  #events: Map<number, Json> | undefined;
  #viewers: Map<string, PublicUser> | undefined;
  /** The lists that the client would refetch because the user may have acted on another connection. */
  readonly #doubts = new Set<"questions" | "polls">();
  readonly #room: string;
  readonly #questionKind: QuestionKind;
  readonly #pollKind: PollKind;

  constructor(client: Client, room: string) {
    this.state = firstState(client.hello);
    this.#room = room;
    const port = {
      state: undefined,
      isConnected: true,
      connected: () => Promise.resolve(this.state),
      call: (name: string, payload: object) => client.do(name, payload),
      on: () => () => {},
    } as Port;
    Object.defineProperty(port, "state", { get: () => this.state });
    this.#questionKind = new QuestionKind(port, room);
    this.#pollKind = new PollKind(port, room);
  }

  /** Enters the room, and queries its contents. Contents that the server refuses to send stay undefined. */
  async follow(client: Client): Promise<void> {
    const ask = async <T>(asked: Promise<T>) => asked.catch(refused);
    const named = { room: this.#room };
    const channel = { channel: this.#room };
    const entered = await ask<Json>(client.do("room.enter", named));
    if (entered?.viewers) this.#viewers = byId(entered.viewers);
    if (await ask(client.do("chat.subscribe", channel))) {
      const page = { ...channel, count: ALL, before_id: NEWEST };
      const { results } = await client.do("chat.fetch", page);
      this.#events = new Map(results.map((it: Json) => [it.event_id, it]));
    }
    this.#questions = await ask(this.#questionKind.list());
    this.#polls = await ask(this.#pollKind.list());
  }

  /** Applies a push. */
  pushed([name, data]: Frame): void {
    this.state = nextState(this.state, name, data);
    this.#pushedInRoom(name, data as Json);
    this.#keepRoom();
  }

  #pushedInRoom(name: string, data: Json): void {
    if (this.#questions) {
      const change = this.#questionKind.pushed(this.#questions, name, data);
      this.#questions = change.items;
      if (change.doubt) this.#doubts.add("questions");
    }
    if (this.#polls) {
      const change = this.#pollKind.pushed(this.#polls, name, data);
      this.#polls = change.items;
      if (change.doubt) this.#doubts.add("polls");
    }
    if (name === "room.viewer.added") this.#viewers?.set(data.user.id, data.user);
    if (name === "room.viewer.removed") this.#viewers?.delete(data.user_id);
    if (name === "chat.event" && data.channel === this.#room) {
      this.#said(data);
    }
    if (name === "chat.event.reaction" && this.#events?.has(data.event_id)) {
      this.#events.set(data.event_id, data);
    }
  }

  #said(event: Json): void {
    this.#events?.set(event.event_id, event);
    const original = this.#events?.get(event.replaces);
    if (!original) return;
    const { content } = event;
    this.#events?.set(original.event_id, { ...original, content, edited: true });
  }

  /** Forgets the room's contents once the user can no longer see the room. */
  #keepRoom(): void {
    if (!this.state.rooms.some(({ id }) => id === this.#room)) this.#forget();
  }

  #forget(): void {
    this.#questions = undefined;
    this.#polls = undefined;
    this.#events = undefined;
    this.#viewers = undefined;
  }

  /**
   * Applies the response to one of the connection's own commands.
   * @param sent the payload; null if there is none.
   */
  answered(name: string, sent: Json, result: Json): void {
    const payload = sent ?? {};
    if (name === "room.leave") this.#forget();
    if (["chat.leave", "chat.unsubscribe"].includes(name)) {
      this.#events = undefined;
    }
    const text = JSON.stringify(payload);
    this.state = stateAfter(this.state, name, text, result);
    if (this.#questions) {
      const kind = this.#questionKind;
      const questions = this.#questions;
      this.#questions = kind.answered(questions, name, payload, result).items;
    }
    if (this.#polls) {
      const kind = this.#pollKind;
      const polls = this.#polls;
      this.#polls = kind.answered(polls, name, payload, result).items;
    }
  }

  /** Returns the whole state in a canonical form for comparison. */
  picture(): Record<string, unknown> {
    const { state } = this;
    return {
      user: state.user,
      world: state.world,
      permissions: state.permissions.toSorted(),
      rooms: state.rooms.map((room) => ({ ...room, permissions: room.permissions.toSorted() })),
      announcements: state.announcements,
      channels: Object.fromEntries(
        state.channels.map(({ id, members }) => [
          id,
          members?.toSorted((a, b) => a.id.localeCompare(b.id)) ?? null,
        ]),
      ),
      unread: unreadOf(state, this.#room, this.#lastMessage),
      notifications: positive(state.notificationCounts),
      questions: this.#questions?.map((it) =>
        this.#doubts.has("questions") ? { ...it, voted: "?" } : it,
      ),
      polls: this.#polls?.map((it) => (this.#doubts.has("polls") ? { ...it, answers: "?" } : it)),
      events: this.#events && [...this.#events.values()].map(plainEvent),
      viewers: this.#viewers && [...this.#viewers.keys()].toSorted(),
    };
  }

  /**
   * The id of the room's last message. The server pushes unread pointers to everyone except the
   * sender, but a subscribed sender learns of the message from its event.
   */
  get #lastMessage(): number {
    const messages = [...(this.#events?.values() ?? [])].filter(
      ({ event_type }) => event_type !== "channel.member",
    );
    return Math.max(0, ...messages.map(({ event_id }) => event_id as number));
  }

  /** Adopts another mirror's doubts, so that the two pictures are comparable. */
  doubting(other: Mirror): Mirror {
    for (const doubt of other.#doubts) this.#doubts.add(doubt);
    return this;
  }
}

const refused = (error: unknown): undefined => {
  const { message } = error as Error;
  if (!/"code":"(protocol\.denied|room\.unknown)"/.test(message)) throw error;
  return undefined;
};

const byId = (users: readonly PublicUser[]) => new Map(users.map((user) => [user.id, user]));

/** Returns the ids of the channels with events after the read pointer. */
const unreadOf = (
  { channels, readPointers, unreadPointers }: LiveState,
  room: string,
  last: number,
) =>
  channels
    .map(({ id }) => id)
    .filter((id) => {
      const told = Math.max(unreadPointers[id] ?? 0, id === room ? last : 0);
      return told > (readPointers[id] ?? 0);
    })
    .toSorted();

const positive = (counts: Readonly<Record<string, number>>) =>
  Object.fromEntries(Object.entries(counts).filter(([, count]) => count > 0));

/** Removes or normalizes the fields that differ between a pushed event and a fetched event. */
function plainEvent({ type: _type, users: _users, ...event }: Json): Json {
  const { content, event_type } = event;
  return {
    ...event,
    edited: event.edited !== null,
    content: event_type === "channel.member" ? { ...content, user: content.user?.id } : content,
  };
}

export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null;

const short = (value: unknown): string => (JSON.stringify(value) ?? "nothing").slice(0, 300);

/**
 * Lists the differences between two JSON values, one line per path.
 * @param isPart whether fields that `expected` does not name are ignored. Lists must match exactly.
 */
export function differences(
  actual: unknown,
  expected: unknown,
  isPart = false,
  path = "",
): string[] {
  if (!isObject(actual) || !isObject(expected)) {
    if (Object.is(actual, expected)) return [];
    return [`${path || "it"} is ${short(actual)}, not ${short(expected)}`];
  }
  if (Array.isArray(actual) !== Array.isArray(expected)) {
    return [`${path || "it"} is ${short(actual)}, not ${short(expected)}`];
  }
  const isWhole = !isPart || Array.isArray(expected);
  const keys = new Set([...Object.keys(expected), ...(isWhole ? Object.keys(actual) : [])]);
  return [...keys].flatMap((key) =>
    differences(actual[key], expected[key], isPart, path === "" ? key : `${path}.${key}`),
  );
}
