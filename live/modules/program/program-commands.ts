import { StoreError } from "../../../db/contract/store.js";
import type { Commands, SentProgram } from "../../../schemas/live/index.js";
import { MAX_FAVORITES, overrunOf } from "../../../schemas/plain/program.js";
import {
  bind,
  type CommandTable,
  type CommandContext,
  type LiveModule,
  type RoomContext,
} from "../../module.js";
import { SharedJson } from "../../rules/encoding.js";
import { LiveError, roomDenied } from "../../rules/problems.js";
import { mayInRoom } from "../../rules/rights.js";
import type { View } from "../../rules/world-state.js";
import type { Connection } from "../../socket/connection.js";
import { type LinkPorts, type ProgramPorts, unknownSession, viewOf } from "./program-context.js";
import {
  encodedFor,
  ProgramPushes,
  sentMoved,
  type ProgramPushPorts,
  sessionsFor,
  SessionTimer,
  type StageTimerPorts,
  versionFor,
} from "./program-pushes.js";
import { type RatingPorts, ratings } from "./rating-commands.js";

/** Returns the URL from which calendar programs read the program as the caller may see it. */
export async function link(
  { ports, connection, me }: CommandContext<LinkPorts>,
  { renew = false }: Commands["program.link"]["payload"],
): Promise<Commands["program.link"]["result"]> {
  const token = await ports.store.programLinks.link(
    connection.world,
    me.id,
    renew,
    connection.author,
  );
  const path = `/w/${encodeURIComponent(connection.world)}/program.ics`;
  return { url: `${connection.base}${path}?token=${token}` };
}

/** Commands for a world's program, for its users' favorites, and for hosts who run it. */
export const program: CommandTable<
  Extract<keyof Commands, `program.${string}`> | "session.run",
  ProgramPorts
> = {
  "session.run": { inRoom: "any", handler: run },
  "program.get": { requires: "program.read", handler: get },
  "program.link": { requires: "program.read", handler: link },
  "program.favorite": { requires: "program.read", handler: favorite },
};

async function get(
  context: CommandContext<ProgramPorts>,
  { version: known }: Commands["program.get"]["payload"],
) {
  const { ports, connection, me } = context;
  const { store, clock } = ports;
  const view = await viewOf(context);
  const program = await store.program.get(connection.world);
  const marked = await store.program.favorites(connection.world, me.id);
  const seen = sessionsFor(view, program);
  const favorites = marked.filter((id) => seen.has(id));
  const version = versionFor(view, program);
  const now = new Date(clock.date()).toISOString();
  const moved = sentMoved(await store.program.moved(connection.world, me.id), view, seen);
  const more = moved.length > 0 ? { moved } : {};
  if (known === version) return { version, now, favorites, ...more };
  const before = JSON.stringify({ version, now, ...more }).slice(0, -1);
  return new SharedJson<SentProgram>(
    encodedFor(view, program),
    `${before},`,
    `,"favorites":${JSON.stringify(favorites)}}`,
  );
}

async function favorite(
  context: CommandContext<ProgramPorts>,
  { session, on }: Commands["program.favorite"]["payload"],
) {
  const { ports, connection, me } = context;
  const { program } = ports.store;
  const view = await viewOf(context);
  const seen = sessionsFor(view, await program.get(connection.world));
  if (typeof session !== "string" || !seen.has(session)) throw unknownSession();
  try {
    await program.favor(connection.world, me.id, session, on, connection.author);
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    if (error.problem === "quota") {
      throw new LiveError("program.too_many", `You may have at most ${MAX_FAVORITES} favorites.`);
    }
    // The session has been deleted since the check.
    if (error.problem === "absent" && error.field === "session") {
      throw unknownSession();
    }
    throw error;
  }
  return {};
}

/** Whether a user may run a room's program. Users who edit the program or moderate the room may. */
const runs = ({ login, world, room, may }: RoomContext<ProgramPorts>): boolean =>
  may("program.update") || mayInRoom(login, "chat.moderate", world.value, room.value);

async function run(
  context: RoomContext<ProgramPorts>,
  { session, action, minutes }: Commands["session.run"]["payload"],
) {
  const { ports, connection, world, room } = context;
  if (!runs(context)) throw roomDenied();
  if (typeof session !== "string") throw unknownSession();
  const { config } = world.value;
  try {
    const moved = await ports.store.program.runSession(
      connection.world,
      room.value.id,
      { session, action, minutes },
      { now: ports.clock.date(), overrun: overrunOf(config.overrun_minutes) },
      connection.author,
    );
    if (!moved) throw new LiveError("program.not_on");
    return { moved };
  } catch (error) {
    const isUnknown = error instanceof StoreError && error.problem === "absent";
    throw isUnknown ? unknownSession() : error;
  }
}

/** Creates the module for a world's program: sessions, speakers, favorites, and current sessions. */
export function programModule(ports: RatingPorts & ProgramPushPorts & StageTimerPorts) {
  const stages = new SessionTimer(ports);
  const pushes = new ProgramPushes(ports, (world) => stages.look(world));
  return {
    bound: bind({ ...program, ...ratings }, ports),
    onEntry: pushes.handlers,
    enter: (world: string) => stages.watch(world),
    async entrance(connection: Connection) {
      return (view: View) => {
        stages.shown(connection.world, view.state.stages);
        const known = stages.programOf(connection.world);
        if (known) pushes.note(connection, view, known);
        return {};
      };
    },
    forget: (world: string) => stages.unwatch(world),
    stop() {
      stages.close();
    },
  } satisfies LiveModule;
}
