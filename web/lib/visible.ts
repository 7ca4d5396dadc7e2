import { readable, type Readable } from "svelte/store";

/** Whether the page is visible: hidden pages need no news. */
export const isPageVisible = (document: Document): Readable<boolean> =>
  readable(document.visibilityState !== "hidden", (set) => {
    const update = () => set(document.visibilityState !== "hidden");
    update();
    document.addEventListener("visibilitychange", update);
    return () => document.removeEventListener("visibilitychange", update);
  });
