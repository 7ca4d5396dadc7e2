import {
  text,
  number,
  textOrNull,
  numberOrNull,
  idOf,
  table,
  type Table,
} from "./kinds.js";

/** What integrators and organizers see of a world. */
export const INTEGRATION_TABLES: readonly Table[] = [
  table(
    "attendance_counts",
    "world_id room_id at",
    "none",
    { world_id: text, room_id: idOf("rooms"), at: number, people: number },
    4,
  ),
  table(
    "attendance_visits",
    "world_id room_id user_id session_id",
    "none",
    {
      ...{ world_id: text, room_id: idOf("rooms"), user_id: text },
      ...{ session_id: text, first: number, last: number, duration: number },
    },
    4,
  ),
  table(
    "webhooks",
    "world_id number; id",
    "none",
    {
      ...{ number, id: text, world_id: idOf("worlds"), url: text, types: text },
      ...{ enabled: number, description: text, created_at: number },
      ...{ secret: text, revision: number, position: number },
      ...{ delivered_at: numberOrNull, failing_since: numberOrNull },
      ...{ last_status: numberOrNull, last_error: textOrNull },
      ...{ next_try_at: numberOrNull, attempts: number },
      ...{ holder: textOrNull, beat: number },
    },
    4,
  ),
  {
    ...table(
      "audit",
      "world_id number",
      "none",
      {
        ...{ number, world_id: idOf("worlds"), at: number, kind: text },
        ...{ user_id: textOrNull, token: textOrNull, type: text },
        ...{ subject: text, changes: text, request_id: textOrNull },
      },
      4,
    ),
    until: 4,
  },
  table(
    "api_callers",
    "world_id token",
    "none",
    { world_id: idOf("worlds"), token: text, token_id: text, at: number },
    4,
  ),
  table(
    "room_invites",
    "world_id room_id; world_id token",
    "none",
    {
      ...{ world_id: idOf("worlds"), room_id: idOf("rooms") },
      ...{ token: text, ends: number },
    },
    4,
  ),
  table(
    "push_keys",
    "name",
    "none",
    { name: text, public_key: text, private_key: text },
    4,
  ),
  table(
    "push_subscriptions",
    "world_id endpoint",
    "none",
    {
      ...{ world_id: idOf("worlds"), endpoint: text, user_id: text },
      ...{ p256dh: text, auth: text, created: number },
    },
    4,
  ),
  table(
    "push_claims",
    "world_id name",
    "none",
    { world_id: idOf("worlds"), name: text, at: number },
    4,
  ),
];
