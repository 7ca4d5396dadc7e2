import { bind, type LiveModule } from "../../module.js";
import type { Connection } from "../../socket/connection.js";
import { users } from "./commands.js";
import type { UserPorts } from "./people.js";
import { type KioskPorts, kiosks } from "./kiosks.js";
import { webPush, type WebPushPorts } from "./web-push.js";
import { type SearchPorts, Searches } from "./searches.js";

/** The people of a world. */
export function userModule(
  ports: Omit<UserPorts, "searches"> & SearchPorts & KioskPorts & WebPushPorts,
) {
  const searches = new Searches(ports);
  return {
    bound: bind({ ...users, ...kiosks, ...webPush }, { ...ports, searches }),
    // Clients of Venueless expect these.
    entrance: async () => () => ({
      exhibition: { exhibitors: [], contact_requests: [] },
    }),
    leave: (connection: Connection) => searches.end(connection),
  } satisfies LiveModule;
}
