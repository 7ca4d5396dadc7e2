import { Type, type Static } from "@sinclair/typebox";
import {
  COMMON_KEYS,
  CONTENT_KEYS,
  FILE_KEYS,
  MAX_FILES,
  SentEvent,
  TypedEvent,
} from "./live/chat.js";
import { HeldMessage } from "./live/held.js";
import { PublicUser } from "./live/users.js";
import { visible } from "./plain/texts.js";
import { RoomParams } from "./rooms.js";
import { OneOf, Text } from "./values.js";

const example = {
  event_id: 1204,
  channel: "5f8b1c9e-3a52-4d0e-9f57-1f0a6a3f9f11",
  sender: "7c9e6679-7425-40de-944b-e07fc1f90ae7",
  timestamp: "2027-03-01T09:00:00.000Z",
  event_type: "channel.message",
  content: { type: "text", body: "Hello!" },
  edited: null,
  replaces: null,
  reactions: {},
};

/** A message, or another event in a chat. */
export const Message = Type.Object(SentEvent.properties, {
  $id: "Message",
  description: "A message, or another event of the chat of a room.",
  additionalProperties: false,
  examples: [example],
});

/** A message that waits for a moderator. */
export const WaitingMessage = Type.Object(HeldMessage.properties, {
  $id: "WaitingMessage",
  description: "A message that waits until a moderator approves it.",
  additionalProperties: false,
  examples: [
    {
      id: "4a4f0f0e-53a2-4d0e-9f57-1f0a6a3f9f12",
      channel: example.channel,
      sender: example.sender,
      timestamp: example.timestamp,
      content: example.content,
      replaces: null,
    },
  ],
});

/** A list of chat events, along with the users who appear in these events. */
export const MessageList = Type.Object(
  {
    results: Type.Array(TypedEvent),
    users: Type.Record(Type.String(), PublicUser, {
      description: "The senders, and the users who were mentioned or reacted.",
    }),
  },
  {
    $id: "MessageList",
    description: "Some events of the chat of a room, oldest first, and the users in them by id.",
    additionalProperties: false,
    examples: [{ results: [{ ...example, type: "chat.event" }], users: {} }],
  },
);

/** Selects chat events. */
export const MessagesQuery = Type.Object({
  after: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: Number.MAX_SAFE_INTEGER,
      description: "The oldest events after this id. Cannot be combined with `before`.",
    }),
  ),
  before: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: Number.MAX_SAFE_INTEGER,
      description:
        "The newest events before this id. Cannot be combined with `after`. Without either, the newest events.",
    }),
  ),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 1000, default: 100 })),
});

/** Returns the schema of an object without additional properties. */
const only = (keys: readonly string[], known: object) => ({
  type: "object",
  additionalProperties: false,
  properties: { ...Object.fromEntries(keys.map((key) => [key, {}])), ...known },
});

const content = (
  type: keyof typeof CONTENT_KEYS,
  description: string,
  required: readonly string[],
  properties: object = {},
) => ({
  ...only([...COMMON_KEYS, ...CONTENT_KEYS[type]], { type: { const: type }, ...properties }),
  description,
  required: ["type", ...required],
});

const shortText = { type: "string", maxLength: 10_000 };

/** Documentation only: `chat.send` checks the content against the server's configured limits. */
const contents = [
  content("text", "A text.", ["body"], { body: { ...shortText, ...visible } }),
  content("files", "Uploaded files, and perhaps a text.", ["files"], {
    files: {
      type: "array",
      minItems: 1,
      maxItems: MAX_FILES,
      items: {
        ...only(FILE_KEYS, { url: { type: "string" }, name: { type: "string" } }),
        required: ["url", "name"],
      },
    },
    body: { ...shortText, type: ["string", "null"] },
  }),
  content("deleted", "With replaces: deletes the message.", []),
];

/** The content of a new message, as in `chat.send`. */
export const MessageDraft = Type.Object(
  {
    content: Type.Object(
      { type: Text({ examples: ["text"] }) },
      { additionalProperties: true, oneOf: contents },
    ),
    event_type: Type.Optional(OneOf("channel.message")),
    replaces: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: Number.MAX_SAFE_INTEGER,
        description: "The id of the message that it edits.",
      }),
    ),
  },
  {
    $id: "MessageDraft",
    description: "A new message, as in `chat.send`.",
    additionalProperties: false,
    examples: [{ content: { type: "text", body: "Hello!" } }],
  },
);
export type MessageDraft = Static<typeof MessageDraft>;

export const MessageParams = Type.Object({
  ...RoomParams.properties,
  event_id: Type.String({ description: "The id of a message." }),
});
