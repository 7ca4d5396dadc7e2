import { absent } from "../rules/preconditions.js";
import { domain, type DomainLog, type Reading, type Sql } from "./domain.js";

/** A person's rating of a session. */
export interface Rating {
  readonly session: string;
  /** 1 to 5. */
  readonly stars: number;
  /** Empty if the person wrote no comment. */
  readonly text: string;
}

/** An anonymous rating, as in the results. */
export interface ListedRating extends Rating {
  /** Increases with each rating; replacing a rating keeps its number. */
  readonly number: number;
  /** In milliseconds since 1970. */
  readonly at: number;
}

/** The totals of a session's ratings. */
export interface RatingSum {
  readonly session: string;
  readonly count: number;
  /** The sum of all stars. */
  readonly stars: number;
}

const OWN = `SELECT session_id AS session, stars, content AS text FROM session_ratings
  WHERE world_id = $1 AND user_id = $2 ORDER BY number`;

const OF_SESSION = `SELECT number, session_id AS session, stars, content AS text, rated_at AS at
  FROM session_ratings WHERE world_id = $1 AND session_id = $2 AND number > $3
  ORDER BY number LIMIT $4`;

const SUMS = `SELECT session_id AS session, COUNT(*) AS count, SUM(stars) AS stars
  FROM session_ratings WHERE world_id = $1 GROUP BY session_id ORDER BY session_id`;

const USER = `SELECT 1 FROM users WHERE world_id = $1 AND id = $2
  AND (token_id IS NOT NULL OR client_id IS NOT NULL)`;

const SESSION = "SELECT 1 FROM program_sessions WHERE world_id = $1 AND id = $2";

const STORED = `SELECT content FROM session_ratings
  WHERE world_id = $1 AND session_id = $2 AND user_id = $3`;

const STORE = `INSERT INTO session_ratings (world_id, session_id, user_id, stars, content, rated_at)
  VALUES ($1, $2, $3, $4, $5, $6)
  ON CONFLICT (world_id, session_id, user_id)
  DO UPDATE SET stars = excluded.stars, content = excluded.content, rated_at = excluded.rated_at`;

const reads = (sql: Reading) => ({
  /** Returns a user's ratings, in the order in which the user first rated the sessions. */
  own: (world: string, user: string): Promise<Rating[]> => sql.all<Rating>(OWN, [world, user]),

  /**
   * Returns at most `limit` of a session's ratings, starting after the rating with the given
   * number.
   */
  list: (world: string, session: string, after: number, limit: number): Promise<ListedRating[]> =>
    sql.all<ListedRating>(OF_SESSION, [world, session, after, limit]),

  /** Returns the totals of all rated sessions, by session id. */
  async sums(world: string): Promise<RatingSum[]> {
    const rows = await sql.all<RatingSum>(SUMS, [world]);
    // PostgreSQL returns sums as decimals, which arrive as text.
    return rows.map(({ session, count, stars }) => ({
      session,
      count: Number(count),
      stars: Number(stars),
    }));
  },
});

const writes = (sql: Sql, log: DomainLog) => ({
  /**
   * Stores a user's rating of a session, replacing any previous rating by the same user.
   * @param at in milliseconds since 1970.
   * @throws {StoreError} `absent` on `user` or on `session`.
   */
  async rate(world: string, user: string, { session, stars, text }: Rating, at: number) {
    if ((await sql.value(USER, [world, user])) === undefined) throw absent("user");
    if ((await sql.value(SESSION, [world, session])) === undefined) throw absent("session");
    const before = await sql.value<string>(STORED, [world, session, user]);
    await sql.run(STORE, [world, session, user, stars, text, at]);
    if (before) log.erased("session_ratings");
    log.appendOf(world, user, { type: "session.rated", session, user });
  },
});

/** Creates the domain of session ratings. */
export const ratings = domain({ reads, writes, parameters: { rate: 4 } });
