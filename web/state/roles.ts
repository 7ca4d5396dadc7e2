import { readable, type Readable } from "svelte/store";
import { type Key, t } from "../i18n/index.js";
import { may } from "../lib/rights.js";
import {
  fallbackOf,
  type PermissionConfig,
  type PermissionKey,
  permissionKeys,
  type Rule,
} from "./rules.js";
import type { Session } from "./session.js";

// Roles are named traits. A matrix shows which roles a rule admits.

/** An event's role. A role without a title has the default title in the current language. */
export interface Role {
  /** Null for guests, who have no trait. */
  readonly trait: string | null;
  readonly title?: string;
  readonly description?: string;
}

/** The roles of an event that does not define any roles. */
export const defaultRoles: readonly Role[] = [
  { trait: null },
  { trait: "attendee" },
  { trait: "speaker" },
  { trait: "moderator" },
  { trait: "admin" },
];

/** Parses the roles in `config.roles`, guests first. The stored value may be anything. */
export function rolesOf(value: unknown): readonly Role[] {
  if (!Array.isArray(value)) return defaultRoles;
  const roles: Role[] = [];
  for (const item of value as unknown[]) {
    const { trait, title, description } = (item ?? {}) as Partial<Role>;
    if (trait !== null && (typeof trait !== "string" || trait === "")) continue;
    if (roles.some((role) => role.trait === trait)) continue;
    roles.push({
      trait,
      ...(typeof title === "string" && title !== "" && { title }),
      ...(typeof description === "string" && { description }),
    });
  }
  const guests = roles.find((role) => role.trait === null);
  return [guests ?? { trait: null }, ...roles.filter((role) => role.trait !== null)];
}

/** A rule as checkbox state: the traits that the rule admits. */
export type Ticks = "everyone" | readonly string[];

/**
 * Converts a rule to ticks. Ticks can represent `[]`, a single trait, or one list of alternative
 * traits.
 * @returns undefined for a rule with several entries, all of which must hold.
 */
export function ticksOf(rule: Rule): Ticks | undefined {
  if (rule.length === 0) return "everyone";
  if (rule.length > 1) return undefined;
  return [rule[0]!].flat();
}

/** Converts ticks to a rule. */
export function ruleWith(ticks: Ticks): Rule {
  if (ticks === "everyone") return [];
  // A single trait needs no list. An empty list admits no one.
  return ticks.length === 1 ? [ticks[0]!] : [[...ticks]];
}

/** Whether ticks admit a role. Ticks that admit guests admit everyone. */
export const isTicked = (ticks: Ticks, { trait }: Role): boolean =>
  ticks === "everyone" || (trait !== null && ticks.includes(trait));

/**
 * Returns the ticks after a role is ticked or cleared. Clearing guests keeps the other roles.
 * Traits without a role are kept, too.
 */
export function toggled(
  ticks: Ticks,
  { trait }: Role,
  isOn: boolean,
  roles: readonly Role[],
): Ticks {
  if (trait === null && isOn) return "everyone";
  const traits = ticks === "everyone" ? roles.flatMap((role) => role.trait ?? []) : [...ticks];
  const others = traits.filter((it) => it !== trait);
  return isOn && trait !== null ? [...others, trait] : others;
}

/** Returns the ticked traits that are not roles. */
export const otherTraits = (ticks: Ticks, roles: readonly Role[]): readonly string[] =>
  ticks === "everyone" ? [] : ticks.filter((it) => !roles.some(({ trait }) => trait === it));

/**
 * Returns the effective rule for a key: the room's rule, the world's rule, a fallback key's rule,
 * or the default rule.
 */
export function ruleFor(key: string, world: PermissionConfig, room?: PermissionConfig): Rule {
  const rule = room?.[key] ?? world[key];
  if (rule) return rule;
  if (!(permissionKeys as readonly string[]).includes(key)) return [[]];
  const fallback = fallbackOf(key as PermissionKey);
  if (fallback === "everybody") return [];
  if (fallback === "nobody") return [[]];
  return ruleFor(fallback, world, room);
}

