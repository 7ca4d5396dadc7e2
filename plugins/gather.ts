// In a file of its own, as the types of the library refer to it and not to prom-client.

/** Turns the metrics of this process, and perhaps of others, into text for Prometheus. */
export type Gather = (own: { metrics(): Promise<string> }) => Promise<string>;
