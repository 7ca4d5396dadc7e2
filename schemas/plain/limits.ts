// Limits enforced in more than one part of the server.

/** Maximum size of a user profile, in bytes of JSON. */
export const MAX_PROFILE = 16 * 1024;

/** Maximum number of values in user-submitted JSON that the server stores, including the outermost value. */
export const MAX_VALUES = 1000;

/** Maximum nesting depth of a profile, a client state or a room's schedule data. */
export const MAX_LEVELS = 20;

/** Maximum number of options in a poll. */
export const MAX_OPTIONS = 100;
