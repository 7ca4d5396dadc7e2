import { allows, type PermissionConfig } from "./permissions.js";

// The phases of an event: `config.access` and the time determine who may enter. Shared by the
// server and the pages.

/**
 * Who may enter after the end, besides the team: nobody, people with a personal link, or everybody.
 */
export const AFTER_END = ["team", "invited", "everybody"] as const;
export type AfterEnd = (typeof AFTER_END)[number];

/** The phases in which an event is closed to some people. */
export const CLOSED_PHASES = ["unpublished", "early", "over"] as const;
export type ClosedPhase = (typeof CLOSED_PHASES)[number];
export type Phase = "open" | ClosedPhase;

/** The settings of a world. */
type Config = Readonly<Record<string, unknown>>;

/** The valid part of `config.access`. Times are in milliseconds since 1970. */
export interface AccessTimes {
  readonly published: boolean;
  readonly opensAt?: number | undefined;
  readonly closesAt?: number | undefined;
  readonly after: AfterEnd;
}

const UNPUBLISHED: AccessTimes = { published: false, after: "team" };
const ALWAYS: AccessTimes = { published: true, after: "team" };

/**
 * Parses `config.access`. An event without it is open. An unparseable value, which only an imported
 * document can contain, keeps the event closed.
 */
export function accessOf({ access }: Config): AccessTimes {
  if (access === undefined || access === null) return ALWAYS;
  if (typeof access !== "object" || Array.isArray(access)) return UNPUBLISHED;
  const {
    published = true,
    opens_at,
    closes_at,
    after = "team",
  } = access as Record<string, unknown>;
  const opensAt = timeOf(opens_at);
  const closesAt = timeOf(closes_at);
  const isSound = published === true && !Number.isNaN(opensAt) && !Number.isNaN(closesAt);
  if (!isSound) return UNPUBLISHED;
  return { published, opensAt, closesAt, after: AFTER_END.find((it) => it === after) ?? "team" };
}

/** Returns a time, undefined if there is none, or NaN if it cannot be parsed. */
const timeOf = (time: unknown): number | undefined =>
  time === undefined || time === null
    ? undefined
    : typeof time === "string"
      ? Date.parse(time)
      : Number.NaN;

/** @param now in milliseconds since 1970. */
export function phaseOf(config: Config, now: number): Phase {
  const { published, opensAt = -Infinity, closesAt = Infinity } = accessOf(config);
  if (!published) return "unpublished";
  if (now >= closesAt) return "over";
  return now < opensAt ? "early" : "open";
}

/** Returns the next time at which the phase changes by itself, or undefined if it never does. */
export function nextPhaseChange(config: Config, now: number): number | undefined {
  const { opensAt, closesAt } = accessOf(config);
  const ahead = [opensAt, closesAt].filter((time) => time !== undefined && time > now);
  return ahead.length > 0 ? Math.min(...(ahead as number[])) : undefined;
}

/** The part of a world that determines who may enter. */
export interface GuardedWorld {
  readonly config: Config;
  readonly permission_config: PermissionConfig;
}

/** A person who wants to enter. */
export interface AccessCandidate {
  readonly traits: ReadonlySet<string>;
  /** Whether the person has a personal link. Guests, anonymous links and screens have none. */
  readonly isInvited: boolean;
  /** Whether the person's account is linked to a speaker in the program. */
  readonly isSpeaker: boolean;
}

/** The trait of the role Speaker. */
const SPEAKER = "speaker";

/**
 * Returns the phase that keeps a person out, or undefined if no phase does. Permissions such as
 * `world.view` apply in addition.
 * @param now in milliseconds since 1970.
 */
export function closedFor(
  world: GuardedWorld,
  { traits, isInvited, isSpeaker }: AccessCandidate,
  now: number,
): ClosedPhase | undefined {
  const phase = phaseOf(world.config, now);
  if (phase === "open" || allows("world.preview", traits, world.permission_config)) {
    return undefined;
  }
  if (phase === "unpublished") return phase;
  if (isSpeaker || traits.has(SPEAKER)) return undefined;
  if (phase === "early") return phase;
  const { after } = accessOf(world.config);
  return after === "everybody" || (after === "invited" && isInvited) ? undefined : phase;
}
