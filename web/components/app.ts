import { getContext, setContext } from "svelte";
import type { Readable } from "svelte/store";
import type { Route } from "../state/route.js";
import type { Session } from "../state/session.js";
import type { PageConfig } from "../lib/page.js";
import type { Shelf } from "../lib/storage.js";

/** The context of a page for all its components; `useApp()` in components/app.ts returns it. */
export interface App {
  readonly page: PageConfig;
  readonly session: Session;
  readonly route: Readable<Route>;
  /** Where the user's drafts and dismissals are kept: in this browser, or in this tab alone. */
  readonly shelf: Shelf;
}

const KEY = Symbol("app");

/** Provides the context of the page to all components below. */
export const provideApp = (app: App): App => setContext(KEY, app);

/** The context that the page provided. */
export const useApp = (): App => getContext<App>(KEY);
