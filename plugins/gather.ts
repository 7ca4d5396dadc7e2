/**
 * Turns the counts of this process, and perhaps of others, into text for Prometheus. Its
 * argument is a registry of prom-client, which the types of the library need not know.
 */
export type Gather = (own: { metrics(): Promise<string> }) => Promise<string>;
