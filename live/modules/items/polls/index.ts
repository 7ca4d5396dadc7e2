import type { Poll } from "../../../../db/contract/polls.js";
import { bind, type LiveModule } from "../../../module.js";
import { ItemLists } from "../lists.js";
import { type PollPorts, polls } from "./commands.js";
import { type PollPushPorts, PollPushes } from "./pushes.js";

/** The ports of polls to the other floors. */
type Ports = Omit<PollPorts, "votes" | "lists"> &
  PollPushPorts & {
    /** Whether this process has got all entries of a world up to a second ago. */
    readonly isCurrent: (world: string) => boolean;
  };

/** Polls among the people in a room. */
export function pollModule(ports: Ports) {
  const pushes = new PollPushes(ports);
  const lists = new ItemLists<Poll>("poll", ports.isCurrent);
  return {
    bound: bind(polls, { ...ports, lists, votes: pushes }),
    lists,
    onEntry: pushes.handlers,
    forget(world: string) {
      pushes.forget(world);
      lists.forget(world);
    },
  } satisfies LiveModule & { lists: ItemLists<Poll> };
}
