import { randomUUID } from "node:crypto";
import { MAX_OPTIONS } from "../../schemas/plain/limits.js";
import type { OptionDraft, PollChanges } from "../polls.js";
import { StoreError } from "../store.js";
import type { Connection } from "./database.js";
import { BY_POSITION, OPTION_COLUMNS, type OptionRow } from "./poll-reads.js";
import { absent } from "./preconditions.js";

/** The highest order that an option can have. */
const HIGHEST = 2 ** 31 - 1;

/** An option that is to be stored; a new one has no number. */
type Saved = Pick<OptionRow, "id" | "content"> & {
  number?: number;
  order: number | undefined;
};

/** The options of polls, as writes find and change them. */
export function optionWrites(db: Connection) {
  const select = db.prepare<[number], OptionRow>(
    `SELECT ${OPTION_COLUMNS} FROM poll_options AS o WHERE o.poll = ? ORDER BY ${BY_POSITION}`,
  );
  const insert = db.prepare<[number, string, string, number]>(
    "INSERT INTO poll_options (poll, id, content, position) VALUES (?, ?, ?, ?)",
  );
  const update = db.prepare<[string, number, number]>(
    "UPDATE poll_options SET content = ?, position = ? WHERE number = ?",
  );
  const remove = db.prepare<[number]>(
    "DELETE FROM poll_options WHERE number = ?",
  );

  /** @param last the highest order of the options that have one. */
  function save(poll: number, options: readonly Saved[], last: number): void {
    for (const { id, content, order, number } of options) {
      const position = order ?? (last = Math.min(last + 1, HIGHEST));
      if (number === undefined) insert.run(poll, id, content, position);
      else update.run(content, position, number);
    }
  }

  return {
    /** The options of a poll in their order. */
    of: (poll: number): OptionRow[] => select.all(poll),

    /** Checks the options of a new poll. @throws {StoreError} `quota` on `options`. */
    expectFew,

    /** Stores the options of a new poll. */
    add(poll: number, drafts: readonly OptionDraft[]): void {
      const options = drafts.map(({ content, order }) => ({
        id: randomUUID(),
        content,
        order,
      }));
      save(poll, options, highestIn(options));
    },

    /** Replaces the options of a poll as {@link planOptions} says. */
    replace(poll: number, { kept, removed }: OptionPlan): void {
      for (const { number } of removed) remove.run(number);
      save(poll, kept, highestIn(kept));
    },
  };
}

/** What becomes of the options of a poll. */
interface OptionPlan {
  kept: Saved[];
  removed: OptionRow[];
}

/**
 * Finds what a change of the options of a poll does.
 * @param present the options of the poll.
 * @throws {StoreError} `absent` on `option`, or `quota` on `options`.
 */
export function planOptions(
  present: readonly OptionRow[],
  asked: NonNullable<PollChanges["options"]>,
): OptionPlan {
  const left = new Map(present.map((option) => [option.id, option]));
  const kept = asked.map(({ id, content, order }): Saved => {
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
  return { kept, removed: [...left.values()] };
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

/** The highest order of some options; 0 if none has one. */
const highestIn = (options: readonly Pick<Saved, "order">[]): number => {
  const orders = options.flatMap(({ order }) => order ?? []);
  return orders.length > 0 ? Math.max(...orders) : 0;
};
