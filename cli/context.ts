import { AsyncLocalStorage } from "node:async_hooks";

/** What a command reads and writes, besides its arguments and its files. */
export interface Context {
  readonly env: NodeJS.ProcessEnv;
  readonly stdin: NodeJS.ReadableStream;
  readonly stdout: NodeJS.WritableStream;
  readonly stderr: NodeJS.WritableStream & { isTTY?: boolean };
}

const contexts = new AsyncLocalStorage<Context>();

/** The context of the running command: the process, unless {@link within} gave another. */
export const context = (): Context => contexts.getStore() ?? process;

/**
 * Runs something in a context of its own. The process itself needs none: on some
 * versions of Node, a context makes every promise of a server slower.
 */
export const within = <T>(own: Context, run: () => T): T => contexts.run(own, run);
