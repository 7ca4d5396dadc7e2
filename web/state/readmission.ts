import { Live, type LiveOptions } from "../../client/index.js";

/** After how many milliseconds a banned user knocks again; a ban ends for the page within 5 s. */
export const AFTER_BAN = 3500;

/** The same for everybody whom a closed event keeps out. They are many, and spread their tries. */
export const whileClosed = (): number => 8_000 + 7_000 * Math.random();

/**
 * Waits until the server lets in a user who was banned, or whom a closed event keeps out.
 * @param pause how long to wait before each try, in milliseconds.
 * @param onadmitted is called once, unless the wait was ended before.
 * @returns ends the wait.
 */
export function awaitReadmission(
  access: LiveOptions,
  onadmitted: () => void,
  pause: number,
): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let live: Live | undefined;
  let isOver = false;

  const knock = () => {
    const visit = new Live(access);
    live = visit;
    visit.connected().then(
      () => {
        visit.close();
        if (!isOver) onadmitted();
      },
      () => {
        visit.close();
        if (!isOver) timer = setTimeout(knock, pause);
      },
    );
  };
  timer = setTimeout(knock, pause);
  return () => {
    isOver = true;
    clearTimeout(timer);
    live?.close();
  };
}
