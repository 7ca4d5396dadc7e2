import { Histogram, type Registry } from "prom-client";
import type { ObserveRequest } from "./engine-http.js";

/**
 * Histogram buckets, in seconds. The range extends from the response time of a media server on the
 * same machine to beyond the request timeout.
 */
const BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];

/** Registers the metrics for requests to media servers. Returns the function that records a request. */
export function callMetrics(registry: Registry): ObserveRequest {
  const durations = new Histogram({
    name: "foyer_call_engine_request_duration_seconds",
    help: "Requests of this process to media servers, by engine and outcome, and how long each took.",
    labelNames: ["engine", "outcome"] as const,
    buckets: BUCKETS,
    registers: [registry],
  });
  return (engine, seconds, failed) =>
    durations.observe({ engine, outcome: failed ? "error" : "ok" }, seconds);
}
