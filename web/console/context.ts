import { getContext, setContext } from "svelte";
import type { Session } from "../state/session.js";

/** The console's services for its pages, beside `useApp()`. */
export interface ConsoleTools {
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

const KEY = Symbol("console");

export const provideConsole = (tools: ConsoleTools): ConsoleTools => setContext(KEY, tools);

/** Returns the console's services. */
export const useConsole = (): ConsoleTools => getContext<ConsoleTools>(KEY);
