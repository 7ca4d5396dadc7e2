export default /* sql */ `
-- Of several edits of a message, only the last one keeps its content.
UPDATE chat_events AS e SET content = NULL FROM chat_edits AS last
WHERE e.replaces IS NOT NULL AND e.content IS NOT NULL AND last.world_id = e.world_id
  AND last.event = e.replaces AND last.edit <> e.id;
`;
