import { Type, type Static } from "@sinclair/typebox";
import { PageOf } from "./pages.js";
import { templates } from "./plain/templates.js";
import { Domain, OneOf, ref, Title, WorldId } from "./values.js";
import { World, WorldKey } from "./worlds.js";

/** A world in the list of the server. */
export const ListedWorld = Type.Object(
  { id: WorldId, title: Title, domain: Domain },
  { $id: "ListedWorld", description: "A world in the list of the server." },
);

/** A page of the worlds of the server. */
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
      "What a new world is made of. By default its domain is the id in front of the host of the server, and it has no rooms; a template gives it some. Unknown fields are refused.",
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
      console: Type.String({
        format: "uri",
        description: "Signs its reader in as a host.",
      }),
      event: Type.String({
        format: "uri",
        description: "The event, as everybody opens it.",
      }),
    }),
  },
  {
    $id: "NewWorld",
    description:
      "A new world with its first key, and links to its console and to the event.",
  },
);
