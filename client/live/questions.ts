import type { ListedQuestion, SentQuestion } from "../../schemas/live/index.js";
import { Items } from "./items.js";
import type { CallOptions } from "./options.js";

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
export interface AskOptions extends CallOptions {
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
    const { question } = await this.orders.once(
      "question.ask",
      { room: this.room, content, ...(named !== undefined && { named }) },
      options,
    );
    return question;
  }

  /** Votes for a question, or withdraws the vote. */
  async vote(id: string, vote = true, options?: CallOptions): Promise<SentQuestion> {
    const payload = { room: this.room, id, vote };
    return (await this.orders.persist("question.vote", payload, options)).question;
  }

  /** Changes a question, as a moderator. */
  async update(id: string, changes: QuestionChanges, options?: CallOptions): Promise<SentQuestion> {
    const payload = { ...changes, room: this.room, id };
    return (await this.orders.persist("question.update", payload, options)).question;
  }
}
