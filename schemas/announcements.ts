import { type Static, Type } from "@sinclair/typebox";
import { time } from "./event-dates.js";
import { SentAnnouncement } from "./live/announcements.js";
import { visible } from "./plain/texts.js";
import { OneOf, PageOf, Text, TextOrNull } from "./values.js";
import { WorldParams } from "./worlds.js";

const example = {
  id: "0f4a8c52-6f0e-4b57-8d15-1d1b8f6a2c11",
  text: "Lunch is served.",
  show_until: "2027-03-01T13:00:00.000Z",
  state: "active" as const,
  is_visible: true,
};

/** An announcement to everybody in a world. */
export const Announcement = Type.Object(SentAnnouncement.properties, {
  $id: "Announcement",
  description: "An announcement to all users of a world.",
  examples: [example],
});

const state = OneOf("draft", "active", "archived");
const show_until = TextOrNull({
  ...time,
  description: "Until when it is shown, such as 2027-03-01T13:00:00Z; null for no end.",
});

/** The fields of a new announcement. */
export const AnnouncementDraft = Type.Object(
  {
    text: Text(visible),
    show_until: Type.Optional(show_until),
    state: Type.Optional(state),
  },
  {
    $id: "AnnouncementDraft",
    description:
      "The fields of a new announcement, which is a draft by default. Unknown fields are refused.",
    additionalProperties: false,
    examples: [{ text: "Lunch is served.", state: "active" }],
  },
);
export type AnnouncementDraft = Static<typeof AnnouncementDraft>;

/** The changes to an announcement. */
export const AnnouncementChanges = Type.Partial(
  Type.Object({
    id: Text({ description: "Must equal the current value, if present.", readOnly: true }),
    text: Text(visible),
    show_until,
    state,
    is_visible: Type.Boolean({
      description: "Derived from other fields. May be sent back unchanged.",
      readOnly: true,
    }),
  }),
  {
    $id: "AnnouncementChanges",
    description:
      "The fields of an announcement to replace. A draft may become active, and an active announcement archived; any other change of state is refused. Unknown fields are refused.",
    additionalProperties: false,
    examples: [{ state: "archived" }],
  },
);
export type AnnouncementChanges = Static<typeof AnnouncementChanges>;

/** A page of a world's announcements. */
export const AnnouncementList = PageOf(Announcement, {
  $id: "AnnouncementList",
  description: "A page of the announcements of a world, oldest first.",
  example,
});

export const AnnouncementParams = Type.Object({
  ...WorldParams.properties,
  announcement_id: Type.String({ format: "uuid" }),
});
