import { type Static, Type } from "@sinclair/typebox";
import { visible } from "../plain/texts.js";
import { OneOf, Text } from "../values.js";
import { command, Id, Nothing, Payload, some, TimeOrNull } from "./values.js";

/** An announcement to everybody in the world. */
export const SentAnnouncement = Type.Object(
  {
    id: Type.String(),
    text: Type.String(),
    show_until: TimeOrNull,
    state: OneOf("draft", "active", "archived"),
    is_visible: Type.Boolean({
      description: "Whether it is active and show_until has not passed.",
    }),
  },
  { additionalProperties: false },
);
export type SentAnnouncement = Static<typeof SentAnnouncement>;

const fields = {
  text: Text(visible),
  show_until: Type.Optional(TimeOrNull),
  state: Type.Optional(OneOf("draft", "active", "archived")),
};

const Result = Type.Object({ announcement: SentAnnouncement });

export const announcementCommands = {
  "announcement.create": command({
    summary: "Creates an announcement",
    payload: Payload(fields),
    result: Result,
    errors: [],
    example: { text: "Lunch is served.", state: "active" },
  }),
  "announcement.update": command({
    summary: "Changes an announcement; its state can only move forward",
    payload: Payload({ id: Id, ...fields, text: Type.Optional(fields.text) }),
    result: Result,
    errors: ["announcement.unknown"],
    example: { id: some.announcement, state: "archived" },
  }),
  "announcement.list": command({
    summary: "All announcements, in every state",
    payload: Nothing,
    result: Type.Array(SentAnnouncement),
    errors: [],
    example: null,
  }),
} as const;

const { is_visible: isVisible, ...always } = SentAnnouncement.properties;

export const announcementPushes = {
  "announcement.created_or_updated": {
    summary: "An announcement became visible, changed, or is no longer visible",
    data: Type.Object(
      { ...always, is_visible: Type.Optional(isVisible) },
      { additionalProperties: false },
    ),
  },
} as const;
