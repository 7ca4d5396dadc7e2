/** Where a test keeps data: SQLite and a folder, or PostgreSQL, Valkey and S3. */
export type Engine = "sqlite" | "shared";

/** The engine of all tests that name none: `ENGINE=shared` selects the servers. */
export const ENGINE: Engine = process.env.ENGINE === "shared" ? "shared" : "sqlite";

/**
 * Why a test that needs PostgreSQL, Valkey and S3 is skipped; false if their addresses are in the
 * environment, where test/support/servers/with.ts puts them.
 */
export const NO_SERVERS =
  process.env.STACK_POSTGRES === undefined &&
  "needs PostgreSQL, Valkey and S3: node dist/test/support/servers/with.js npx tap <file>";

if (ENGINE === "shared" && NO_SERVERS) throw new Error(`ENGINE=shared ${NO_SERVERS}`);

type Servers = typeof import("./servers/shared.js");
let loaded: Promise<Servers> | undefined;

/** What data folders have on the shared servers. It loads their clients, so only when needed. */
export const servers = (): Promise<Servers> => (loaded ??= import("./servers/shared.js"));

/** Drops what a folder, and folders inside it, have on the shared servers. */
export const forget = async (folder: string): Promise<void> => (await loaded)?.forget(folder);

/** The shared servers if tests use them by default, otherwise undefined. */
export const shared = ENGINE === "shared" ? await servers() : undefined;

/**
 * Options of a test that passes only on SQLite.
 * @param reason why: it looks into the files of SQLite, for example.
 */
export const embedded = (reason: string): { skip?: string } => (shared ? { skip: reason } : {});
