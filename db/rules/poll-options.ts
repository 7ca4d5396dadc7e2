import { randomUUID } from "node:crypto";
import { MAX_OPTIONS } from "../../schemas/plain/limits.js";
import type { OptionRow } from "./poll-rows.js";
import type { OptionDraft, PollChanges } from "../contract/polls.js";
import { absent } from "./preconditions.js";
import { StoreError } from "../contract/store.js";

/** The highest order that an option can have. */
const HIGHEST = 2 ** 31 - 1;

/** An option that is to be stored; a new one has no number. */
export type SavedOption = Pick<OptionRow, "id" | "content" | "order"> & {
  number?: number;
};

/** An option whose order may have to be found. */
type Unplaced = Omit<SavedOption, "order"> & { order: number | undefined };

/** The changes of the options of a poll. */
export interface OptionPlan {
  kept: SavedOption[];
  removed: OptionRow[];
}

/**
 * The options of a new poll, with new ids.
 * @throws {StoreError} `quota` on `options`.
 */
export function newOptions(drafts: readonly OptionDraft[]): SavedOption[] {
  expectFew(drafts);
  return placed(
    drafts.map(({ content, order }) => ({ id: randomUUID(), content, order })),
  );
}

/**
 * Computes a change of the options of a poll.
 * @param present the options of the poll.
 * @throws {StoreError} `absent` on `option`, or `quota` on `options`.
 */
export function planOptions(
  present: readonly OptionRow[],
  asked: NonNullable<PollChanges["options"]>,
): OptionPlan {
  const left = new Map(present.map((option) => [option.id, option]));
  const kept = asked.map(({ id, content, order }): Unplaced => {
    if (id === undefined) {
      if (content === undefined) throw absent("option");
      return { id: randomUUID(), content, order };
    }
    const option = left.get(id);
    // An id that is named twice is not there the second time.
    if (!option) throw absent("option");
    left.delete(id);
    return {
      id,
      number: option.number,
      content: content ?? option.content,
      order: order ?? option.order,
    };
  });
  expectFew(kept);
  return { kept: placed(kept), removed: [...left.values()] };
}

/** @throws {StoreError} `quota` on `options`. */
function expectFew(options: readonly unknown[]): void {
  if (options.length > MAX_OPTIONS) {
    throw new StoreError(
      "quota",
      `A poll may have ${MAX_OPTIONS} options.`,
      "options",
    );
  }
}

/** Puts the options without an order behind all others. */
function placed(options: readonly Unplaced[]): SavedOption[] {
  const orders = options.flatMap(({ order }) => order ?? []);
  let last = orders.length > 0 ? Math.max(...orders) : 0;
  return options.map((option) => ({
    ...option,
    order: option.order ?? (last = Math.min(last + 1, HIGHEST)),
  }));
}
