import type {
  Commands,
  ListedPoll,
  Pushes,
  SentPoll,
} from "../../schemas/live/index.js";
import type { Client } from "./client.js";
import type { Doubt } from "./doubts.js";
import { find, isSame, pin, put, remove } from "./listed.js";
import { mayIn, type Change, type Kind } from "./room-list.js";

type Items = readonly ListedPoll[];

/** How a list of polls changes. */
export class PollKind implements Kind<ListedPoll> {
  readonly module = "poll";
  readonly #client: Client;
  readonly #room: string;

  constructor(client: Client, room: string) {
    this.#client = client;
    this.#room = room;
  }

  list(): Promise<ListedPoll[]> {
    return this.#client.call("poll.list", { room: this.#room });
  }

  own({ answers }: ListedPoll): unknown {
    return answers;
  }

  pushed(items: Items, name: string, data: unknown): Change<ListedPoll> {
    switch (name) {
      case "poll.created_or_updated": {
        const { poll } = data as Pushes["poll.created_or_updated"];
        const known = find(items, poll.id);
        const now = this.#changed(items, poll, known?.answers);
        const doubt = this.#doubt(known, find(now, poll.id));
        return { items: now, doubt };
      }
      case "poll.deleted": {
        const { id } = data as Pushes["poll.deleted"];
        return { items: remove(items, id) };
      }
      case "poll.pinned": {
        const { id } = data as Pushes["poll.pinned"];
        const doubt = find(items, id) ? undefined : "certainly";
        return { items: pin(items, id), doubt };
      }
      case "poll.unpinned":
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
    const { id, options } = payload as { id: string; options: string[] };
    switch (name) {
      case "poll.create":
      case "poll.update": {
        const { poll } = result as Commands["poll.update"]["result"];
        const known = find(items, poll.id);
        return this.#changed(items, poll, known?.answers);
      }
      case "poll.vote": {
        const { poll } = result as Commands["poll.vote"]["result"];
        return this.#changed(items, poll, options);
      }
      case "poll.delete":
        return remove(items, id);
      case "poll.pin":
        return pin(items, id);
      case "poll.unpin":
        return pin(items, undefined);
      default:
        return items;
    }
  }

  /** @param chosen the ids of the options that the user chose, as far as is known. */
  #changed(items: Items, poll: SentPoll, chosen: string[] = []): Items {
    const { id, state } = poll;
    const isPublic = state === "open" || state === "closed";
    if (!isPublic && !this.#may("manage")) return remove(items, id);
    const answers = poll.options
      .map(({ id }) => id)
      .filter((id) => chosen.includes(id));
    return put(items, { ...poll, ...(answers.length > 0 && { answers }) });
  }

  /** Whether the user may have voted, or withdrawn the vote, on another connection. */
  #doubt(
    known: ListedPoll | undefined,
    now: ListedPoll | undefined,
  ): Doubt | undefined {
    if (!now) return undefined;
    const { state, results, answers } = now;
    if (state === "open" && !this.#seesAllResults) {
      // Exactly those who voted see them.
      if (Boolean(results) !== Boolean(answers)) return "certainly";
    }
    if (!results || isSame(known?.results, results)) return undefined;
    if (state === "open") return "perhaps";
    const hasVotes = Object.values(results).some((votes) => votes > 0);
    return known || !hasVotes ? undefined : "certainly";
  }

  get #seesAllResults(): boolean {
    return this.#may("manage") || this.#may("early_results");
  }

  #may(right: "manage" | "early_results"): boolean {
    return mayIn(this.#client, this.#room, `room:poll.${right}`);
  }
}
