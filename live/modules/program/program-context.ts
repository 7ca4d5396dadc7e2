import type { ProgramLinkStore, ProgramStore } from "../../../db/contract/program-store.js";
import type { Clock } from "../../../db/runtime.js";
import type { CommandContext } from "../../module.js";
import { LiveError, worldDenied } from "../../rules/problems.js";
import type { View, WorldStates } from "../../rules/world-state.js";

// Shared by the commands for the program and for ratings.

/** The port of the calendar link command. */
export interface LinkPorts {
  readonly store: { readonly programLinks: ProgramLinkStore };
}

/** Ports of the program commands. */
export interface ProgramPorts extends LinkPorts {
  readonly clock: Clock;
  readonly states: WorldStates;
  readonly store: LinkPorts["store"] & { readonly program: ProgramStore };
}

/** The error for a session that does not exist or that the caller may not see. */
export const unknownSession = () => new LiveError("program.unknown");

/** Returns the caller's current view of the world. */
export async function viewOf({ ports, connection }: CommandContext<ProgramPorts>): Promise<View> {
  const state = await ports.states.get(connection.world);
  if (!state) throw worldDenied();
  return connection.viewOf(state);
}
