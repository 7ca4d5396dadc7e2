import type {
  ListedPoll,
  ListedQuestion,
  SentPoll,
  SentQuestion,
} from "../../schemas/live/index.js";
import { isPublic, isVisible } from "../../schemas/plain/items.js";
import type { Client } from "./client.js";
import { roomIn } from "./state.js";

/** The change of a list by a push or an answer. */
export interface Change<T> {
  items: readonly T[];
  doubt?: Doubt | undefined;
}

/** A command that this client called: its name without the module, and its payload. */
export interface Order {
  readonly action: string;
  readonly payload: unknown;
}

/**
 * How pushes and answers change a list of items, whatever their kind. A kind says how an item is
 * listed, and when a push leaves a doubt.
 * @typeParam T an item in a list.
 * @typeParam S an item in pushes and answers.
 */
export abstract class ItemKind<T extends Listed, S extends Listed> {
  /** The module of the room, with which the names of commands, pushes and rights begin too. */
  abstract readonly module: "question" | "poll";
  protected readonly client: Client;
  protected readonly room: string;

  constructor(client: Client, room: string) {
    this.client = client;
    this.room = room;
  }

  /** Asks the server for the list. */
  abstract list(): Promise<T[]>;

  /** The fields that pushes lack: the user's own votes. */
  abstract own(item: T): unknown;

  /**
   * The item as the user gets it in a list; undefined if the user does not see it.
   * @param known the item as it is listed now.
   * @param order the command that it answers; undefined if the server pushed it.
   */
  protected abstract listed(item: S, known: T | undefined, order?: Order): T | undefined;

  /** Whether the user may have done more than the push of an item says. */
  protected abstract doubt(now: T | undefined, known: T | undefined): Doubt | undefined;

  /** The list after a push. */
  pushed(items: readonly T[], name: string, data: unknown): Change<T> {
    switch (this.#actionOf(name)) {
      case "created_or_updated": {
        const item = (data as Record<string, S>)[this.module]!;
        const known = find(items, item.id);
        const now = list(items, item, this.listed(item, known));
        return { items: now, doubt: this.doubt(find(now, item.id), known) };
      }
      case "deleted": {
        const { id } = data as { id: string };
        return { items: remove(items, id) };
      }
      case "pinned": {
        const { id } = data as { id: string };
        const doubt = find(items, id) ? undefined : "certainly";
        return { items: pin(items, id), doubt };
      }
      case "unpinned":
        return { items: pin(items, undefined) };
      default:
        return { items };
    }
  }

  /** The list after a command that this client called. */
  answered(items: readonly T[], name: string, payload: unknown, result: unknown): Change<T> {
    const { id } = payload as { id: string };
    const action = this.#actionOf(name);
    switch (action) {
      case "ask":
      case "create":
      case "update":
      case "vote": {
        const item = (result as Record<string, S>)[this.module]!;
        const known = find(items, item.id);
        const order = { action, payload };
        const now = list(items, item, this.listed(item, known, order));
        // Of votes that another answer counts, one may be the user's own: given on another
        // connection, or by a command whose outcome was unknown.
        const isDoubted = action === "update" && known !== undefined;
        const doubt = isDoubted && this.doubt(find(now, item.id), known);
        return { items: now, ...(doubt && { doubt }) };
      }
      case "delete":
        return { items: remove(items, id) };
      case "pin":
        return { items: pin(items, id) };
      case "unpin":
        return { items: pin(items, undefined) };
      default:
        return { items };
    }
  }

  /** Whether the user may read the list, by the state that this client has. */
  get isReadable(): boolean {
    return this.may("read");
  }

  /** Whether the user has a right of the module in the room. */
  protected may(right: string): boolean {
    const room = roomIn(this.client.state, this.room);
    const key = `room:${this.module}.${right}`;
    return room?.permissions.includes(key) ?? false;
  }

  /** @returns undefined if a command or a push is of another module. */
  #actionOf(name: string): string | undefined {
    const [module, action] = name.split(".");
    return module === this.module ? action : undefined;
  }
}

/** The members of a kind that a list uses. */
export type Kind<T extends Listed> = Pick<
  ItemKind<T, Listed>,
  "module" | "list" | "isReadable" | "own" | "pushed" | "answered"
>;

/** @param now the item in the new list; undefined if it is not listed any more. */
const list = <T extends Listed>(
  items: readonly T[],
  { id }: Listed,
  now: T | undefined,
): readonly T[] => (now ? put(items, now) : remove(items, id));

/** How a list of polls changes. */
export class PollKind extends ItemKind<ListedPoll, SentPoll> {
  readonly module = "poll";

  list(): Promise<ListedPoll[]> {
    return this.client.call("poll.list", { room: this.room });
  }

  own({ answers }: ListedPoll): unknown {
    return answers;
  }

  protected listed(
    poll: SentPoll,
    known: ListedPoll | undefined,
    order?: Order,
  ): ListedPoll | undefined {
    if (!isPublic(poll) && !this.may("manage")) return undefined;
    const chosen =
      order?.action === "vote"
        ? (order.payload as { options: string[] }).options
        : (known?.answers ?? []);
    const answers = poll.options.map(({ id }) => id).filter((id) => chosen.includes(id));
    return { ...poll, ...(answers.length > 0 && { answers }) };
  }

