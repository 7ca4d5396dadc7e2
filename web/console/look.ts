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

/** How long a read that failed waits for its second try, in milliseconds. */
const RETRY = 3000;

const looks = new WeakMap<Session, Readable<Look>>();

/**
 * The look of an event: as the page came with it, then as changes make it. Users without the right
 * to read the settings keep the look that came with the page.
 */
export function lookOf(session: Session, page: PageConfig): Readable<Look> {
  const known = looks.get(session);
  if (known) return known;
  // The page names the title only if guests may see the event.
  const first = { theme: page.theme, isOpen: page.title !== null };
  const look = readable<Look>(first, (set) => {
    let begun = 0;
    const read = async (isSecond = false) => {
      if (!may(session.live.state, "world:api")) return;
      const mine = ++begun;
      const world = await session.api.getWorld().catch(() => undefined);
      // The answer to a later read is newer.
      if (mine !== begun) return;
      if (!world) {
        const again = () => mine === begun && void read(true);
        if (!isSecond) setTimeout(again, RETRY);
        return;
      }
      const theme = objectOf(world.config["theme"]) as Theme;
      const isOpen = holdsKey("world.view", [], world.permission_config);
      set({ theme, isOpen });
    };
    const stop = session.live.on("world.changed", () => void read());
    return () => {
      stop();
      begun++;
    };
  });
  looks.set(session, look);
  return look;
}
