import { isVisible } from "../../../schemas/plain/announcements.js";
import type { Connection } from "../../socket/connection.js";
import { bind, type LiveModule } from "../../module.js";
import { sentAnnouncement } from "../../rules/shapes.js";
import { type AnnouncementPorts, announcements } from "./commands.js";
import { type AnnouncementPushPorts, AnnouncementPushes } from "./pushes.js";

/** The organizers' announcements to all users of a world. */
export function announcementModule(
  ports: AnnouncementPorts & AnnouncementPushPorts,
) {
  const pushes = new AnnouncementPushes(ports);
  return {
    bound: bind(announcements, ports),
    onEntry: pushes.handlers,
    enter: (world: string) => pushes.watch(world),
    async entrance({ world }: Connection) {
      const all = await ports.store.announcements.list(world);
      const now = ports.clock.date();
      const visible = all.filter((each) => isVisible(each, now));
      pushes.shown(world, visible);
      const sent = visible.map((each) => sentAnnouncement(each, now));
      return () => ({ announcements: sent });
    },
    forget: (world: string) => pushes.unwatch(world),
    stop: () => pushes.close(),
  } satisfies LiveModule;
}
