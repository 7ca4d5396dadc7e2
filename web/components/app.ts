import { getContext, setContext } from "svelte";
import type { App } from "../lib/context.js";

const KEY = Symbol("app");

/** Gives all components below what they may need. */
export const provideApp = (app: App): App => setContext(KEY, app);

/** What the page gave to all of its components. */
export const useApp = (): App => getContext<App>(KEY);
