import type { Act } from "../contract/audit.js";

/**
 * Tokens were signed. The audit has their traits, and neither a token nor a name.
 * @param number how many.
 */
export const tokenCreated = (traits: readonly string[], number = 1): Act => ({
  ...{ type: "token.created", subject: {} },
  changes: [
    { field: "traits", before: null, after: traits },
    ...(number === 1 ? [] : [{ field: "number", before: null, after: number }]),
  ],
});

/** What is left of an event was sent. @param kind such as `chat`. */
export const resultsExported = (
  kind: string,
  format: string,
  room?: string,
): Act => ({
  type: "results.exported",
  subject: { kind, format, ...(room !== undefined && { room_id: room }) },
});
