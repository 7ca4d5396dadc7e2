import type { Replica } from "../../../people/replica/replica.js";
import { EVERYWHERE } from "../../../people/replica/topic.js";

/**
 * The process that keeps a copy of state that one process alone would have of a world: the
 * next one by name.
 * @returns undefined if other processes follow the world, or if there are none.
 */
export function guardianIn(
  world: string,
  replica: Pick<Replica, "process" | "othersIn">,
): string | undefined {
  if (replica.othersIn(world).length > 0) return undefined;
  let first: string | undefined;
  let next: string | undefined;
  for (const name of replica.othersIn(EVERYWHERE)) {
    if (first === undefined || name < first) first = name;
    if (name < replica.process) continue;
    if (next === undefined || name < next) next = name;
  }
  return next ?? first;
}
