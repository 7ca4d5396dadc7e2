import { readable, type Readable } from "svelte/store";
import { may } from "../lib/rights.js";
import type { PageConfig, Theme } from "../lib/page.js";
import { holdsKey } from "../state/rules.js";
import type { Session } from "../state/session.js";
import { objectOf } from "../state/world-form.js";

/** What an event looks like, and whether guests may enter it. */
export interface Look {
  readonly theme: Theme;
  readonly isOpen: boolean;
}

const looks = new WeakMap<Session, Readable<Look>>();

/**
 * The look of an event: as the page came with it, then as changes make it. Users who may not
 * read the settings keep that of the page.
 */
export function lookOf(session: Session, page: PageConfig): Readable<Look> {
  const known = looks.get(session);
  if (known) return known;
  // The page names the title only if guests may see the event.
  const first = { theme: page.theme, isOpen: page.title !== null };
  const look = readable<Look>(first, (set) => {
    const read = async () => {
      if (!may(session.live.state, "world:api")) return;
      const world = await session.api.getWorld().catch(() => undefined);
      if (!world) return;
      const theme = objectOf(world.config["theme"]) as Theme;
      const isOpen = holdsKey("world.view", [], world.permission_config);
      set({ theme, isOpen });
    };
    return session.live.on("world.changed", () => void read());
  });
  looks.set(session, look);
  return look;
}
