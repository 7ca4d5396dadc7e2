// Feedback on sessions: stars and a comment. Shared by the server and the pages.

/** The limits for a rating. */
export const RATING = { stars: 5, text: 500 } as const;

/**
 * How long before the end of a session it may be rated, in milliseconds, because many people leave
 * slightly early.
 */
const EARLY_MS = 5 * 60_000;

/**
 * Minimum number of ratings before a session's speakers see the average. A smaller number would
 * expose individual ratings.
 */
export const FEWEST_RATINGS = 3;

/** An event's settings for feedback, `config.feedback`. */
export interface FeedbackSettings {
  /** Whether people are asked to rate sessions. */
  readonly sessions: boolean;
  /** Whether speakers see the average rating of their sessions. */
  readonly show_speakers: boolean;
}

/** Returns the settings in a world's config. By default, nobody is asked for ratings. */
export function feedbackIn({ feedback }: Readonly<Record<string, unknown>>): FeedbackSettings {
  const { sessions, show_speakers } = Object(feedback) as Record<string, unknown>;
  return { sessions: sessions === true, show_speakers: show_speakers === true };
}

/**
 * Whether a session may be rated: from five minutes before its end.
 * @param now in milliseconds since 1970.
 */
export const isRateable = (
  { ends_at, state }: { ends_at: string | null; state: string },
  now: number,
): boolean => state === "public" && ends_at !== null && now >= Date.parse(ends_at) - EARLY_MS;
