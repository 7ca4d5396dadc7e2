import { availableParallelism, loadavg } from "node:os";
import { SHORT } from "./suites.js";

/**
 * How many times as long as promised something may take: a machine that is busy with other
 * work proves nothing about times. A landing runs several files at once.
 */
export const PATIENCE =
  SHORT || loadavg()[0]! > availableParallelism() ? 24 : 1;
