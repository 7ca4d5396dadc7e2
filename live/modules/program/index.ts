import type { Connection } from "../../socket/connection.js";
import { bind, type LiveModule } from "../../module.js";
import type { View } from "../../rules/world-state.js";
import { program, type ProgramPorts } from "./commands.js";
import { ProgramPushes, type ProgramPushPorts } from "./pushes.js";
import { StageTimer, type StageTimerPorts } from "./stage-timer.js";

/** The program of a world: sessions, speakers, favorites, and what is on. */
export function programModule(
  ports: ProgramPorts & ProgramPushPorts & StageTimerPorts,
) {
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
      pushes.close();
    },
  } satisfies LiveModule;
}
