import type { ListedPoll, SentPoll } from "../../schemas/live/index.js";
import { Items } from "./items.js";
import type { CallOptions } from "./options.js";

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
    const { poll } = await this.orders.once("poll.create", payload, callOptions);
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
    return (await this.orders.persist("poll.vote", payload, options)).poll;
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
    const { poll } = await this.orders[send]("poll.update", payload, callOptions);
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
