import type { ListedPoll, SentPoll } from "../../schemas/live/index.js";
import { isPublic } from "../../schemas/plain/items.js";
import type { Doubt } from "./doubts.js";
import { ItemKind, type Order } from "./item-kind.js";
import { isSame } from "./listed.js";

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
    const answers = poll.options
      .map(({ id }) => id)
      .filter((id) => chosen.includes(id));
    return { ...poll, ...(answers.length > 0 && { answers }) };
  }

  /** Whether the user may have voted, or withdrawn the vote, on another connection. */
  protected doubt(
    now: ListedPoll | undefined,
    known: ListedPoll | undefined,
  ): Doubt | undefined {
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
