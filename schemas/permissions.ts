import { Type, type Static } from "@sinclair/typebox";
import { Expected, List, ref, Text } from "./values.js";

/** What a token says of its bearer, and what a rule asks for. */
export const Trait = Text({
  minLength: 1,
  maxLength: 200,
  pattern: "^[^\\u0000-\\u0020,|]+$",
  examples: ["admin"],
  [Expected]: "a trait: 1 to 200 characters without spaces, commas or |",
});

/** Every entry must hold; an entry that is a list holds with any one of its traits. */
export const Rule = List(
  Type.Union([Trait, List(Trait, 100)], {
    [Expected]:
      "a trait (1 to 200 characters without spaces, commas or |) or a list of at most 100 traits",
  }),
  100,
  {
    $id: "Rule",
    description:
      "Holds when every entry holds. An entry is a trait, or a list of traits of which one is enough.",
    examples: [["admin", "api"], [["admin", "moderator"]], []],
  },
);
export type Rule = Static<typeof Rule>;

/** Rules by permission key; keys are open-ended. */
export const PermissionConfig = Type.Record(
  Type.String({
    pattern: "^(?=.{1,100}$)[a-z0-9_]+(\\.[a-z0-9_]+)+$",
  }),
  ref(Rule),
  {
    $id: "PermissionConfig",
    description:
      "Rules by permission key. Keys are open-ended; a key that neither room nor world has denies, but for world.view, room.view and file.upload, which then let in everybody.",
    additionalProperties: false,
    maxProperties: 200,
    // The same as the pattern above, for those who read it elsewhere.
    propertyNames: { pattern: "^[a-z0-9_]+(\\.[a-z0-9_]+)+$", maxLength: 100 },
    examples: [{ "room.view": [["attendee", "speaker"]] }],
    [Expected]:
      "named by a permission key: words of a-z, 0-9 and _ joined by dots, at most 100 characters",
  },
);
export type PermissionConfig = Static<typeof PermissionConfig>;

/** The keys the server itself asks for. Worlds and rooms may carry others. */
export type PermissionKey =
  | "world.view"
  | "world.secrets"
  | "world.update"
  | "world.api"
  | "room.view"
  | "room.create"
  | "room.update"
  | "room.delete"
  | "file.upload";

/** Taking part needs no configuration; everything else fails closed. */
const openByDefault: ReadonlySet<PermissionKey> = new Set([
  "world.view",
  "room.view",
  "file.upload",
]);

/** What a new world starts with: the defaults of Venueless. */
export const defaultPermissionConfig: PermissionConfig = {
  "world.update": ["admin"],
  "world.secrets": ["admin", "api"],
  "world.announce": ["admin"],
  "world.api": ["admin", "api"],
  "room.create": ["admin"],
  "room.announce": ["admin"],
  "room.update": ["admin"],
  "room.delete": ["admin"],
  "chat.moderate": ["admin"],
};

/** Whether somebody with these traits satisfies a rule. */
export function holds(rule: Rule, traits: ReadonlySet<string>): boolean {
  return rule.every((entry) =>
    typeof entry === "string"
      ? traits.has(entry)
      : entry.some((trait) => traits.has(trait)),
  );
}

/**
 * Whether somebody with these traits may do what a key stands for.
 * @param world the rules of the world.
 * @param room the rules of the room in it, which come first.
 */
export function allows(
  key: PermissionKey,
  traits: ReadonlySet<string>,
  world: PermissionConfig,
  room?: PermissionConfig,
): boolean {
  const rule = room?.[key] ?? world[key];
  return rule ? holds(rule, traits) : openByDefault.has(key);
}
