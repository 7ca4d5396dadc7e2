// How an event treats guests: people who come without a personal link.

/** Maximum of `config.guest_quiet_minutes`. */
export const MAX_QUIET_MINUTES = 60;

type Config = Readonly<Record<string, unknown>>;

/** Whether new guests wait until a moderator admits them. */
export const asksForApproval = ({ guest_approval }: Config): boolean => guest_approval === true;

/** Returns for how many minutes new guests may only read. A stored value of another type counts as 0. */
export function quietMinutesIn({ guest_quiet_minutes: minutes }: Config): number {
  if (typeof minutes !== "number" || !(minutes > 0)) return 0;
  return Math.min(minutes, MAX_QUIET_MINUTES);
}

/**
 * Returns until when a guest who enters now may only read; undefined if the guest may write at
 * once. Times are in milliseconds since 1970.
 */
export function quietUntil(config: Config, now: number): number | undefined {
  const minutes = quietMinutesIn(config);
  return minutes === 0 ? undefined : now + Math.round(minutes * 60_000);
}

/** Returns how an event treats a guest whom it does not know yet. */
export const guestEntry = (config: Config, now: number) => ({
  waits: asksForApproval(config),
  quietUntil: quietUntil(config, now),
});

/** The traits of the team, whose members have a badge unless the event defines badges of its own. */
const TEAM = {
  admin: { en: "Host", de: "Veranstalter" },
  moderator: { en: "Moderator", de: "Moderation" },
  speaker: { en: "Speaker", de: "Mitwirkende" },
} as const;

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/**
 * Returns an event's badges by trait: those of the event, even if there are none, or else those of
 * its team, named like the event's roles.
 */
export function badgesByTrait(config: Config): Readonly<Record<string, unknown>> {
  if (isObject(config.trait_badges_map)) return config.trait_badges_map;
  const language = config.locale === "de" ? "de" : "en";
  const roles = Array.isArray(config.roles) ? (config.roles as unknown[]).filter(isObject) : [];
  return Object.fromEntries(
    Object.entries(TEAM).map(([trait, names]) => {
      const title = roles.find((role) => role.trait === trait)?.title;
      return [trait, typeof title === "string" && title !== "" ? title : names[language]];
    }),
  );
}

/** Returns the traits of the team, whose names nobody else may take: these, and those with a badge. */
export const teamTraits = (config: Config): string[] => [
  ...new Set([...Object.keys(TEAM), ...Object.keys(badgesByTrait(config))]),
];

/** Whether traits belong to the team itself, whose members may take any name. */
export const isOfTeam = (traits: ReadonlySet<string>): boolean =>
  Object.keys(TEAM).some((trait) => traits.has(trait));
