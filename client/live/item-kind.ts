import type {
  ListedPoll,
  ListedQuestion,
  SentPoll,
  SentQuestion,
} from "../../schemas/live/index.js";
import { isPublic, isVisible } from "../../schemas/plain/items.js";
import { countsIn, hasCounts, summaryIn } from "../../schemas/plain/polls.js";
import type { Client } from "./client.js";
import { roomIn } from "./state.js";

/** A list after a push or a response, with the doubt that the push or response leaves. */
export interface Change<T> {
  items: readonly T[];
  doubt?: Doubt | undefined;
}

/** A command that this client sent: its name without the module, and its payload. */
export interface SentCommand {
  readonly action: string;
  readonly payload: unknown;
}

/**
 * Applies pushes and responses to a list of items of any kind. Subclasses define how an item is
 * listed, and when a push leaves a doubt.
 * @typeParam T an item in a list.
 * @typeParam S an item in pushes and responses.
 */
export abstract class ItemKind<T extends Listed, S extends Listed> {
  /** The room's module, whose name is also the prefix of its commands, pushes and rights. */
  abstract readonly module: "question" | "poll";
  protected readonly client: Client;
  protected readonly room: string;

  constructor(client: Client, room: string) {
    this.client = client;
    this.room = room;
  }

  /** Fetches the list from the server. */
  abstract list(): Promise<T[]>;

  /** Returns the fields that pushes lack: the user's own votes. */
  abstract own(item: T): unknown;

  /**
   * Returns the item as the user would receive it in a list; undefined if it is not visible to the
   * user.
   * @param known the item as currently listed.
   * @param order the command that the server responded to; undefined for a push.
   */
  protected abstract listed(item: S, known: T | undefined, order?: SentCommand): T | undefined;

  /** Returns a doubt if the user may have done something that the item's push does not show. */
  protected abstract doubt(now: T | undefined, known: T | undefined): Doubt | undefined;

  /** Returns the list after a push. */
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

  /** Returns the list after one of this client's commands. */
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
        // The votes counted in the response to an update may include a vote that the user cast on
        // another connection, or with a command whose outcome is unknown.
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

  /** Whether the user may read the list, according to this client's state. */
  get isReadable(): boolean {
    return this.may("read");
  }

  /** Whether the user has the given right, such as `read`, to the room's module. */
  protected may(right: string): boolean {
    const room = roomIn(this.client.state, this.room);
    const key = `room:${this.module}.${right}`;
    return room?.permissions.includes(key) ?? false;
  }

  /** Returns the action in the name of a command or push; undefined for other modules. */
  #actionOf(name: string): string | undefined {
    const [module, action] = name.split(".");
    return module === this.module ? action : undefined;
  }
}

/** The part of an {@link ItemKind} that a list uses. */
export type Kind<T extends Listed> = Pick<
  ItemKind<T, Listed>,
  "module" | "list" | "isReadable" | "own" | "pushed" | "answered"
>;

/** @param now the item in the new list; undefined if it is no longer listed. */
const list = <T extends Listed>(
  items: readonly T[],
  { id }: Listed,
  now: T | undefined,
): readonly T[] => (now ? put(items, now) : remove(items, id));

/** Applies changes to a list of polls. */
export class PollKind extends ItemKind<ListedPoll, SentPoll> {
  readonly module = "poll";

  list(): Promise<ListedPoll[]> {
    return this.client.call("poll.list", { room: this.room });
  }

  own({ answers, value }: ListedPoll): unknown {
    return { answers, value };
  }

  protected listed(
    poll: SentPoll,
    known: ListedPoll | undefined,
    order?: SentCommand,
  ): ListedPoll | undefined {
    if (!isPublic(poll) && !this.may("manage")) return undefined;
    const isVote = order?.action === "vote";
    const vote = isVote ? (order.payload as PollVote) : undefined;
    const answers = answersIn(poll, vote ? (vote.options ?? vote.answers) : known?.answers);
    const value = vote ? vote.value : known?.value;
    return { ...poll, ...(answers.length > 0 && { answers }), ...(value != null && { value }) };
  }

