export default /* sql */ `
-- Whether readers learn who asked. A question of before was asked without a name.
ALTER TABLE questions ADD COLUMN named BIGINT NOT NULL DEFAULT 0 CHECK (named IN (0, 1));
`;
