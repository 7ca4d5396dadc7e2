import type {
  ListedPoll,
  ListedQuestion,
  PollType,
  SentPoll,
  SentQuestion,
  SentSettings,
} from "../../schemas/live/index.js";
import { type CallOptions, type Client, LiveError } from "./client.js";
import { type Kind, type Listed, PollKind, type PollVote, QuestionKind } from "./item-kind.js";
import { CommandQueue } from "./queue.js";
import { ItemList } from "./item-list.js";
import { roomOf, type Rooms } from "./rooms.js";
import { isWorldPush } from "./state.js";

/** The part of a list that {@link ItemLists} uses. */
type AnyList = Omit<ItemList<Listed>, "current" | "read" | "left">;

interface Entry<F> {
  readonly face: F;
  readonly list: AnyList;
}

/** The lists of questions and polls in use, by room id. */
export class ItemLists {
  readonly #client: Client;
  readonly #rooms: Rooms;
  readonly #questions = new Map<string, Entry<Questions>>();
  readonly #polls = new Map<string, Entry<Polls>>();
  #ended: LiveError | undefined;

  constructor(client: Client, rooms: Rooms) {
    this.#client = client;
    this.#rooms = rooms;
  }

  /** @returns the room's questions. Repeated calls return the same object. */
  questions(room: string): Questions {
    const make = () => {
      const kind = new QuestionKind(this.#client, room);
      const list = this.#list<ListedQuestion>(room, kind);
      return { face: new Questions(room, list, new CommandQueue(this.#client)), list };
    };
    return getOrMake(this.#questions, room, make).face;
  }

  /** @returns the room's polls. Repeated calls return the same object. */
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
   * Applies the server's response to a command.
   * @param payload the command's payload, as JSON.
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
    } else if (isWorldPush(name)) {
      for (const list of this.#all()) list.worldUpdated();
    } else {
      const lists = this.#of(name);
      lists?.get(roomNamed(data))?.list.pushed(name, data);
    }
  }

  /** @param error the reason why the client ended. */
  end(error: LiveError): void {
    this.#ended = error;
    for (const list of this.#all()) list.close(reasonOf(error));
  }

  #list<T extends Listed>(room: string, kind: Kind<T>): ItemList<T> {
    const list = new ItemList(this.#client, this.#rooms, room, kind);
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

/**
 * Returns the error with which iterations end. If the application closed the client, iterations end
 * without an error.
 */
const reasonOf = (error: LiveError): LiveError | undefined =>
  error.code === "client.closed" ? undefined : error;

/** Returns the room id in a push's data. */
function roomNamed(data: unknown): string {
  const { room, question, poll } = data as {
    room?: string;
    question?: { room_id: string };
    poll?: { room_id: string };
  };
  return String(room ?? (question ?? poll)?.room_id);
}

/** The items of one kind that the user may see in a room, with the commands common to all kinds. */
export abstract class Items<T extends Listed> implements AsyncIterable<readonly T[]> {
  /** Prefix of the command names. */
  protected abstract readonly kind: "question" | "poll";
  protected readonly commands: CommandQueue;
  readonly #list: ItemList<T>;

  constructor(
    /** The id of the room. */
    readonly room: string,
    list: ItemList<T>,
    commands: CommandQueue,
  ) {
    this.#list = list;
    this.commands = commands;
  }

  /** The last known list; undefined before the first fetch, and while no iteration is running. */
  get current(): readonly T[] | undefined {
    return this.#list.current;
  }

  /**
   * Yields the current list, and then the new list after each change. A slow consumer receives only
   * the latest list. The iteration ends when the client is closed. It throws a {@link LiveError} if
   * the user loses the room or the right to read the list, if the room no longer has the list's
   * module, or if the server refuses the client.
   */
  [Symbol.asyncIterator](): AsyncIterableIterator<readonly T[], undefined> {
    return this.#list.read();
  }

  /** Deletes an item and its votes. For moderators and managers. */
  async delete(id: string, options?: CallOptions): Promise<void> {
    const payload = { room: this.room, id };
    await this.commands.delete(`${this.kind}.delete`, payload, options);
  }

  /** Pins an item, and unpins the previously pinned item. For moderators and managers. */
  async pin(id: string, options?: CallOptions): Promise<void> {
    const payload = { room: this.room, id };
    await this.commands.persist(`${this.kind}.pin`, payload, options);
  }

  /** Unpins the pinned item. For moderators and managers. */
  async unpin(options?: CallOptions): Promise<void> {
    const payload = { room: this.room };
    await this.commands.persist(`${this.kind}.unpin`, payload, options);
  }
}

/** A poll to create. */
export interface PollDraft {
  content: string;
  /** Options without an order come last. `correct` is for those of a quiz. */
  options?: readonly { content: string; order?: number; correct?: boolean }[];
  /** Default: `draft`. */
  state?: SentPoll["state"];
  /** What voters do. Default: `choice`, which lets them choose exactly one option. */
  poll_type?: PollType;
  /** The settings of this kind of poll. Null stands for the default. */
  settings?: SentSettings;
}

/** The changes that a manager can make to a poll. */
export interface PollChanges {
  content?: string;
  state?: SentPoll["state"];
  poll_type?: PollType;
  /** Settings that are not named stay as they are. */
  settings?: SentSettings;
  /** `true` unpins any other poll. */
  is_pinned?: boolean;
  /**
   * The complete new list of options: options with an id are updated, options without an id are
   * added, and missing options are deleted along with their votes. An empty list leaves the options
   * unchanged.
   */
  options?: readonly {
    id?: string | null;
    content?: string;
    order?: number;
    correct?: boolean;
  }[];
}

/**
 * The polls in a room that the user may see, oldest first. Iteration enters the room and yields the
 * current list, and then a new list after each change, across reconnections:
 *
 * ```ts
 * for await (const polls of live.polls(room)) render(polls);
 * ```
 *
 * A poll has `results` only if the user may see them, and `answers` or `value` only if the user has
 * voted.
 * Commands run one at a time, and wait for a connection until their `timeout` expires.
 */
export class Polls extends Items<ListedPoll> {
  protected readonly kind = "poll";

  /**
   * Creates a poll. For managers. If the connection breaks before the response arrives, the outcome
   * is unknown, and the command is not retried.
   */
  async create({ options, ...draft }: PollDraft, callOptions?: CallOptions): Promise<SentPoll> {
    const payload = { ...draft, ...(options && { options: [...options] }), room: this.room };
    const { poll } = await this.commands.once("poll.create", payload, callOptions);
    return poll;
  }

  /**
   * Votes in an open poll, replacing the user's previous vote.
   * @param vote the id of one option, or several ids if the poll allows more than one option; or
   * the words, texts or value that polls of other kinds ask for. An empty list, or the value null,
   * withdraws the vote. A quiz accepts one vote.
   */
  async vote(
    id: string,
    vote: string | readonly string[] | PollVote,
    options?: CallOptions,
  ): Promise<SentPoll> {
    const isIds = (it: typeof vote): it is string | readonly string[] =>
      typeof it === "string" || Array.isArray(it);
    const { options: ids, answers, value } = isIds(vote) ? { options: [vote].flat() } : vote;
    const payload = {
      ...{ room: this.room, id },
      ...(ids && { options: [...ids] }),
      ...(answers && { answers: [...answers] }),
      ...(value !== undefined && { value }),
    };
    return (await this.commands.persist("poll.vote", payload, options)).poll;
  }

  /** Withdraws the user's vote in an open poll with options. */
  withdraw(id: string, options?: CallOptions): Promise<SentPoll> {
    return this.vote(id, [], options);
  }

  /**
   * Hides a word or a text from the results, or shows it. For managers.
   * @param answer a word in any spelling, or the id of a text.
   */
  async hide(id: string, answer: string, hidden: boolean, options?: CallOptions): Promise<void> {
    const payload = { room: this.room, id, answer, hidden };
    await this.commands.persist("poll.answers.hide", payload, options);
  }

  /** Updates a poll. For managers. Like {@link create}, an update that adds options is not retried. */
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

  /** Opens the poll for voting. */
  open(id: string, options?: CallOptions): Promise<SentPoll> {
    return this.update(id, { state: "open" }, options);
  }

  /** Closes the poll, freezes its results, and shows the results to everybody. */
  close(id: string, options?: CallOptions): Promise<SentPoll> {
    return this.update(id, { state: "closed" }, options);
  }

  /** Hides the poll from everybody except managers. */
  archive(id: string, options?: CallOptions): Promise<SentPoll> {
    return this.update(id, { state: "archived" }, options);
  }
}

/** The changes that a moderator can make to a question. */
export interface QuestionChanges {
  content?: string;
  /** `visible` approves the question. */
  state?: SentQuestion["state"];
  answered?: boolean;
  /** `true` unpins any other question. */
  is_pinned?: boolean;
}

interface AskOptions extends CallOptions {
  /** Whether the user was informed that the question will show their name. */
  named?: boolean;
}

/**
 * The questions in a room that the user may see, oldest first. Iteration enters the room and yields
 * the current list, and then a new list after each change, across reconnections:
 *
 * ```ts
 * for await (const questions of live.questions(room)) render(questions);
 * ```
 *
 * Commands run one at a time, and wait for a connection until their `timeout` expires.
 */
export class Questions extends Items<ListedQuestion> {
  protected readonly kind = "question";

  /**
   * Asks a question. If the connection breaks before the response arrives, the outcome is unknown,
   * and the command is not retried.
   * @returns the question, in state `mod_queue` if a moderator must approve it.
   * @throws {LiveError} `question.named` if the room shows who asked although `named` is false.
   */
  async ask(content: string, { named, ...options }: AskOptions = {}): Promise<SentQuestion> {
    const { question } = await this.commands.once(
      "question.ask",
      { room: this.room, content, ...(named !== undefined && { named }) },
      options,
    );
    return question;
  }

  /** Votes for a question, or withdraws the vote if `vote` is false. */
  async vote(id: string, vote = true, options?: CallOptions): Promise<SentQuestion> {
    const payload = { room: this.room, id, vote };
    return (await this.commands.persist("question.vote", payload, options)).question;
  }

  /** Updates a question. For moderators. */
  async update(id: string, changes: QuestionChanges, options?: CallOptions): Promise<SentQuestion> {
    const payload = { ...changes, room: this.room, id };
    return (await this.commands.persist("question.update", payload, options)).question;
  }
}
