import {
  type ClosedPhase,
  closedFor,
  type GuardedWorld,
  phaseOf,
} from "../../schemas/plain/access.js";
import type { Program, ProgramStore } from "../contract/program-store.js";

// Decides who may enter an event in its current phase.

/** A person who wants to enter, or who has already entered. */
export interface Entrant {
  readonly traits: ReadonlySet<string>;
  /** Whether the person has a personal link. Guests, anonymous links and screens have none. */
  readonly isInvited: boolean;
  /** The user's id, if the person already is a user. */
  readonly user: string | undefined;
}

const accounts = new WeakMap<Program, ReadonlySet<string>>();

/** Returns the ids of the users who are speakers of a program. */
export function speakerAccounts(program: Program): ReadonlySet<string> {
  let known = accounts.get(program);
  if (!known) {
    known = new Set(program.speakers.flatMap(({ value }) => value.user_id ?? []));
    accounts.set(program, known);
  }
  return known;
}

/**
 * Returns the phase that keeps a person out, or undefined.
 * @param speakers the users who are speakers.
 * @param now in milliseconds since 1970.
 */
export const closedTo = (
  world: GuardedWorld,
  { traits, isInvited, user }: Entrant,
  speakers: ReadonlySet<string>,
  now: number,
): ClosedPhase | undefined =>
  closedFor(world, { traits, isInvited, isSpeaker: user !== undefined && speakers.has(user) }, now);

const NOBODY: ReadonlySet<string> = new Set();

/**
 * Reads the users who are speakers, if the world's phase makes that relevant.
 * @param world undefined if there is no such world.
 */
export const speakersAtDoor = async (
  programs: Pick<ProgramStore, "get">,
  world: (GuardedWorld & { readonly id: string }) | undefined,
  now: number,
): Promise<ReadonlySet<string>> =>
  world && ["early", "over"].includes(phaseOf(world.config, now))
    ? speakerAccounts(await programs.get(world.id))
    : NOBODY;
