export default /* sql */ `
-- The text fields of the profile without differences of case, for search.
ALTER TABLE users ADD COLUMN fields_folded TEXT NOT NULL DEFAULT '';
UPDATE users SET fields_folded = folded_fields(profile) WHERE instr(profile, '"fields"');
`;
