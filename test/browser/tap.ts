import t from "tap";

/** One test at a time: each has browsers of its own, which share a few cores. */
t.jobs = 1;

export default t;
