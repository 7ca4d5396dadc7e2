import { type Static, Type } from "@sinclair/typebox";
import { time } from "./event-dates.js";
import { templates } from "./plain/templates.js";
import { Domain, OneOf, PageOf, ref, Text, Title, WorldId } from "./values.js";
import { World, WorldKey } from "./worlds.js";

const Time = Text(time);

/** An organizer's input for a server's first event. */
export const SetupDraft = Type.Object(
  {
    title: Title,
    name: Text({
      minLength: 1,
      maxLength: 300,
      description: "The name of the organizer, under which they enter.",
    }),
    template: OneOf(...templates),
    locale: Type.Optional(Text({ maxLength: 35, pattern: "^[a-z]{2,8}(-[A-Za-z0-9]{1,8})*$" })),
    timezone: Type.Optional(Text({ maxLength: 60, pattern: "^[A-Za-z0-9_+/-]+$" })),
    color: Type.Optional(Text({ pattern: "^#[0-9a-f]{6}$" })),
    starts_at: Type.Optional(Time),
    ends_at: Type.Optional(Time),
  },
  {
    $id: "SetupDraft",
    description: "The first event of a server. `starts_at` and `ends_at` must be given together.",
    additionalProperties: false,
    examples: [{ title: "Summit", name: "Ada", template: "conference" }],
  },
);
export type SetupDraft = Static<typeof SetupDraft>;

const link = (description: string) => Type.String({ format: "uri", description });

/** The first event after its setup. */
export const SetUp = Type.Object(
  {
    id: WorldId,
    token: Type.String({ description: "The organizer's token, valid for 30 days." }),
    links: Type.Object({
      console: link("Signs the organizer in."),
      event: link("The event's public URL."),
    }),
  },
  { $id: "SetUp", description: "The event that was set up." },
);

/** A world in the server's list. */
export const ListedWorld = Type.Object(
  { id: WorldId, title: Title, domain: Domain },
  { $id: "ListedWorld", description: "A world in the list of the server." },
);

/** A page of the server's worlds. */
export const WorldList = PageOf(ListedWorld, {
  $id: "WorldList",
  description: "A page of the worlds of the server, by id.",
  example: { id: "summit", title: "Summit 2027", domain: "summit.example.org" },
});

/** The fields of a new world. */
export const WorldDraft = Type.Object(
  {
    id: WorldId,
    title: Title,
    domain: Type.Optional(Domain),
    template: Type.Optional(OneOf(...templates)),
  },
  {
    $id: "WorldDraft",
    description:
      "The fields of a new world. By default, its domain is the id prepended to the server's host, and it has no rooms unless a template is given. Unknown fields are refused.",
    additionalProperties: false,
    examples: [{ id: "summit", title: "Summit 2027", template: "conference" }],
  },
);
export type WorldDraft = Static<typeof WorldDraft>;

/** A world that was just created. */
export const NewWorld = Type.Object(
  {
    ...World.properties,
    key: ref(WorldKey),
    links: Type.Object({
      console: Type.String({ format: "uri", description: "Signs in whoever opens it as a host." }),
      event: Type.String({ format: "uri", description: "The event's public URL." }),
    }),
  },
  {
    $id: "NewWorld",
    description: "A new world with its first key, and links to its console and to the event.",
  },
);
