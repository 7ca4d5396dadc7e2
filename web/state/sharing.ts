import type { Live } from "../../client/index.js";

/**
 * Shares what several parts of a page need of one room. The first part that asks makes it;
 * it ends when the last one has released it.
 */
export function sharing<T>(
  make: (live: Live, room: string) => T,
  end: (shared: T) => void,
): (live: Live, room: string) => { shared: T; release: () => void } {
  const all = new WeakMap<Live, Map<string, { shared: T; users: number }>>();
  return (live, room) => {
    const ofLive = all.get(live) ?? new Map<string, never>();
    all.set(live, ofLive);
    const held = ofLive.get(room) ?? { shared: make(live, room), users: 0 };
    ofLive.set(room, held);
    held.users++;
    let isNeeded = true;
    const release = () => {
      if (!isNeeded) return;
      isNeeded = false;
      if (--held.users > 0) return;
      ofLive.delete(room);
      end(held.shared);
    };
    return { shared: held.shared, release };
  };
}
