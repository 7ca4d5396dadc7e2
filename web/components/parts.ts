import { getContext, setContext } from "svelte";

const KEY = Symbol("parts");

/** The parts of the open room, for what stands in one of them. */
export interface Parts {
  /** Shows the part with a type of module, if the room has one. */
  open(type: string): void;
}

/** Provides the parts of a room to all components below. */
export const provideParts = (parts: Parts): Parts => setContext(KEY, parts);

/** The parts of the room around a component; undefined outside of rooms. */
export const useParts = (): Parts | undefined => getContext(KEY);

const HALL = Symbol("hall");

/** Tells the components below that a host runs the hall: they offer "On screen" at once. */
export const provideHall = (): true => setContext(HALL, true as const);

/** Whether a component is in the view of a host. */
export const isInHall = (): boolean => getContext(HALL) === true;
