export default /* sql */ `
-- Of several edits of a message, only the last one keeps its content.
UPDATE chat_events SET content = zeroblob(length(CAST(content AS BLOB)))
WHERE replaces IS NOT NULL AND typeof(content) = 'text' AND EXISTS
  (SELECT 1 FROM chat_edits WHERE event = chat_events.replaces AND edit <> chat_events.id);
`;
