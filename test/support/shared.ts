/** Where a test stores its data: in SQLite and a folder, or in PostgreSQL, Valkey and S3. */
export type Engine = "sqlite" | "shared";

/** The default engine of tests. `ENGINE=shared` selects the shared servers. */
export const ENGINE: Engine = process.env.ENGINE === "shared" ? "shared" : "sqlite";

/**
 * The reason to skip tests that need PostgreSQL, Valkey and S3; false if the environment contains
 * their addresses, which test/support/servers/with.ts sets.
 */
export const NO_SERVERS =
  process.env.STACK_POSTGRES === undefined &&
  "needs PostgreSQL, Valkey and S3: node dist/test/support/servers/with.js npx tap <file>";

if (ENGINE === "shared" && NO_SERVERS) throw new Error(`ENGINE=shared ${NO_SERVERS}`);

type Servers = typeof import("./servers/shared.js");
let loaded: Promise<Servers> | undefined;

/** Loads the module for data folders on the shared servers. Lazy, because it loads the servers' clients. */
export const servers = (): Promise<Servers> => (loaded ??= import("./servers/shared.js"));

/** Drops the data of a folder, and of folders inside it, from the shared servers. */
export const forget = async (folder: string): Promise<void> => (await loaded)?.forget(folder);

/** The shared servers if tests use them by default, or undefined. */
export const shared = ENGINE === "shared" ? await servers() : undefined;

/**
 * Returns the options of a test that only passes on SQLite.
 * @param reason why the test requires SQLite, for example because it reads its files.
 */
export const embedded = (reason: string): { skip?: string } => (shared ? { skip: reason } : {});
