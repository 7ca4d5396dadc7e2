import { type Static, Type } from "@sinclair/typebox";
import { visible } from "../plain/texts.js";
import { OneOf, Text } from "../values.js";
import { onChannel } from "./errors.js";
import { PublicUser } from "./users.js";
import { AnyObject, command, Empty, Id, Payload, some } from "./values.js";

const heldId = Text({
  format: "uuid",
  description: "An id that only the commands for held messages accept.",
});

/** A message that waits until a moderator approves it. */
export const HeldMessage = Type.Object(
  {
    id: heldId,
    channel: Type.String(),
    sender: Text({ format: "uuid" }),
    timestamp: Text({ format: "date-time" }),
    content: Type.Unsafe<Record<string, unknown>>({
      ...AnyObject,
      description: "As in a `chat.event`.",
    }),
    replaces: Type.Unsafe<number | null>(
      Type.Union([Type.Integer({ minimum: 1 }), Type.Null()], {
        description: "For an edit: the message whose content it will replace.",
      }),
    ),
  },
  { additionalProperties: false },
);
export type HeldMessage = Static<typeof HeldMessage>;

const channel = Type.Optional(Id);
const errors = [...onChannel, "protocol.denied", "chat.unknown_event"] as const;

/** Commands for messages that wait for a moderator. They require a room with a chat. */
export const heldCommands = {
  "chat.held.list": command({
    summary: "The held messages, longest waiting first: all for moderators, or the user's own",
    payload: Payload({ channel }),
    result: Type.Object(
      {
        count: Type.Integer({ minimum: 0 }),
        results: Type.Array(HeldMessage, { maxItems: 200 }),
        users: Type.Record(Type.String(), PublicUser, { description: "The senders, by id." }),
      },
      { additionalProperties: false },
    ),
    errors: [...onChannel, "protocol.denied"],
    example: some.channel,
  }),
  "chat.approve": command({
    summary: "Approves a held message: sends it now, with a new id",
    payload: Payload({ channel, event: Id }),
    result: Type.Object({ id: Type.Integer({ minimum: 1 }) }, { additionalProperties: false }),
    errors,
    example: { ...some.channel, event: "4a4f0f0e-53a2-4d0e-9f57-1f0a6a3f9f12" },
  }),
  "chat.reject": command({
    summary: "Rejects a held message: erases it, and notifies its author",
    payload: Payload({
      channel,
      event: Id,
      reason: Type.Optional(Text({ ...visible, maxLength: 500 })),
    }),
    result: Empty,
    errors,
    example: {
      ...some.channel,
      event: "4a4f0f0e-53a2-4d0e-9f57-1f0a6a3f9f12",
      reason: "Please use the questions.",
    },
  }),
} as const;

export const heldPushes = {
  "chat.held": {
    summary: "A message is held; sent to its author and the moderators of its room",
    data: Type.Object(
      { channel: Type.String(), event: HeldMessage, user: PublicUser },
      { additionalProperties: false },
    ),
  },
  "chat.held.gone": {
    summary: "A message is no longer held; sent to its author and the moderators of its room",
    data: Type.Object(
      {
        channel: Type.String(),
        event: heldId,
        state: OneOf("approved", "rejected"),
        reason: Type.Optional(Type.String({ description: "The moderator's reason." })),
        id: Type.Optional(
          Type.Integer({ minimum: 1, description: "The event created from an approved message." }),
        ),
      },
      { additionalProperties: false },
    ),
  },
} as const;
