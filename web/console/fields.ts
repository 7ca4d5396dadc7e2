import { t, type Key } from "../i18n/index.js";

// What the fields of a record are called, in forms and in the history.

type Names = Readonly<Record<string, Key>>;

export const worldFields: Names = {
  title: "world.title",
  domain: "world.domain",
  "config.locale": "world.locale",
  "config.timezone": "world.timezone",
  "config.connection_limit": "world.limit",
  "config.theme": "world.theme",
  "config.links": "world.links",
  "config.profile_fields": "world.profileFields",
  "config.iframe_blockers": "world.frames",
  "config.trait_badges_map": "world.badges",
};

export const sessionFields: Names = {
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

/** The name of a field; one without a name stands for itself. */
export const fieldName = (names: Names, field: string): string =>
  Object.hasOwn(names, field) ? t(names[field]!) : field.replace(/^config\./, "");
