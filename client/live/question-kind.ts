import type { ListedQuestion, SentQuestion } from "../../schemas/live/index.js";
import { isVisible } from "../../schemas/plain/items.js";
import type { Doubt } from "./doubts.js";
import { ItemKind, type Order } from "./item-kind.js";

/** How a list of questions changes. */
export class QuestionKind extends ItemKind<ListedQuestion, SentQuestion> {
  readonly module = "question";
  /** The ids of questions that are known to be the user's own; the server does not say it. */
  readonly #own = new Set<string>();

  async list(): Promise<ListedQuestion[]> {
    const list = await this.client.call("question.list", { room: this.room });
    if (!this.may("moderate")) {
      for (const { id, state } of list) {
        if (state !== "visible") this.#own.add(id);
      }
    }
    return list;
  }

  own({ voted }: ListedQuestion): unknown {
    return voted;
  }

  protected listed(
    question: SentQuestion,
    known: ListedQuestion | undefined,
    order?: Order,
  ): ListedQuestion | undefined {
    const { id } = question;
    if (order?.action === "ask") this.#own.add(id);
    const isSeen =
      isVisible(question) || this.may("moderate") || this.#own.has(id);
    if (!isSeen) return undefined;
    const { vote = true } = (order?.payload ?? {}) as { vote?: unknown };
    const isVote = order?.action === "vote";
    return {
      ...question,
      voted: isVote ? vote === true : (known?.voted ?? false),
    };
  }

  protected doubt(
    now: ListedQuestion | undefined,
    known: ListedQuestion | undefined,
  ): Doubt | undefined {
    if (!known) return now && now.score > 0 ? "certainly" : undefined;
    // A hidden one may be one that the user asked on another connection.
    return now?.score === known.score ? undefined : "perhaps";
  }
}
