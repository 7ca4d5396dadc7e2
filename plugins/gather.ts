// This type has its own file, so that the library's types refer to this file rather than to
// prom-client.

/** Formats the metrics of this process, and possibly of other processes, for Prometheus. */
export type Gather = (own: { metrics(): Promise<string> }) => Promise<string>;
