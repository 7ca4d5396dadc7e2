// Feedback on sessions: stars and a sentence, shared by server and pages.

/** The limits of a rating. */
export const RATING = { stars: 5, text: 500 } as const;

/** How long before the end of a session people may rate it, in milliseconds: many leave a little earlier. */
const EARLY_MS = 5 * 60_000;

/** How many ratings a session needs before its speakers see the average, so that nobody's stars show. */
export const FEWEST_RATINGS = 3;

/** An event's settings for feedback, `config.feedback`. */
export interface FeedbackSettings {
  /** Whether people are asked to rate sessions. */
  readonly sessions: boolean;
  /** Whether speakers see the average of their sessions. */
  readonly show_speakers: boolean;
}

/** Returns the settings in a world's config; by default, nobody is asked. */
export function feedbackIn({ feedback }: Readonly<Record<string, unknown>>): FeedbackSettings {
  const { sessions, show_speakers } = Object(feedback) as Record<string, unknown>;
  return { sessions: sessions === true, show_speakers: show_speakers === true };
}

/**
 * Whether people may rate a session: from five minutes before its end.
 * @param now in milliseconds since 1970.
 */
export const isRateable = (
  { ends_at, state }: { ends_at: string | null; state: string },
  now: number,
): boolean => state === "public" && ends_at !== null && now >= Date.parse(ends_at) - EARLY_MS;
