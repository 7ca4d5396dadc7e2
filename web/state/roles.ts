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

// Roles are traits with names. A matrix shows which of them a rule lets in.

/** A role of an event. Without a title, it has the one of the language in use. */
export interface Role {
  /** Null for guests, who have no trait. */
  readonly trait: string | null;
  readonly title?: string;
  readonly description?: string;
}

/** The roles of an event that names none of its own. */
export const defaultRoles: readonly Role[] = [
  { trait: null },
  { trait: "attendee" },
  { trait: "speaker" },
  { trait: "moderator" },
  { trait: "admin" },
];

/** The roles in `config.roles`, guests first. Any value is stored there, so any is read. */
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

/** Whom a rule lets in, as far as ticks show it. */
export type Ticks = "everyone" | readonly string[];

/**
 * The ticks of a rule: of `[]`, of one trait, or of one list of which a trait is enough.
 * @returns undefined for a rule of which several entries must hold.
 */
export function ticksOf(rule: Rule): Ticks | undefined {
  if (rule.length === 0) return "everyone";
  if (rule.length > 1) return undefined;
  return [rule[0]!].flat();
}

/** The rule with these ticks. */
export function ruleWith(ticks: Ticks): Rule {
  if (ticks === "everyone") return [];
  // One trait needs no list. No user passes an empty list.
  return ticks.length === 1 ? [ticks[0]!] : [[...ticks]];
}

/** Whether ticks let a role in. What lets guests in lets everybody in. */
export const isTicked = (ticks: Ticks, { trait }: Role): boolean =>
  ticks === "everyone" || (trait !== null && ticks.includes(trait));

/**
 * The ticks after one was set or removed. Without guests, the other roles stay; traits
 * that are no role stay, too.
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

/** The traits of ticks that are no role. */
export const otherTraits = (ticks: Ticks, roles: readonly Role[]): readonly string[] =>
  ticks === "everyone" ? [] : ticks.filter((it) => !roles.some(({ trait }) => trait === it));

/**
 * The rule that counts for a key: the room's, the world's, the one of another key, or the
 * default.
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
 * The roles of a person, by the traits of their token. `api` makes no role: it comes with one that
 * uses the HTTP API.
 * @returns also the traits that no role has.
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

/** What a moderator does. */
const moderation: readonly PermissionKey[] = [
  "chat.moderate",
  "question.moderate",
  "poll.manage",
  "room.viewers",
  "user.manage",
  "world.announce",
];

const moderator: Role = { trait: "moderator" };

/** Whether there is a role Moderator that the rules permit nothing of what moderators do. */
export const isModeratorIdle = (roles: readonly Role[], world: PermissionConfig): boolean =>
  roles.some(({ trait }) => trait === moderator.trait) &&
  !moderation.some((key) => {
    const ticks = ticksOf(ruleFor(key, world));
    return ticks !== undefined && isTicked(ticks, moderator);
  });

/** The rules with those rights for the role Moderator. Rules that ticks cannot show stay. */
export const withModerator = (world: PermissionConfig, roles: readonly Role[]): PermissionConfig =>
  moderation.reduce((rules, key) => {
    const ticks = ticksOf(ruleFor(key, rules));
    return !ticks || isTicked(ticks, moderator)
      ? rules
      : { ...rules, [key]: ruleWith(toggled(ticks, moderator, true, roles)) };
  }, world);

/**
 * The traits of a person with a role. A person who opens the console also gets `api`, if
 * the rules close the HTTP API to the role alone, and open it to the role with `api`.
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

/**
 * The roles of an event, as they are now. A user who may not see the settings of the world
 * gets the default ones.
 */
export const knownRoles = (session: Session): Readable<readonly Role[]> =>
  readable(defaultRoles, (set) => {
    const load = async () => {
      let state: Parameters<typeof may>[0];
      session.state.subscribe((it) => (state = it))();
      if (!may(state, "world:api") || !may(state, "world:secrets")) return;
      // The names are for reading only: without an answer, the defaults do.
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

/** The name of a role, in the organizer's words, or else in the language in use. */
export function roleName({ trait, title }: Role): string {
  if (title !== undefined) return title;
  if (trait === null) return t("roles.guest");
  const key = Object.hasOwn(known, trait) ? known[trait] : undefined;
  return key ? t(key) : trait;
}

/** What a role is for. */
export function roleText({ trait, title, description }: Role): string {
  if (description !== undefined) return description;
  if (title !== undefined) return "";
  if (trait === null) return t("roles.guestText");
  const key = Object.hasOwn(about, trait) ? about[trait] : undefined;
  return key ? t(key) : "";
}
