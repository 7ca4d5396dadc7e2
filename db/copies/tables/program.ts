import {
  text,
  number,
  textOrNull,
  object,
  looseId,
  looseIdOf,
  table,
  timeOrNull,
  oneOf,
  type Table,
} from "./kinds.js";

/** The program. */
export const PROGRAM_TABLES: readonly Table[] = [
  table("programs", "world_id", "all", { world_id: text, stamp: text, settings: text }),
  table("program_places", "world_id place", "all", {
    world_id: text,
    place: { ...text, hasIds: true },
    shown: text,
    changed: text,
  }),
  table("program_sessions", "world_id id; world_id import_id", "all", {
    world_id: text,
    id: text,
    revision: { ...number, inClone: 1 },
    import_id: textOrNull,
    room_id: looseIdOf("rooms"),
    starts_at: timeOrNull,
    ends_at: timeOrNull,
    state: oneOf("public", "draft"),
    title: text,
    detail: { ...object, hasIds: true },
  }),
  table("program_speakers", "world_id id; world_id import_id", "all", {
    world_id: text,
    id: text,
    revision: { ...number, inClone: 1 },
    import_id: textOrNull,
    user_id: { ...looseIdOf("users"), inClone: null },
    picture: { ...textOrNull, inClone: null },
    name: text,
    detail: object,
  }),
  table("program_favorites", "world_id user_id session_id", "export", {
    number,
    world_id: text,
    user_id: looseId("users"),
    session_id: looseId("program_sessions"),
  }),
  table("program_links", "world_id user_id; world_id token", "export", {
    world_id: text,
    user_id: looseId("users"),
    token: text,
  }),
];
