import { writable } from "svelte/store";

/** Whether the list of rooms is open, where there is no space for it all the time. */
export const isDrawerOpen = writable(false);