/**
 * Maps the traits of a person's token to roles. The trait `api` is ignored if the person also has a
 * role, because `api` only adds access to the HTTP API.
 * @returns the roles, and the traits that belong to no role.
 */
export function rolesWith(
  traits: readonly string[],
  roles: readonly Role[],
): { roles: readonly Role[]; others: readonly string[] } {
  const held = roles.filter(({ trait }) => trait !== null && traits.includes(trait));
  const others = otherTraits(traits, roles).filter((trait) => trait !== "api" || held.length === 0);
  if (held.length > 0 || others.length > 0) return { roles: held, others };
  return { roles: roles.filter(({ trait }) => trait === null), others };
}

/** Keys that moderators need. */
const moderation: readonly PermissionKey[] = [
  "chat.moderate",
  "question.moderate",
  "poll.manage",
  "room.viewers",
  "user.manage",
  "world.announce",
];

const moderator: Role = { trait: "moderator" };

/** Whether there is a Moderator role to which the rules grant none of the moderator keys. */
export const isModeratorIdle = (roles: readonly Role[], world: PermissionConfig): boolean =>
  roles.some(({ trait }) => trait === moderator.trait) &&
  !moderation.some((key) => {
    const ticks = ticksOf(ruleFor(key, world));
    return ticks !== undefined && isTicked(ticks, moderator);
  });

/** Grants the moderator keys to the Moderator role. Rules that ticks cannot represent are unchanged. */
export const withModerator = (world: PermissionConfig, roles: readonly Role[]): PermissionConfig =>
  moderation.reduce((rules, key) => {
    const ticks = ticksOf(ruleFor(key, rules));
    return !ticks || isTicked(ticks, moderator)
      ? rules
      : { ...rules, [key]: ruleWith(toggled(ticks, moderator, true, roles)) };
  }, world);

/**
 * Returns the traits of a person with a role. If the person opens the console and the rules require
 * `api` for the HTTP API, this trait is included.
 */
export function traitsOfRole(
  { trait }: Role,
  opensConsole = false,
  mayUse: (traits: readonly string[]) => boolean = () => true,
): string[] {
  const traits = trait === null ? [] : [trait];
  if (!opensConsole || mayUse(traits)) return traits;
  const more = [...traits, "api"];
  return mayUse(more) ? more : traits;
}

/** An event's current roles. Users who may not see the world's settings get the default roles. */
export const knownRoles = (session: Session): Readable<readonly Role[]> =>
  readable(defaultRoles, (set) => {
    const load = async () => {
      let state: Parameters<typeof may>[0];
      session.state.subscribe((it) => (state = it))();
      if (!may(state, "world:api") || !may(state, "world:secrets")) return;
      // The names are only for display, so the defaults are good enough on failure.
      const world = await session.api.getWorld().catch(() => undefined);
      if (world) set(rolesOf(world.config["roles"]));
    };
    void load();
    return session.live.on("world.changed", () => void load());
  });

const known: Readonly<Record<string, Key>> = {
  attendee: "roles.attendee",
  speaker: "roles.speaker",
  moderator: "roles.moderator",
  admin: "roles.host",
};

const about: Readonly<Record<string, Key>> = {
  attendee: "roles.attendeeText",
  speaker: "roles.speakerText",
  moderator: "roles.moderatorText",
  admin: "roles.hostText",
};

/** Returns a role's name: the organizer's name for the role, or the default name in the current language. */
export function roleName({ trait, title }: Role): string {
  if (title !== undefined) return title;
  if (trait === null) return t("roles.guest");
  const key = Object.hasOwn(known, trait) ? known[trait] : undefined;
  return key ? t(key) : trait;
}

/** Returns a role's description. */
export function roleText({ trait, title, description }: Role): string {
  if (description !== undefined) return description;
  if (title !== undefined) return "";
  if (trait === null) return t("roles.guestText");
  const key = Object.hasOwn(about, trait) ? about[trait] : undefined;
  return key ? t(key) : "";
}
