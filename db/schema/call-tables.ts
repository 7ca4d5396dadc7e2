import {
  anyWorld,
  erasable,
  flag,
  idOf,
  list,
  looseId,
  looseIdOf,
  number,
  numberOrNull,
  object,
  table,
  text,
  textOrNull,
  type SchemaPart,
} from "../copies/columns.js";

/** Tables for calls in rooms and in direct channels. */
export const callTables: SchemaPart = [
  /* sql */ `
-- The calls with somebody in them, and the direct calls that ring. A channel is the id of a room or
-- of a direct channel.
CREATE TABLE calls (
  world_id TEXT NOT NULL REFERENCES world_ids (id) ON DELETE CASCADE,
  channel TEXT NOT NULL,
  id TEXT NOT NULL UNIQUE,
  started BIGINT NOT NULL,
  -- How many people are in it, and how many were at most. A person has any number of devices.
  people BIGINT NOT NULL,
  most_people BIGINT NOT NULL,
  -- The time that all people together were in it until the time in "counted", in milliseconds.
  person_ms BIGINT NOT NULL,
  counted BIGINT NOT NULL,
  -- Who called in a direct channel, and the message about it. NULL in a room.
  caller TEXT,
  event BIGINT,
  PRIMARY KEY (world_id, channel)
);`,
  table("calls", "world_id channel; id", "none", {
    world_id: idOf("worlds"),
    channel: text,
    id: text,
    started: number,
    people: number,
    most_people: number,
    person_ms: number,
    counted: number,
    caller: looseIdOf("users"),
    event: numberOrNull,
  }),
  /* sql */ `
-- The devices in calls, and those with a token for one.
CREATE TABLE call_people (
  world_id TEXT NOT NULL REFERENCES world_ids (id) ON DELETE CASCADE,
  channel TEXT NOT NULL,
  -- The name of the device at the engine.
  identity TEXT NOT NULL,
  user_id TEXT NOT NULL,
  -- Whether it is a screen.
  hidden BIGINT NOT NULL CHECK (hidden IN (0, 1)),
  -- JSON: what its rights are checked by.
  access TEXT NOT NULL,
  issued BIGINT NOT NULL,
  -- When its token ends.
  ends BIGINT NOT NULL,
  -- Its visit at the engine, and when that began. NULL while it is not there.
  session TEXT,
  joined BIGINT,
  -- JSON: its visits that have ended, the last ones only. They never begin again.
  past TEXT NOT NULL,
  -- When this row changed last, by the clock of the process.
  changed BIGINT NOT NULL,
  -- When each source was switched on, negative if it was switched off; 0 for never.
  microphone BIGINT NOT NULL,
  camera BIGINT NOT NULL,
  screen BIGINT NOT NULL,
  PRIMARY KEY (world_id, channel, identity)
);
CREATE INDEX call_people_by_user ON call_people (world_id, user_id, channel);`,
  erasable(
    table("call_people", "world_id channel identity", "none", {
      world_id: idOf("worlds"),
      channel: text,
      identity: text,
      user_id: looseId("users"),
      hidden: flag,
      access: object,
      issued: number,
      ends: number,
      session: textOrNull,
      joined: numberOrNull,
      past: list,
      changed: number,
      microphone: number,
      camera: number,
      screen: number,
    }),
  ),
  /* sql */ `
-- Who was invited to the stage of a room.
CREATE TABLE call_stage (
  world_id TEXT NOT NULL,
  room_id TEXT NOT NULL,
  user_id TEXT NOT NULL,
  invited BIGINT NOT NULL,
  PRIMARY KEY (world_id, room_id, user_id),
  FOREIGN KEY (world_id, room_id) REFERENCES rooms (world_id, id) ON DELETE CASCADE
);
CREATE INDEX call_stage_by_user ON call_stage (world_id, user_id);`,
  table("call_stage", "world_id room_id user_id", "none", {
    world_id: anyWorld,
    room_id: idOf("rooms"),
    user_id: looseId("users"),
    invited: number,
  }),
  /* sql */ `
-- The raised hands.
CREATE TABLE call_hands (
  world_id TEXT NOT NULL,
  room_id TEXT NOT NULL,
  user_id TEXT NOT NULL,
  raised BIGINT NOT NULL,
  PRIMARY KEY (world_id, room_id, user_id),
  FOREIGN KEY (world_id, room_id) REFERENCES rooms (world_id, id) ON DELETE CASCADE
);
CREATE INDEX call_hands_by_user ON call_hands (world_id, user_id);`,
  table("call_hands", "world_id room_id user_id", "none", {
    world_id: anyWorld,
    room_id: idOf("rooms"),
    user_id: looseId("users"),
    raised: number,
  }),
  /* sql */ `
-- The calls of rooms that have ended.
CREATE TABLE call_history (
  world_id TEXT NOT NULL,
  -- Counts up in the order of the ends.
  number COUNTER,
  id TEXT NOT NULL UNIQUE,
  room_id TEXT NOT NULL,
  started BIGINT NOT NULL,
  ended BIGINT NOT NULL,
  most_people BIGINT NOT NULL,
  person_ms BIGINT NOT NULL,
  UNIQUE (world_id, number), -- sqlite
  PRIMARY KEY (world_id, number), -- postgres
  FOREIGN KEY (world_id, room_id) REFERENCES rooms (world_id, id) ON DELETE CASCADE
);
CREATE INDEX call_history_by_room ON call_history (world_id, room_id, number);
CREATE INDEX call_history_by_time ON call_history (world_id, ended);`,
  table("call_history", "world_id number; id", "none", {
    world_id: anyWorld,
    number: number,
    id: text,
    room_id: idOf("rooms"),
    started: number,
    ended: number,
    most_people: number,
    person_ms: number,
  }),
];
