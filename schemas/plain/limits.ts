// Limits that more than one part of the server holds values against.

/** The largest profile of a user, in bytes of JSON. */
export const MAX_PROFILE = 16 * 1024;

/** How many values JSON may have that people send and the server keeps, the outermost included. */
export const MAX_VALUES = 1000;

/** How many levels a profile, a client state and the schedule data of a room may have. */
export const MAX_LEVELS = 20;

/** The most options of a poll. */
export const MAX_OPTIONS = 100;
