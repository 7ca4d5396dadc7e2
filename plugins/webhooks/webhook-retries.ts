// The retry rule for webhooks: how long to wait after a failed delivery, and when to stop.

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

/** Delays after an entry's first failures, in milliseconds. The last delay repeats. */
const RETRY_DELAYS_MS = [
  5 * SECOND,
  30 * SECOND,
  2 * MINUTE,
  10 * MINUTE,
  HOUR,
  3 * HOUR,
  6 * HOUR,
];

/** Time of continuous failure after which a webhook is disabled, in milliseconds. */
const DISABLE_AFTER_MS = 3 * 24 * HOUR;

/**
 * Minimum number of failed attempts before a webhook is disabled. Elapsed time alone is not enough:
 * the clock may jump by days, and the server may have been off.
 */
const MIN_ATTEMPTS = RETRY_DELAYS_MS.length + 1;

/**
 * Returns whether to disable a webhook.
 * @param duration the time since the webhook's first failure, in milliseconds.
 * @param attempts how often the webhook has failed.
 */
export const shouldDisable = (duration: number, attempts: number): boolean =>
  duration >= DISABLE_AFTER_MS && attempts >= MIN_ATTEMPTS;

/**
 * Returns the delay before the next attempt, in milliseconds, with a jitter of up to 20 %.
 * @param attempts how often the delivery has failed.
 */
export const retryDelay = (attempts: number, random = Math.random): number =>
  RETRY_DELAYS_MS[Math.min(attempts, RETRY_DELAYS_MS.length) - 1]! * (1 + random() / 5);
