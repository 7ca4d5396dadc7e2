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
