import { bind, type LiveModule } from "../../module.js";
import { world, type WorldPorts } from "./commands.js";
import { records, type RecordPorts } from "./records.js";
import { Notifier, type NotifierPorts } from "./notifier.js";

/** A world: its settings, its rooms as people see them, and their rights. */
export function worldModule(ports: WorldPorts & NotifierPorts & RecordPorts) {
  const notifier = new Notifier(ports);
  return {
    notifier,
    bound: bind({ ...world, ...records }, ports),
    onEntry: notifier.handlers,
    enter: (id: string) => notifier.watch(id),
    forget: (id: string) => notifier.unwatch(id),
    stop: () => notifier.close(),
  } satisfies LiveModule & { notifier: Notifier };
}
