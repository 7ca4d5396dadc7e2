import type { Readable } from "svelte/store";
import type { Route } from "../state/route.js";
import type { Session } from "../state/session.js";
import type { PageConfig } from "./page.js";

/** What every component of a page may need; `useApp()` in components/app.ts gives it. */
export interface App {
  readonly page: PageConfig;
  readonly session: Session;
  readonly route: Readable<Route>;
}
