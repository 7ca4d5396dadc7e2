import type {
  ListedPoll,
  ListedQuestion,
  SentPoll,
  SentQuestion,
} from "../../schemas/live/index.js";
import { type CallOptions, type Client, LiveError } from "./client.js";
import { type Kind, type Listed, PollKind, QuestionKind } from "./item-kind.js";
import { CommandQueue } from "./queue.js";
import { RoomList } from "./room-list.js";
import { roomOf, type Rooms } from "./rooms.js";
import { isOfWorld } from "./state.js";

/** The part of a list that the registry uses. */
type AnyList = Omit<RoomList<Listed>, "current" | "read" | "left">;

interface Entry<F> {
  readonly face: F;
  readonly list: AnyList;
}

/** The lists of questions and polls in use, by the ids of their rooms. */
export class RoomLists {
  readonly #client: Client;
  readonly #rooms: Rooms;
  readonly #questions = new Map<string, Entry<Questions>>();
  readonly #polls = new Map<string, Entry<Polls>>();
  #ended: LiveError | undefined;

  constructor(client: Client, rooms: Rooms) {
    this.#client = client;
    this.#rooms = rooms;
  }

  /** @returns the same object for the same room. */
  questions(room: string): Questions {
    const make = () => {
      const kind = new QuestionKind(this.#client, room);
      const list = this.#list<ListedQuestion>(room, kind);
      return { face: new Questions(room, list, new CommandQueue(this.#client)), list };
    };
    return getOrMake(this.#questions, room, make).face;
  }

  /** @returns the same object for the same room. */
  polls(room: string): Polls {
    const make = () => {
      const kind = new PollKind(this.#client, room);
      const list = this.#list<ListedPoll>(room, kind);
      return { face: new Polls(room, list, new CommandQueue(this.#client)), list };
    };
    return getOrMake(this.#polls, room, make).face;
  }

  loggedIn(): void {
    for (const list of this.#all()) list.loggedIn();
  }

  disconnected(): void {
    for (const list of this.#all()) list.disconnected();
  }

  /**
   * Applies the server's answer to a command.
   * @param payload JSON.
   */
  answered(name: string, payload: string, result: unknown): void {
    const lists = this.#of(name);
    if (!lists) return;
    const sent: unknown = JSON.parse(payload);
    lists.get(roomOf(sent))?.list.answered(name, sent, result);
  }

  pushed(name: string, data: unknown): void {
    if (name === "room.delete") {
      const { id } = data as { id: string };
      const error = new LiveError("room.unknown", "The room was deleted.");
      this.#questions.get(id)?.list.end(error);
      this.#polls.get(id)?.list.end(error);
    } else if (isOfWorld(name)) {
      for (const list of this.#all()) list.worldUpdated();
    } else {
      const lists = this.#of(name);
      lists?.get(roomNamed(data))?.list.pushed(name, data);
    }
  }

  /** @param error why the client ended. */
  end(error: LiveError): void {
    this.#ended = error;
    for (const list of this.#all()) list.close(reasonOf(error));
  }

  #list<T extends Listed>(room: string, kind: Kind<T>): RoomList<T> {
    const list = new RoomList(this.#client, this.#rooms, room, kind);
    if (this.#ended) list.close(reasonOf(this.#ended));
    return list;
  }

  #of(name: string): Map<string, Entry<unknown>> | undefined {
    if (name.startsWith("question.")) return this.#questions;
    return name.startsWith("poll.") ? this.#polls : undefined;
  }

  *#all(): Generator<AnyList> {
    for (const { list } of this.#questions.values()) yield list;
    for (const { list } of this.#polls.values()) yield list;
  }
}

function getOrMake<T>(all: Map<string, T>, key: string, make: () => T): T {
  const known = all.get(key) ?? make();
  all.set(key, known);
  return known;
}

/** A client that was closed on purpose ends iterations without an error. */
const reasonOf = (error: LiveError): LiveError | undefined =>
  error.code === "client.closed" ? undefined : error;

/** The id of the room in the data of a push. */
function roomNamed(data: unknown): string {
  const { room, question, poll } = data as {
    room?: string;
    question?: { room_id: string };
    poll?: { room_id: string };
  };
  return String(room ?? (question ?? poll)?.room_id);
}

/** The items of one kind in a room that the user may see, and the commands that all kinds have. */
export abstract class Items<T extends Listed> implements AsyncIterable<readonly T[]> {
  /** With which the names of the commands begin. */
  protected abstract readonly kind: "question" | "poll";
  protected readonly commands: CommandQueue;
  readonly #list: RoomList<T>;

  constructor(
    /** The id of the room. */
    readonly room: string,
    list: RoomList<T>,
    commands: CommandQueue,
  ) {
    this.#list = list;
    this.commands = commands;
  }

  /** The list as it is known; undefined without an iteration. */
  get current(): readonly T[] | undefined {
    return this.#list.current;
  }

  /**
   * A slow consumer gets the last list only. The iteration ends with `close()`; it throws
   * a {@link LiveError} when the user loses the room or the right to read it, when the room no
   * longer offers polls, or when the server refuses the client.
   */
  [Symbol.asyncIterator](): AsyncIterableIterator<readonly T[], undefined> {
    return this.#list.read();
  }

  /** Deletes an item and its votes, as a moderator or manager. */
  async delete(id: string, options?: CallOptions): Promise<void> {
    const payload = { room: this.room, id };
    await this.commands.delete(`${this.kind}.delete`, payload, options);
  }

  /** Pins an item instead of another one, as a moderator or manager. */
  async pin(id: string, options?: CallOptions): Promise<void> {
    const payload = { room: this.room, id };
    await this.commands.persist(`${this.kind}.pin`, payload, options);
  }

  /** Pins no item any more, as a moderator or manager. */
  async unpin(options?: CallOptions): Promise<void> {
    const payload = { room: this.room };
    await this.commands.persist(`${this.kind}.unpin`, payload, options);
  }
}

/** What a manager creates. */
export interface PollDraft {
  content: string;
  /** An option without an order comes last. */
  options: readonly { content: string; order?: number }[];
  /** Default: `draft`. */
  state?: SentPoll["state"];
  /** Whether one option may be chosen, or any number. Default: `choice`. */
  poll_type?: "choice" | "multi";
}

/** What a manager changes in a poll. */
export interface PollChanges {
  content?: string;
  state?: SentPoll["state"];
  poll_type?: "choice" | "multi";
  /** True ends the pin of another poll. */
  is_pinned?: boolean;
  /**
   * All options from now on: those with an id are changed, those without are added, and
   * those that are missing are deleted with their votes. An empty list changes none.
   */
  options?: readonly {
    id?: string | null;
    content?: string;
    order?: number;
  }[];
}

/**
 * The polls of a room that the user may see, the oldest first. Iterating enters the room
 * and gives the present list, then a new one after each change, across reconnections:
 *
 * ```ts
 * for await (const polls of live.polls(room)) render(polls);
 * ```
 *
 * A poll has `results` only if the user may see them, and `answers` if the user voted.
 * The commands are executed one after the other. They wait for connections; `timeout` bounds that.
 */
export class Polls extends Items<ListedPoll> {
  protected readonly kind = "poll";

  /**
   * Creates a poll, as a manager. If the connection breaks before the answer, it is unknown
   * whether it was created; it is not created again.
   */
  async create({ options, ...draft }: PollDraft, callOptions?: CallOptions): Promise<SentPoll> {
    const payload = { ...draft, options: [...options], room: this.room };
    const { poll } = await this.commands.once("poll.create", payload, callOptions);
    return poll;
  }

  /**
   * Votes in an open poll instead of an earlier vote.
   * @param optionIds one, or any number if the poll takes several; none withdraws the vote.
   */
  async vote(
    id: string,
    optionIds: string | readonly string[],
    options?: CallOptions,
  ): Promise<SentPoll> {
    const payload = { room: this.room, id, options: [optionIds].flat() };
    return (await this.commands.persist("poll.vote", payload, options)).poll;
  }

  /** Withdraws the vote in an open poll. */
  withdraw(id: string, options?: CallOptions): Promise<SentPoll> {
    return this.vote(id, [], options);
  }

  /**
   * Changes a poll, as a manager. New options are added only once, as in {@link create}.
   */
  async update(
    id: string,
    { options, ...changes }: PollChanges,
    callOptions?: CallOptions,
  ): Promise<SentPoll> {
    const payload = { ...changes, ...(options && { options: [...options] }), room: this.room, id };
    const addsOptions = options?.some(({ id }) => !id);
    const send = addsOptions ? "once" : "persist";
    const { poll } = await this.commands[send]("poll.update", payload, callOptions);
    return poll;
  }

  /** Lets people vote. */
  open(id: string, options?: CallOptions): Promise<SentPoll> {
    return this.update(id, { state: "open" }, options);
  }

  /** Ends the voting, freezes the results, and shows them to everybody. */
  close(id: string, options?: CallOptions): Promise<SentPoll> {
    return this.update(id, { state: "closed" }, options);
  }

  /** Hides the poll from all but managers. */
  archive(id: string, options?: CallOptions): Promise<SentPoll> {
    return this.update(id, { state: "archived" }, options);
  }
}

/** What a moderator changes in a question. */
export interface QuestionChanges {
  content?: string;
  /** `visible` admits it. */
  state?: SentQuestion["state"];
  answered?: boolean;
  /** True ends the pin of another question. */
  is_pinned?: boolean;
}

/** How a question is asked. */
interface AskOptions extends CallOptions {
  /** Whether the user was shown that the question will have their name. */
  named?: boolean;
}

/**
 * The questions of a room that the user may see, the oldest first. Iterating enters the
 * room and gives the present list, then a new one after each change, across reconnections:
 *
 * ```ts
 * for await (const questions of live.questions(room)) render(questions);
 * ```
 *
 * Its commands are executed one after the other. They wait for connections; `timeout` bounds that.
 */
export class Questions extends Items<ListedQuestion> {
  protected readonly kind = "question";

  /**
   * Asks a question. If the connection breaks before the answer, it is unknown whether it
   * was asked; it is not asked again.
   * @returns the question: in the state `mod_queue` if a moderator has to admit it.
   * @throws {LiveError} `question.named` if the room shows who asked, against `named: false`.
   */
  async ask(content: string, { named, ...options }: AskOptions = {}): Promise<SentQuestion> {
    const { question } = await this.commands.once(
      "question.ask",
      { room: this.room, content, ...(named !== undefined && { named }) },
      options,
    );
    return question;
  }

  /** Votes for a question, or withdraws the vote. */
  async vote(id: string, vote = true, options?: CallOptions): Promise<SentQuestion> {
    const payload = { room: this.room, id, vote };
    return (await this.commands.persist("question.vote", payload, options)).question;
  }

  /** Changes a question, as a moderator. */
  async update(id: string, changes: QuestionChanges, options?: CallOptions): Promise<SentQuestion> {
    const payload = { ...changes, room: this.room, id };
    return (await this.commands.persist("question.update", payload, options)).question;
  }
}
