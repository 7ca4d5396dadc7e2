import { readable, type Readable } from "svelte/store";
import { may } from "../../lib/rights.js";
import { defaultRoles, rolesOf, type Role } from "../../state/roles.js";
import type { Session } from "../../state/session.js";

/**
 * The roles of an event, as they are now. A user who may not see the settings of the world
 * gets the default ones.
 */
export const knownRoles = (session: Session): Readable<readonly Role[]> =>
  readable(defaultRoles, (set) => {
    const load = async () => {
      let state: Parameters<typeof may>[0];
      session.state.subscribe((it) => (state = it))();
      if (!may(state, "world:api") || !may(state, "world:secrets")) return;
      // The names are for reading only: without an answer, the defaults do.
      const world = await session.api.getWorld().catch(() => undefined);
      if (world) set(rolesOf(world.config["roles"]));
    };
    void load();
    return session.live.on("world.changed", () => void load());
  });
