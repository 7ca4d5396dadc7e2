import { getContext, setContext, type Snippet } from "svelte";
import { type Readable, writable, type Writable } from "svelte/store";
import type { PageConfig } from "../lib/page.js";
import type { Shelf } from "../lib/storage.js";
import type { Route } from "../state/route.js";
import type { Session } from "../state/session.js";

/** The context of a page for all its components; `useApp()` returns it. */
export interface App {
  readonly page: PageConfig;
  readonly session: Session;
  readonly route: Readable<Route>;
  /** Where the user's drafts and dismissals are kept: in this browser, or in this tab alone. */
  readonly shelf: Shelf;
}

const APP = Symbol("app");

/** Provides the context of the page to all components below. */
export const provideApp = (app: App): App => setContext(APP, app);

/** The context that the page provided. */
export const useApp = (): App => getContext<App>(APP);

const PARTS = Symbol("parts");

/** The parts of the open room, for the components in one of them. */
export interface Parts {
  /** Shows the part with a type of module, if the room has one. */
  open(type: string): void;
}

/** Provides the parts of a room to all components below. */
export const provideParts = (parts: Parts): Parts => setContext(PARTS, parts);

/** The parts of the room around a component; undefined outside of rooms. */
export const useParts = (): Parts | undefined => getContext(PARTS);

const TOOLS = Symbol("tools");

/** A button beside the heading of a part, such as the search of a chat. */
type Tools = Writable<Snippet | undefined>;

/** Lets the components below put a button beside their heading. */
export const provideTools = (): Tools => setContext(TOOLS, writable());

/** The place beside the heading of a component. */
export const useTools = (): Tools | undefined => getContext(TOOLS);

const HALL = Symbol("hall");

/** Marks the host view for the components below: they offer "On screen" directly. */
export const provideHall = (): true => setContext(HALL, true as const);

/** Whether a component is in the view of a host. */
export const isInHall = (): boolean => getContext(HALL) === true;

/** The console's services for its pages, beside `useApp()`. */
interface ConsoleTools {
  /**
   * Asks before changes are lost, by a link or by closing the page; for `onMount` and
   * `$effect`.
   * @returns ends it.
   */
  protect(isUnsaved: () => boolean): () => void;
  /**
   * Goes on with another token of the same user. Nothing changes if the server refuses
   * it. The page is rebuilt with the returned session, and work that has begun continues
   * with it.
   * @throws {LiveError} if the server refuses the token.
   */
  useToken(token: string): Promise<Session>;
  signOut(): void;
}

const CONSOLE = Symbol("console");

export const provideConsole = (tools: ConsoleTools): ConsoleTools => setContext(CONSOLE, tools);

/** Returns the console's services. */
export const useConsole = (): ConsoleTools => getContext<ConsoleTools>(CONSOLE);
