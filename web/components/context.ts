import { getContext, setContext, type Snippet } from "svelte";
import { type Readable, writable, type Writable } from "svelte/store";
import type { PageConfig } from "../lib/page.js";
import type { Shelf } from "../lib/storage.js";
import type { Shown } from "../../schemas/plain/stage/screens.js";
import type { Captions } from "../state/captions.js";
import type { ScreenState } from "../state/screens.js";
import type { Route } from "../state/route.js";
import type { Session } from "../state/session.js";

/** The page's context for all of its components; `useApp()` returns it. */
export interface App {
  readonly page: PageConfig;
  readonly session: Session;
  readonly route: Readable<Route>;
  /** Storage for the user's drafts and dismissals: for this browser, or for this tab only. */
  readonly shelf: Shelf;
}

const APP = Symbol("app");

/** Provides the page's context to all descendants. */
export const provideApp = (app: App): App => setContext(APP, app);

/** Returns the context provided by the page. */
export const useApp = (): App => getContext<App>(APP);

const PARTS = Symbol("parts");

/** Gives components inside a room's parts access to all parts of the open room. */
export interface Parts {
  /** Shows the part with the given module type, if the room has such a part. */
  open(type: string): void;
}

/** Provides a room's parts to all descendants. */
export const provideParts = (parts: Parts): Parts => setContext(PARTS, parts);

/** Returns the parts of the enclosing room; undefined outside of rooms. */
export const useParts = (): Parts | undefined => getContext(PARTS);

const TOOLS = Symbol("tools");

/** A slot for a button next to a part's heading, such as a chat's search button. */
type Tools = Writable<Snippet | undefined>;

/** Lets descendants put a button next to their heading. */
export const provideTools = (): Tools => setContext(TOOLS, writable());

/** Returns the slot next to the enclosing part's heading, or undefined if there is no slot. */
export const useTools = (): Tools | undefined => getContext(TOOLS);

const CAPTIONS = Symbol("captions");

/** Provides a room's captions to its stage and its call. */
export const provideCaptions = (captions: Captions): Captions => setContext(CAPTIONS, captions);

/** Returns the captions of the enclosing room; undefined where none are shown. */
export const useCaptions = (): Captions | undefined => getContext(CAPTIONS);

const HALL = Symbol("hall");

/** The room's live screen, in the host view. */
export interface Hall {
  readonly screen: Readable<ScreenState | undefined>;
  /** Puts something on the screen. */
  readonly show: (show: Shown, id?: string) => Promise<unknown>;
}

/** Tells descendants that they are in the host view, where they offer "On screen" directly. */
export const provideHall = (hall: Hall): Hall => setContext(HALL, hall);

/** Returns the host view's live screen, or undefined outside the host view. */
export const useHall = (): Hall | undefined => getContext<Hall | undefined>(HALL);

/** Whether a component is in the host view. */
export const isInHall = (): boolean => useHall() !== undefined;

/** Services that the console provides to its pages, in addition to `useApp()`. */
interface ConsoleTools {
  /**
   * Asks for confirmation before the user discards changes by following a link or closing the page.
   * Call it in `onMount` or `$effect`.
   * @returns a function that ends the protection.
   */
  protect(isUnsaved: () => boolean): () => void;
  /**
   * Switches to another token of the same user. If the server refuses the token, nothing changes.
   * Otherwise, the page is rebuilt with the returned session, and pending work must continue with
   * this session.
   * @throws {LiveError} if the server refuses the token.
   */
  useToken(token: string): Promise<Session>;
  signOut(): void;
}

const CONSOLE = Symbol("console");

export const provideConsole = (tools: ConsoleTools): ConsoleTools => setContext(CONSOLE, tools);

/** Returns the console's services. */
export const useConsole = (): ConsoleTools => getContext<ConsoleTools>(CONSOLE);