  /** Whether the user may have voted, or withdrawn the vote, on another connection. */
  protected doubt(now: ListedPoll | undefined, known: ListedPoll | undefined): Doubt | undefined {
    if (!now) return undefined;
    const { state, results, answers } = now;
    const seesAllResults = this.may("manage") || this.may("early_results");
    // Exactly the voters see them.
    if (state === "open" && !seesAllResults) {
      if (Boolean(results) !== Boolean(answers)) return "certainly";
    }
    if (!results || isSame(known?.results, results)) return undefined;
    if (state === "open") return "perhaps";
    const hasVotes = Object.values(results).some((votes) => votes > 0);
    return known || !hasVotes ? undefined : "certainly";
  }
}

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
    const isSeen = isVisible(question) || this.may("moderate") || this.#own.has(id);
    if (!isSeen) return undefined;
    const { vote = true } = (order?.payload ?? {}) as { vote?: unknown };
    const isVote = order?.action === "vote";
    return { ...question, voted: isVote ? vote === true : (known?.voted ?? false) };
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

/**
 * Whether a list may be stale: the server does not report the user's actions on other
 * connections. `certainly` means that something is missing.
 */
type Doubt = "perhaps" | "certainly";

/** The upper bounds of the first delay, and of any delay. */
const FIRST_DELAY_MS = { perhaps: 60_000, certainly: 2000 };
const MAX_DELAY_MS = 300_000;

/**
 * Decides when a doubtful list is fetched again: after a random share of a delay. The delay
 * doubles as long as the answers bring nothing new. So most clients, whose users have one
 * connection, rarely ask, and never all at once.
 */
export class Doubts {
  readonly #ask: () => void;
  readonly #longest: Record<Doubt, number> = { ...FIRST_DELAY_MS };
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** The pending timer. */
  #waiting: Doubt | undefined;
  /** The reason of the last request. */
  #asked: Doubt = "perhaps";

  constructor(ask: () => void) {
    this.#ask = ask;
  }

  raise(doubt: Doubt): void {
    if (this.#waiting === "certainly" || this.#waiting === doubt) return;
    this.dismiss();
    this.#waiting = doubt;
    this.#timer = setTimeout(() => {
      this.#waiting = undefined;
      this.#asked = doubt;
      this.#ask();
    }, Math.random() * this.#longest[doubt]);
  }

  /** @param isNew whether the answer had an action of the user that was not known. */
  settle(isNew: boolean): void {
    if (isNew) Object.assign(this.#longest, FIRST_DELAY_MS);
    else {
      const longest = 2 * this.#longest[this.#asked];
      this.#longest[this.#asked] = Math.min(longest, MAX_DELAY_MS);
    }
  }

  /** Cancels a pending request. */
  dismiss(): void {
    clearTimeout(this.#timer);
    this.#waiting = undefined;
  }
}

// Lists of the items of a room, such as questions. Each function returns the same list if
// nothing changes, and otherwise a new list; it never mutates one.

/** The common fields of all items. */
export interface Listed {
  readonly id: string;
  readonly timestamp: string;
  readonly is_pinned: boolean;
}

/** As many as the server lists. */
const MAX_ITEMS = 1000;

export const find = <T extends Listed>(items: readonly T[], id: string): T | undefined =>
  items.find((item) => item.id === id);

/** Inserts an item by its time, or replaces its earlier state. */
export function put<T extends Listed>(items: readonly T[], item: T): readonly T[] {
  const others = item.is_pinned ? pin(items, item.id) : items;
  const index = others.findIndex(({ id }) => id === item.id);
  if (index >= 0) {
    return isSame(others[index], item) ? others : others.with(index, item);
  }
  const before = others.findLastIndex(({ timestamp }) => timestamp <= item.timestamp);
  return bounded(others.toSpliced(before + 1, 0, item));
}

export const remove = <T extends Listed>(items: readonly T[], id: string): readonly T[] =>
  find(items, id) ? items.filter((item) => item.id !== id) : items;

/** @param pinned the id of the only one that is pinned; undefined for none. */
export const pin = <T extends Listed>(
  items: readonly T[],
  pinned: string | undefined,
): readonly T[] =>
  items.some(({ id, is_pinned }) => is_pinned !== (id === pinned))
    ? items.map((item) => {
        const is_pinned = item.id === pinned;
        return item.is_pinned === is_pinned ? item : { ...item, is_pinned };
      })
    : items;

/** Drops the oldest items, but never the pinned one. */
function bounded<T extends Listed>(items: T[]): T[] {
  if (items.length <= MAX_ITEMS) return items;
  const oldest = items.findIndex(({ is_pinned }) => !is_pinned);
  return items.toSpliced(oldest, 1);
}

/** Whether two JSON values are equal, without regard to the order of keys. */
export function isSame(a: unknown, b: unknown): boolean {
  if (typeof a !== "object" || typeof b !== "object" || !a || !b) {
    return a === b;
  }
  const keys = Object.keys(a);
  return (
    Array.isArray(a) === Array.isArray(b) &&
    keys.length === Object.keys(b).length &&
    keys.every((key) => Object.hasOwn(b, key) && isSame(a[key as never], b[key as never]))
  );
}
