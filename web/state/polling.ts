import { type Readable, readable } from "svelte/store";

/** Intervals, in milliseconds. */
export interface Pace {
  every: number;
  /** Maximum interval. Each failure doubles the current interval. */
  slowest: number;
}

/**
 * Repeats work while it is wanted, such as while a page is visible. The work runs immediately when
 * it becomes wanted, and less often after failures.
 * @param work rejects if it fails.
 * @returns a function that stops the repetition.
 */
export function pollWhile(
  wanted: Readable<boolean>,
  work: () => Promise<unknown>,
  { every, slowest }: Pace,
): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let isWanted = false;
  let isBusy = false;
  let wait = every;

  async function run(): Promise<void> {
    if (isBusy) return;
    isBusy = true;
    clearTimeout(timer);
    try {
      await work();
      wait = every;
    } catch {
      wait = Math.min(slowest, wait * 2);
    }
    isBusy = false;
    if (isWanted) timer = setTimeout(() => void run(), wait);
  }

  const unsubscribe = wanted.subscribe((value) => {
    if (value === isWanted) return;
    isWanted = value;
    if (isWanted) void run();
    else clearTimeout(timer);
  });
  return () => {
    unsubscribe();
    isWanted = false;
    clearTimeout(timer);
  };
}

/** Whether the page is visible; hidden pages need no updates. */
export const isPageVisible = (document: Document): Readable<boolean> =>
  readable(document.visibilityState !== "hidden", (set) => {
    const update = () => set(document.visibilityState !== "hidden");
    update();
    document.addEventListener("visibilitychange", update);
    return () => document.removeEventListener("visibilitychange", update);
  });
