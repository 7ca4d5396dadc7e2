import process from "node:process";

/**
 * Whether everything runs, as in the nightly run (`NIGHT=1`). Without it, tests with rounds,
 * crowds or waits make them smaller, and those that say so are skipped.
 */
export const NIGHT = process.env.NIGHT === "1";
