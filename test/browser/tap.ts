import t, { type Test } from "tap";
import { NIGHT } from "../support/night.js";
import { findChromium } from "./chromium.js";

/** One test at a time: each has browsers of its own, which share a few cores. */
t.jobs = 1;

const missing = findChromium() === undefined && "there is no chromium: set CHROMIUM";

type Work = (t: Test) => Promise<unknown>;

/** Tries a flow that a landing tries, too. */
export const test = (name: string, work: Work) => void t.test(name, { skip: missing }, work);

/** Tries what a landing leaves to the night, as it tries the main flows. */
export const nightly = (name: string, work: Work) =>
  void t.test(name, { skip: missing || (!NIGHT && "a landing tries the main flows") }, work);

export default t;
