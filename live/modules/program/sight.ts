import { LRUCache } from "lru-cache";
import type { Program } from "../../../db/contract/program.js";
import {
  programVersion,
  type Reader,
  seenProgram,
  viewKey,
} from "../../../db/rules/program-views.js";
import { isTimezone } from "../../../schemas/plain/times.js";
import type { World } from "../../../schemas/worlds.js";
import { mayInWorld } from "../../rules/rights.js";
import { objectIn } from "../../rules/shapes.js";
import { oncePer } from "../../rules/once.js";
import type { View } from "../../rules/world-state.js";

/** How many views of a program have their JSON kept. Each may be large. */
const KEPT_VIEWS = 16;

/** What the users of a view may see of a program. */
const readerOf = oncePer((view: View): Reader => ({
  edits: mayInWorld(view.who, "program.update", view.state.world.value),
  seesRoom: (id) => view.sees(id),
}));

/** Whether the users of a view may read the program. */
export const reads = (view: View): boolean =>
  mayInWorld(view.who, "program.read", view.state.world.value);

/** What comes with every program: when and where the event is. */
const eventOf = oncePer(({ config }: World) => ({
  event: objectIn(config, "event") ?? null,
  timezone: zoneOf(config),
}));

function zoneOf({ timezone }: World["config"]): string {
  const isKnown = typeof timezone === "string" && isTimezone(timezone);
  return isKnown ? timezone : "UTC";
}

/** The version of what the users of a view see, by program. */
const versionsOf = oncePer((_: View) => new WeakMap<Program, string>());

/** The version of what the users of a view see of a program. */
export function versionFor(view: View, program: Program): string {
  const known = versionsOf(view);
  let version = known.get(program);
  if (version === undefined) {
    const event = eventOf(view.state.world.value);
    version = programVersion(program, readerOf(view), event);
    known.set(program, version);
  }
  return version;
}

/** The sessions that the users of a view see, by program. */
const sessionsOf = oncePer((_: View) => new WeakMap<Program, ReadonlySet<string>>());

/** The ids of the sessions that the users of a view see. */
export function sessionsFor(view: View, program: Program): ReadonlySet<string> {
  const known = sessionsOf(view);
  let ids = known.get(program);
  if (!ids) {
    const { sessions } = seenProgram(program, readerOf(view));
    ids = new Set(sessions.map(({ value }) => value.id));
    known.set(program, ids);
  }
  return ids;
}

/** The encoded programs, by program and by what is seen of it. */
const encodedOf = oncePer((_: Program) => new LRUCache<string, Buffer>({ max: KEPT_VIEWS }));

/**
 * The program as the users of a view see it: fields of a JSON object in UTF-8, without braces.
 * All users who see the same share the buffer: do not change it.
 */
export function encodedFor(view: View, program: Program): Buffer {
  const reader = readerOf(view);
  const event = eventOf(view.state.world.value);
  const key = `${JSON.stringify(event)} ${viewKey(program, reader)}`;
  const encoded = encodedOf(program);
  let bytes = encoded.get(key);
  if (!bytes) {
    const { sessions, speakers } = seenProgram(program, reader);
    const listOf = (list: readonly { json: string }[]) =>
      `[${list.map(({ json }) => json).join()}]`;
    bytes = Buffer.from(
      `${JSON.stringify(event).slice(1, -1)},"sessions":${listOf(sessions)},"speakers":${listOf(speakers)}`,
    );
    encoded.set(key, bytes);
  }
  return bytes;
}
