import type { Readable } from "svelte/store";
import type { Route } from "../state/route.js";
import type { Session } from "../state/session.js";
import type { PageConfig } from "./page.js";

/** The context of a page for all its components; `useApp()` in components/app.ts returns it. */
export interface App {
  readonly page: PageConfig;
  readonly session: Session;
  readonly route: Readable<Route>;
}
