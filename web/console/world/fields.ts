import type { FieldNames } from "../parts/field-name.js";

export const worldFields: FieldNames = {
  title: "world.title",
  domain: "world.domain",
  "config.locale": "world.locale",
  "config.timezone": "world.timezone",
  "config.connection_limit": "world.limit",
  "config.theme": "world.theme",
  "config.links": "world.links",
  "config.mail": "console.mail",
  "config.contact": "mail.contact",
  "config.profile_fields": "world.profileFields",
  "config.iframe_blockers": "world.frames",
  "config.trait_badges_map": "world.badges",
};
