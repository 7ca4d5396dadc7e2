import type { ListedRating } from "../domains/ratings.js";
import type { Store } from "../contract/store.js";
import { pagesAfter, results } from "./results.js";

const PAGE = 500;

/** A rating in the results. */
export interface Feedback {
  readonly session_id: string;
  readonly session: string;
  readonly stars: number;
  /** Null if there is no comment. */
  readonly text: string | null;
}

async function* feedbackOf(store: Store, world: string): AsyncGenerator<Feedback> {
  const rated = new Set((await store.ratings.sums(world)).map(({ session }) => session));
  for (const { value } of (await store.program.get(world)).sessions) {
    if (!rated.has(value.id)) continue;
    const pages = pagesAfter(PAGE, (last?: ListedRating) =>
      store.ratings.list(world, value.id, last?.number ?? 0, PAGE),
    );
    for await (const page of pages) {
      for (const { stars, text } of page) {
        yield { session_id: value.id, session: value.title, stars, text: text || null };
      }
    }
  }
}

/**
 * The ratings of sessions, in program order. The rows contain neither names nor times, so that the
 * authors stay anonymous.
 */
export const feedback = results({
  columns: ["session_id", "session", "stars", "text"],
  rowsOf: (record: Feedback) => [{ ...record }],
  records: feedbackOf,
});
