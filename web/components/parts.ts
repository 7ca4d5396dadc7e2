import { getContext, setContext, type Snippet } from "svelte";
import { writable, type Writable } from "svelte/store";

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

const TOOLS = Symbol("tools");

/** The button of a part that stands beside its heading, such as the search of a chat. */
export type Tools = Writable<Snippet | undefined>;

/** Offers the components below a place beside their heading. */
export const provideTools = (): Tools => setContext(TOOLS, writable());

/** The place beside the heading of a component. */
export const useTools = (): Tools | undefined => getContext(TOOLS);

const HALL = Symbol("hall");

/** Tells the components below that a host runs the hall: they offer "On screen" at once. */
export const provideHall = (): true => setContext(HALL, true as const);

/** Whether a component is in the view of a host. */
export const isInHall = (): boolean => getContext(HALL) === true;
