import process from "node:process";

/**
 * Whether everything runs, as in the nightly run (`NIGHT=1`). Otherwise, tests reduce their rounds,
 * crowds and waits, and some are skipped.
 */
export const NIGHT = process.env.NIGHT === "1";
