import type { ProgramLinkStore, ProgramStore } from "../../../db/contract/program-store.js";
import { StoreError } from "../../../db/contract/store.js";
import type { Clock } from "../../../db/runtime.js";
import type { Commands, SentProgram } from "../../../schemas/live/index.js";
import { MAX_FAVORITES } from "../../../schemas/plain/program.js";
import { bind, type CommandTable, type Context, type LiveModule } from "../../module.js";
import { SharedJson } from "../../rules/encoding.js";
import { LiveError, worldDenied } from "../../rules/problems.js";
import type { View, WorldStates } from "../../rules/world-state.js";
import type { Connection } from "../../socket/connection.js";
import {
  encodedFor,
  ProgramPushes,
  type ProgramPushPorts,
  sessionsFor,
  StageTimer,
  type StageTimerPorts,
  versionFor,
} from "./program-pushes.js";

/** The port of the command for the address of the calendar. */
export interface LinkPorts {
  readonly store: { readonly programLinks: ProgramLinkStore };
}

/** Where calendar programs find the program as the caller may see it. */
export async function link(
  { ports, connection, me }: Context<LinkPorts>,
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

/** The ports of the commands about the program. */
export interface ProgramPorts extends LinkPorts {
  readonly clock: Clock;
  readonly states: WorldStates;
  readonly store: LinkPorts["store"] & { readonly program: ProgramStore };
}

/** The program of a world, and the favorites of its users. */
export const program: CommandTable<Extract<keyof Commands, `program.${string}`>, ProgramPorts> = {
  "program.get": { requires: "program.read", handler: get },
  "program.link": { requires: "program.read", handler: link },
  "program.favorite": { requires: "program.read", handler: favorite },
};

const unknownSession = () => new LiveError("program.unknown");

/** What the caller sees of the world now. */
async function viewOf({ ports, connection }: Context<ProgramPorts>): Promise<View> {
  const state = await ports.states.get(connection.world);
  if (!state) throw worldDenied();
  return connection.viewOf(state);
}

async function get(
  context: Context<ProgramPorts>,
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
  if (known === version) return { version, now, favorites };
  const before = JSON.stringify({ version, now }).slice(0, -1);
  return new SharedJson<SentProgram>(
    encodedFor(view, program),
    `${before},`,
    `,"favorites":${JSON.stringify(favorites)}}`,
  );
}

async function favorite(
  context: Context<ProgramPorts>,
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
    // It was deleted in between.
    if (error.problem === "absent" && error.field === "session") {
      throw unknownSession();
    }
    throw error;
  }
  return {};
}

/** The program of a world: sessions, speakers, favorites, and what is on. */
export function programModule(ports: ProgramPorts & ProgramPushPorts & StageTimerPorts) {
  const stages = new StageTimer(ports);
  const pushes = new ProgramPushes(ports, (world) => stages.look(world));
  return {
    bound: bind(program, ports),
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
