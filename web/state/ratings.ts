import { type Readable, writable, type Writable } from "svelte/store";
import type { Session } from "./session.js";

// The user's session ratings, shared by all components.

/** A person's rating. */
export interface Rating {
  readonly stars: number;
  readonly text: string;
}

/** The known ratings. */
export interface Ratings {
  /** Whether the event asks for ratings. */
  readonly asks: boolean;
  /** The user's own ratings, by session. */
  readonly own: ReadonlyMap<string, Rating>;
  /** The average ratings of the user's own sessions, by session, if speakers may see them. */
  readonly averages: ReadonlyMap<string, { readonly stars: number; readonly count: number }>;
}

type Live = Session["live"];

const known = new WeakMap<Live, Writable<Ratings | undefined>>();

/** Returns a connection's ratings. The first call loads them. */
export function ratingsOf(live: Live): Readable<Ratings | undefined> {
  const found = known.get(live);
  if (found) return found;
  const store = writable<Ratings | undefined>(undefined);
  known.set(live, store);
  void load(live, store);
  return store;
}

async function load(live: Live, store: Writable<Ratings | undefined>): Promise<void> {
  try {
    const { asks, ratings, averages } = await live.call("session.ratings", {});
    store.set({
      asks,
      own: new Map(ratings.map(({ session, stars, text }) => [session, { stars, text }])),
      averages: new Map(averages.map(({ session, ...average }) => [session, average])),
    });
  } catch {
    // Users without the right to rate are not asked. After a lost connection, the next page loads
    // the ratings again.
    known.delete(live);
  }
}

/** Rates a session, replacing any earlier rating. */
export async function rate(live: Live, session: string, rating: Rating): Promise<void> {
  await live.call("session.rate", { session, ...rating });
  known
    .get(live)
    ?.update(
      (ratings) => ratings && { ...ratings, own: new Map(ratings.own).set(session, rating) },
    );
}
