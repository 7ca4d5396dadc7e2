import type { FieldNames } from "../parts/field-name.js";

export const sessionFields: FieldNames = {
  title: "cprogram.title",
  subtitle: "cprogram.subtitle",
  starts_at: "cprogram.start",
  ends_at: "cprogram.end",
  room_id: "program.room",
  speaker_ids: "program.speakers",
  track: "program.track",
  kind: "program.kind",
  language: "program.language",
  tags: "program.tags",
  abstract: "cprogram.abstract",
  description: "cprogram.description",
  links: "program.links",
  stream: "cprogram.stream",
  recording: "program.recording",
  state: "cprogram.state",
};
