import { Type, type Static } from "@sinclair/typebox";
import { time } from "./event-dates.js";
import { templates } from "./plain/templates.js";
import { OneOf, Text, Title, WorldId } from "./values.js";

const Time = Text(time);

/** What an organizer says of the first event of a server. */
export const SetupDraft = Type.Object(
  {
    title: Title,
    name: Text({
      minLength: 1,
      maxLength: 300,
      description: "The name of the organizer, under which they enter.",
    }),
    template: OneOf(...templates),
    locale: Type.Optional(
      Text({ maxLength: 35, pattern: "^[a-z]{2,8}(-[A-Za-z0-9]{1,8})*$" }),
    ),
    timezone: Type.Optional(
      Text({ maxLength: 60, pattern: "^[A-Za-z0-9_+/-]+$" }),
    ),
    color: Type.Optional(Text({ pattern: "^#[0-9a-f]{6}$" })),
    starts_at: Type.Optional(Time),
    ends_at: Type.Optional(Time),
  },
  {
    $id: "SetupDraft",
    description:
      "The first event of a server. `starts_at` and `ends_at` come together.",
    additionalProperties: false,
    examples: [{ title: "Summit", name: "Ada", template: "conference" }],
  },
);
export type SetupDraft = Static<typeof SetupDraft>;

const link = (description: string) =>
  Type.String({ format: "uri", description });

/** The first event, once it is set up. */
export const SetUp = Type.Object(
  {
    id: WorldId,
    token: Type.String({ description: "Of the organizer, for 30 days." }),
    links: Type.Object({
      console: link("Signs the organizer in."),
      event: link("The event, as everybody opens it."),
    }),
  },
  { $id: "SetUp", description: "The event that was set up." },
);
