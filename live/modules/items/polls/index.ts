import { bind, type LiveModule } from "../../../module.js";
import { type PollPorts, polls } from "./commands.js";
import { type PollPushPorts, PollPushes } from "./pushes.js";

/** Polls among the people in a room. */
export function pollModule(ports: Omit<PollPorts, "votes"> & PollPushPorts) {
  const pushes = new PollPushes(ports);
  return {
    bound: bind(polls, { ...ports, votes: pushes }),
    onEntry: pushes.handlers,
    forget: (world: string) => pushes.forget(world),
  } satisfies LiveModule;
}
