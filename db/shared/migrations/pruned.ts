export default /* sql */ `
-- The last entry of the log that was removed because of its age. A reader with an earlier
-- cursor has missed something.
ALTER TABLE log_heads ADD COLUMN pruned BIGINT NOT NULL DEFAULT 0;
`;
