import type {
  Commands,
  ListedQuestion,
  Pushes,
  SentQuestion,
} from "../../schemas/live/index.js";
import type { Client } from "./client.js";
import { find, pin, put, remove } from "./listed.js";
import { mayIn, type Change, type Kind } from "./room-list.js";

type Items = readonly ListedQuestion[];

/** How a list of questions changes. */
export class QuestionKind implements Kind<ListedQuestion> {
  readonly module = "question";
  readonly #client: Client;
  readonly #room: string;
  /** The ids of questions that are known to be the user's own; the server does not say it. */
  readonly #own = new Set<string>();

  constructor(client: Client, room: string) {
    this.#client = client;
    this.#room = room;
  }

  async list(): Promise<ListedQuestion[]> {
    const list = await this.#client.call("question.list", { room: this.#room });
    if (!this.#moderates) {
      for (const { id, state } of list) {
        if (state !== "visible") this.#own.add(id);
      }
    }
    return list;
  }

  own({ voted }: ListedQuestion): unknown {
    return voted;
  }

  pushed(items: Items, name: string, data: unknown): Change<ListedQuestion> {
    switch (name) {
      case "question.created_or_updated": {
        const { question } = data as Pushes["question.created_or_updated"];
        return this.#changed(items, question);
      }
      case "question.deleted": {
        const { id } = data as Pushes["question.deleted"];
        return { items: remove(items, id) };
      }
      case "question.pinned": {
        const { id } = data as Pushes["question.pinned"];
        const isUnknown = !find(items, id);
        return { items: pin(items, id), doubt: ifSo(isUnknown) };
      }
      case "question.unpinned":
        return { items: pin(items, undefined) };
      default:
        return { items };
    }
  }

  answered(
    items: Items,
    name: string,
    payload: unknown,
    result: unknown,
  ): Items {
    const { id, vote = true } = payload as { id: string; vote?: unknown };
    switch (name) {
      case "question.ask": {
        const { question } = result as Commands["question.ask"]["result"];
        this.#own.add(question.id);
        return this.#changed(items, question).items;
      }
      case "question.update": {
        const { question } = result as Commands["question.update"]["result"];
        return this.#changed(items, question).items;
      }
      case "question.vote": {
        const { question } = result as Commands["question.vote"]["result"];
        return this.#changed(items, question, vote === true).items;
      }
      case "question.delete":
        return remove(items, id);
      case "question.pin":
        return pin(items, id);
      case "question.unpin":
        return pin(items, undefined);
      default:
        return items;
    }
  }

  #changed(
    items: Items,
    question: SentQuestion,
    voted?: boolean,
  ): Change<ListedQuestion> {
    const { id, state, score } = question;
    const known = find(items, id);
    if (state !== "visible" && !this.#moderates && !this.#own.has(id)) {
      // It may be one that the user asked on another connection.
      return { items: remove(items, id), doubt: known && "perhaps" };
    }
    const isVoted = voted ?? known?.voted ?? false;
    return {
      items: put(items, { ...question, voted: isVoted }),
      doubt: known
        ? known.score === score
          ? undefined
          : "perhaps"
        : ifSo(score > 0),
    };
  }

  get #moderates(): boolean {
    return mayIn(this.#client, this.#room, "room:question.moderate");
  }
}

const ifSo = (isMissing: boolean) => (isMissing ? "certainly" : undefined);
