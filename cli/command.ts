import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Command, InvalidArgumentError } from "commander";
import { type Config, loadConfig } from "../config.js";
import type { FileStore } from "../db/contract/file-store.js";
import type { Store } from "../db/contract/store.js";
import { Failure } from "../schemas/plain/failure.js";
import { textFault, type TextOptions } from "../schemas/plain/texts.js";
import { context, warn } from "./output.js";

// Commands import their dependencies lazily, with `import()`, so that `foyer help` is instant and
// `foyer token` does not load a server.

/**
 * Creates a command with the features that all commands share: the option `--json`, and an example
 * in the help.
 * @param nameAndArgs for example `show <id>`.
 */
export function command(nameAndArgs: string, description: string, example: string): Command {
  const [name, ...args] = nameAndArgs.split(" ");
  const made = new Command(name)
    .description(description)
    .option("--json", "print JSON")
    .addHelpText("after", `\nExample:\n  $ foyer ${example}`);
  return args.length > 0 ? made.arguments(args.join(" ")) : made;
}

/**
 * Loads the configuration from the command's environment.
 * @throws {ConfigError} if the configuration is invalid.
 */
export const settings = (): Config => loadConfig(context().env, (line) => warn(`warning: ${line}`));

/**
 * Runs a function with the stores that the environment variables select, and always closes the
 * stores.
 * @param options.create whether to create a missing database. By default, a missing database is an
 * error, and not even the folder is created.
 * @throws {StoreError} `unusable`, with a one-line message that names the folder or the database.
 */
export async function withStore<T>(
  run: (store: Store, files: FileStore) => Promise<T>,
  { create = false }: { create?: boolean } = {},
): Promise<T> {
  return withEngines(settings(), { create }, run);
}

/**
 * Like {@link withStore}, for read-only functions. If there is no database, the function runs with
 * an empty database in a temporary folder.
 */
export async function withStoreOrEmpty<T>(
  run: (store: Store, files: FileStore) => Promise<T>,
): Promise<T> {
  const { dataDir, engines, auditDays } = settings();
  const { hasStore } = await import("../db/open.js");
  if (await hasStore({ dataDir, ...engines })) {
    return withEngines({ dataDir, engines, auditDays }, {}, run);
  }
  const folder = await mkdtemp(join(tmpdir(), "foyer-"));
  try {
    return await withEngines({ dataDir: folder, engines: {} }, { create: true }, run);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/**
 * Runs a function with the stores that a configuration selects. Only `foyer serve` uses this
 * function to upgrade the stores.
 * @throws {StoreError} `unusable`, with a one-line message for the operator.
 */
export async function withEngines<T>(
  {
    dataDir,
    engines: choice,
    auditDays,
  }: Pick<Config, "dataDir" | "engines"> & Partial<Pick<Config, "auditDays">>,
  options: { create?: boolean; upgrade?: boolean },
  run: (store: Store, files: FileStore) => Promise<T>,
): Promise<T> {
  const { openEngines } = await import("../db/open.js");
  const engines = await openEngines({
    dataDir,
    log: warn,
    serves: false,
    create: false,
    upgrade: false,
    ...(auditDays === 0 && { audits: false }),
    ...options,
    ...choice,
  });
  try {
    return await run(engines.store, engines.files);
  } finally {
    await engines.close();
  }
}

/** Creates an argument parser that rejects strings that violate the given rules. */
export function checked(text: TextOptions): (value: string) => string {
  return (value) => {
    const fault = textFault(text, value);
    if (fault) throw new InvalidArgumentError(fault);
    return value;
  };
}

/**
 * Returns the URL at which clients can reach the configured server.
 * @throws {Failure} if only the running server knows its port.
 */
export function addressIn({ publicUrl, host, port }: Config): string {
  if (publicUrl !== undefined) return publicUrl;
  if (port === 0) {
    throw new Failure("PORT is 0, so the port is unknown; set PUBLIC_URL");
  }
  // Clients cannot connect to a wildcard address.
  const name = /^(0\.0\.0\.0|::)$/.test(host) ? "localhost" : host;
  return `http://${name.includes(":") ? `[${name}]` : name}:${port}`;
}
