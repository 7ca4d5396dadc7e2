import { getContext, setContext } from "svelte";
import type { Session } from "../state/session.js";

/** What the console offers to its pages, beside `useApp()`. */
export interface ConsoleTools {
  /**
   * Asks before changes are lost, by a link or by closing the page; for `onMount` and
   * `$effect`.
   * @returns ends it.
   */
  protect(isUnsaved: () => boolean): () => void;
  /**
   * Goes on with another token of the same user. Nothing changes if the server refuses
   * it. The page is made anew with the session that is returned; what was begun before
   * goes on with this one.
   * @throws {LiveError} if the server refuses the token.
   */
  useToken(token: string): Promise<Session>;
  signOut(): void;
}

const KEY = Symbol("console");

export const provideConsole = (tools: ConsoleTools): ConsoleTools =>
  setContext(KEY, tools);

/** What the console offers to its pages. */
export const useConsole = (): ConsoleTools => getContext<ConsoleTools>(KEY);
