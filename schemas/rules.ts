import { Type, type Static } from "@sinclair/typebox";
import { Expected, trait } from "./plain/texts.js";
import { List, ref, Text, TextOrNull } from "./values.js";

export const Trait = Text(trait);

/** A rule. Every entry must hold. A list of traits holds if any trait in the list matches. */
export const Rule = List(
  Type.Union([Trait, List(Trait, 100)], {
    [Expected]:
      "a trait (1 to 200 characters without spaces, commas or |) or a list of at most 100 traits",
  }),
  100,
  {
    $id: "Rule",
    description:
      "Satisfied when every entry is. An entry is a trait, or a list of traits of which one is enough.",
    examples: [["admin", "api"], [["admin", "moderator"]], []],
  },
);
export type Rule = Static<typeof Rule>;

/** Rules by permission key. The set of keys is open. */
export const PermissionConfig = Type.Record(
  Type.String({ pattern: "^(?=.{1,100}$)[a-z0-9_]+(\\.[a-z0-9_]+)+$" }),
  ref(Rule),
  {
    $id: "PermissionConfig",
    description:
      "Rules by permission key. Other keys are allowed. A key without a rule in the room or the world denies access, except for the participation keys (world.view, room.view, file.upload, chat.read, chat.join, chat.send, chat.direct, question.read, question.ask, question.vote, poll.read, poll.vote and program.read), which are then open to everybody.",
    additionalProperties: false,
    maxProperties: 200,
    // Repeats the pattern above for readers of the OpenAPI document.
    propertyNames: { pattern: "^[a-z0-9_]+(\\.[a-z0-9_]+)+$", maxLength: 100 },
    examples: [{ "room.view": [["attendee", "speaker"]] }],
    [Expected]:
      "named by a permission key: words of a-z, 0-9 and _ joined by dots, at most 100 characters",
  },
);
export type PermissionConfig = Static<typeof PermissionConfig>;

/** A role: a named trait. Rules refer only to the trait. */
export const Role = Type.Object(
  {
    trait: TextOrNull({
      ...trait,
      description: "The trait that rules require; null for guests, who need no trait.",
    }),
    title: Text({ minLength: 1, maxLength: 100 }),
    description: Type.Optional(Text({ maxLength: 1000 })),
  },
  {
    $id: "Role",
    description: "A trait with a name, for the console.",
    additionalProperties: false,
    examples: [{ trait: "speaker", title: "Speaker" }],
  },
);
export type Role = Static<typeof Role>;
