import t, { type Test } from "tap";
import { NIGHT } from "../support/night.js";
import { findChromium } from "./chromium.js";

/** One test at a time, because each starts several browser contexts that share a few cores. */
t.jobs = 1;

const missing = findChromium() === undefined && "there is no chromium: set CHROMIUM";

type Work = (t: Test) => Promise<unknown>;

/** Registers a test that also runs before a merge. */
export const test = (name: string, work: Work) => void t.test(name, { skip: missing }, work);

/** Registers a test for the nightly run only; the pre-merge run covers just the main flows. */
export const nightly = (name: string, work: Work) =>
  void t.test(name, { skip: missing || (!NIGHT && "a landing tries the main flows") }, work);

export default t;
