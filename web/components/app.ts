import { getContext, setContext } from "svelte";
import type { App } from "../lib/context.js";

const KEY = Symbol("app");

/** Provides the context of the page to all components below. */
export const provideApp = (app: App): App => setContext(KEY, app);

/** The context that the page provided. */
export const useApp = (): App => getContext<App>(KEY);
