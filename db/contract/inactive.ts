/** After this time without a login, a user counts as inactive, in milliseconds. */
export const INACTIVE = 36 * 3600 * 1000;

/**
 * Whether a user counts as inactive.
 * @param last_login in milliseconds since 1970; null before the first login.
 * @param now in milliseconds since 1970.
 */
export const isInactive = (last_login: number | null, now: number): boolean =>
  last_login === null || now - last_login > INACTIVE;
