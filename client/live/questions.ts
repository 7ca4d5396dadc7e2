import type { ListedQuestion, SentQuestion } from "../../schemas/live/index.js";
import type { CallOptions } from "./options.js";
import type { Orders } from "./orders.js";
import type { RoomList } from "./room-list.js";

/** What a moderator changes in a question. */
export interface QuestionChanges {
  content?: string;
  /** `visible` admits it. */
  state?: SentQuestion["state"];
  answered?: boolean;
  /** True ends the pin of another question. */
  is_pinned?: boolean;
}

type Items = readonly ListedQuestion[];

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
export class Questions implements AsyncIterable<Items> {
  readonly #list: RoomList<ListedQuestion>;
  readonly #orders: Orders;

  /** Use `live.questions(room)`. */
  constructor(
    /** The id of the room. */
    readonly room: string,
    list: RoomList<ListedQuestion>,
    orders: Orders,
  ) {
    this.#list = list;
    this.#orders = orders;
  }

  /** The list as it is known; undefined unless somebody iterates. */
  get current(): Items | undefined {
    return this.#list.current;
  }

  /**
   * A slow consumer gets the last list only. The iteration ends with `close()`; it throws
   * a {@link LiveError} when the room or the right to read is lost, or when the server
   * turns the client away.
   */
  [Symbol.asyncIterator](): AsyncIterableIterator<Items, undefined> {
    return this.#list.read();
  }

  /**
   * Asks a question. If the connection breaks before the answer, nobody knows whether it
   * was asked; it is not asked again.
   * @returns the question: in the state `mod_queue` if a moderator has to admit it.
   */
  async ask(content: string, options?: CallOptions): Promise<SentQuestion> {
    const { question } = await this.#orders.once(
      "question.ask",
      { room: this.room, content },
      options,
    );
    return question;
  }

  /** Votes for a question, or withdraws the vote. */
  async vote(
    id: string,
    vote = true,
    options?: CallOptions,
  ): Promise<SentQuestion> {
    const payload = { room: this.room, id, vote };
    return (await this.#orders.persist("question.vote", payload, options))
      .question;
  }

  /** Changes a question, as a moderator. */
  async update(
    id: string,
    changes: QuestionChanges,
    options?: CallOptions,
  ): Promise<SentQuestion> {
    const payload = { ...changes, room: this.room, id };
    return (await this.#orders.persist("question.update", payload, options))
      .question;
  }

  /** Deletes a question and its votes, as a moderator. */
  async delete(id: string, options?: CallOptions): Promise<void> {
    const payload = { room: this.room, id };
    await this.#orders.delete("question.delete", payload, options);
  }

  /** Pins a question instead of another one, as a moderator. */
  async pin(id: string, options?: CallOptions): Promise<void> {
    const payload = { room: this.room, id };
    await this.#orders.persist("question.pin", payload, options);
  }

  /** Pins no question any more, as a moderator. */
  async unpin(options?: CallOptions): Promise<void> {
    await this.#orders.persist("question.unpin", { room: this.room }, options);
  }
}
