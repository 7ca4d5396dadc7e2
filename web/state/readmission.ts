import { Live, type LiveOptions } from "../../client/index.js";

/** After how many milliseconds a banned user knocks again; a ban ends for the page within 5 s. */
const PAUSE = 3500;

/**
 * Waits until the server lets a banned user in.
 * @param onadmitted is called once, unless the wait was ended before.
 * @returns ends the wait.
 */
export function awaitReadmission(
  access: LiveOptions,
  onadmitted: () => void,
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
        if (!isOver) timer = setTimeout(knock, PAUSE);
      },
    );
  };
  timer = setTimeout(knock, PAUSE);
  return () => {
    isOver = true;
    clearTimeout(timer);
    live?.close();
  };
}
