import type { Act } from "../contract/audit.js";

/** A token was signed. The audit has its traits, and neither the token nor a name. */
export const tokenCreated = (traits: readonly string[]): Act => ({
  ...{ type: "token.created", subject: {} },
  changes: [{ field: "traits", before: null, after: traits }],
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