  /** Whether the user may have voted, or withdrawn their vote, on another connection. */
  protected doubt(now: ListedPoll | undefined, known: ListedPoll | undefined): Doubt | undefined {
    if (!now) return undefined;
    const { state, results, answers, value } = now;
    const seesAllResults = this.may("manage") || this.may("early_results");
    // Only users who have voted see the results.
    if (state === "open" && !seesAllResults) {
      const hasVoted = answers !== undefined || value !== undefined;
      if (Boolean(results) !== hasVoted) return "certainly";
    }
    if (!results || isSame(known?.results, results)) return undefined;
    if (state === "open") return "perhaps";
    const hasVotes =
      (summaryIn(results)?.people ?? 0) > 0 ||
      Object.values(countsIn(results)).some((votes) => votes > 0);
    return known || !hasVotes ? undefined : "certainly";
  }
}

/** A vote in a poll: the ids of options, or words or texts, or a value of a scale. */
export interface PollVote {
  readonly options?: readonly string[];
  readonly answers?: readonly string[];
  /** Null withdraws the vote. */
  readonly value?: number | null;
}

/** Returns a vote as the server lists it. */
function answersIn({ poll_type, options }: SentPoll, vote: readonly string[] = []): string[] {
  // A ranking keeps the order of the vote, and texts have no ids.
  if (poll_type !== undefined && !hasCounts(poll_type)) return [...vote];
  return options.map(({ id }) => id).filter((id) => vote.includes(id));
}

/** Applies changes to a list of questions. */
export class QuestionKind extends ItemKind<ListedQuestion, SentQuestion> {
  readonly module = "question";
  /** The ids of questions known to be the user's own. The server does not mark a user's own questions. */
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
    order?: SentCommand,
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
    // A hidden question may have been asked by the user on another connection.
    return now?.score === known.score ? undefined : "perhaps";
  }
}

/**
 * Whether a list may be stale, because the server does not report the user's actions on other
 * connections. `certainly` means that this client is known to lack information, for example about
 * the user's votes.
 */
type Doubt = "perhaps" | "certainly";

/** The maximum initial delay for each doubt, and the upper bound of all delays, in milliseconds. */
const FIRST_DELAY_MS = { perhaps: 60_000, certainly: 2000 };
const MAX_DELAY_MS = 300_000;

/**
 * Decides when to refetch a doubtful list: after a random share of a maximum delay, which doubles
 * as long as the responses contain nothing new. Therefore, a client rarely refetches if its user
 * has only one connection, and different clients do not refetch simultaneously.
 */
export class Doubts {
  readonly #ask: () => void;
  readonly #longest: Record<Doubt, number> = { ...FIRST_DELAY_MS };
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** The reason for the pending request; undefined if no request is pending. */
  #waiting: Doubt | undefined;
  /** The reason for the last request. */
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

  /** @param isNew whether the response contained an action by the user that this client did not know about. */
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

// Functions for lists of a room's items, such as questions. Each function returns the same list if
// nothing changes, or else a new list. No function mutates a list.

/** The common fields of all items. */
export interface Listed {
  readonly id: string;
  readonly timestamp: string;
  readonly is_pinned: boolean;
}

/** Maximum number of items in a list, as on the server. */
const MAX_ITEMS = 1000;

export const find = <T extends Listed>(items: readonly T[], id: string): T | undefined =>
  items.find((item) => item.id === id);

/** Inserts an item in order of time, or replaces its previous state. */
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

/**
 * Pins one item, and unpins any other item.
 * @param pinned the id of the item to pin; undefined to unpin all items.
 */
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

/** If the list is too long, drops the oldest item that is not pinned. */
function bounded<T extends Listed>(items: T[]): T[] {
  if (items.length <= MAX_ITEMS) return items;
  const oldest = items.findIndex(({ is_pinned }) => !is_pinned);
  return items.toSpliced(oldest, 1);
}

/** Whether two JSON values are equal, regardless of key order. */
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
