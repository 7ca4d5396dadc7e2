import { readable, type Readable } from "svelte/store";
import type { Live } from "../../client/index.js";
import type { Shown } from "../../schemas/plain/stage/screens.js";

/** What a room's screen shows, and how to participate without a name, if that is possible. */
export interface ScreenState {
  readonly show: Shown;
  /** The id of the question or the poll. */
  readonly id?: string;
  /** The link for people without a name, and its short URL. */
  readonly url?: string;
  readonly short?: string;
}

/** Interval for refetching the link, which a host may have replaced, in milliseconds. */
const LINK_AGE_MS = 60_000;

/**
 * Follows a room's host-controlled screen. The value is undefined until the server has responded,
 * and for users who are neither hosts nor screens. The user must be in the room.
 */
export const screenOf = (live: Live, room: string): Readable<ScreenState | undefined> =>
  readable<ScreenState | undefined>(undefined, (set) => {
    let known: ScreenState | undefined;
    let isOver = false;
    let timer: ReturnType<typeof setTimeout>;
    /** Counts the pushes, so that a response never replaces a later push. */
    let pushes = 0;
    const show = (next: ScreenState) => set((known = next));
    async function ask() {
      clearTimeout(timer);
      const before = pushes;
      try {
        const { show: shown, id, ...link } = await live.call("screen.get", { room });
        if (isOver) return;
        const isOld = before !== pushes && known;
        show({ ...link, ...(isOld ? itemOf(known!) : itemOf({ show: shown, id })) });
      } catch {
        // Keeps the last known state: the next attempt may succeed.
      }
      if (!isOver) timer = setTimeout(() => void ask(), LINK_AGE_MS);
    }
    const stops = [
      live.on("screen.shown", ({ room: id, ...shown }) => {
        if (id !== room) return;
        pushes++;
        const { url, short } = known ?? {};
        show({ ...(url && { url }), ...(short && { short }), ...itemOf(shown) });
      }),
      live.on("authenticated", () => void ask()),
      // Only people who are in the room receive pushes.
      live.on("client.room_restored", ({ room: id }) => {
        if (id === room) void ask();
      }),
    ];
    void ask();
    return () => {
      isOver = true;
      clearTimeout(timer);
      stops.forEach((stop) => stop());
    };
  });

const itemOf = ({ show, id }: { show: Shown; id?: string | undefined }) => ({
  show,
  ...(id !== undefined && { id }),
});
