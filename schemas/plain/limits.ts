// Limits that more than one part of the server holds values against.

/** The largest profile of a user, in bytes of JSON. */
export const MAX_PROFILE = 16 * 1024;

/** The most options of a poll. */
export const MAX_OPTIONS = 100;
