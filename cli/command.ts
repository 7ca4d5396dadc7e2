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

// A command imports what it works with when it runs, by `import()`. So
// `foyer help` answers at once, and `foyer token` does not load a server.

/**
 * Makes a command with what all commands have: `--json` for machines, and an
 * example in its help.
 * @param nameAndArgs as in `show <id>`.
 */
export function command(nameAndArgs: string, description: string, example: string): Command {
  const [name, ...args] = nameAndArgs.split(" ");
  const made = new Command(name)
    .description(description)
    .option("--json", "print JSON, for machines")
    .addHelpText("after", `\nExample:\n  $ foyer ${example}`);
  return args.length > 0 ? made.arguments(args.join(" ")) : made;
}

/**
 * The configuration of a command.
 * @throws {ConfigError} if it is wrong.
 */
export const settings = (): Config => loadConfig(context().env, (line) => warn(`warning: ${line}`));

/**
 * Runs something with the stores that the variables select, and closes them whatever happens.
 * @param options.create make a database where there is none; otherwise the
 *   command fails there, and not even the folder is made.
 * @throws {StoreError} `unusable` with one line that names the folder or the database.
 */
export async function withStore<T>(
  run: (store: Store, files: FileStore) => Promise<T>,
  { create = false }: { create?: boolean } = {},
): Promise<T> {
  return withEngines(settings(), { create }, run);
}

/**
 * Like {@link withStore} for what changes nothing: where there is no database,
 * it runs with an empty one in a temporary folder.
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
 * Runs something with the stores of a configuration. Only `foyer serve` upgrades them.
 * @throws {StoreError} `unusable` with one line for the operator.
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

/** Makes a parser of arguments: a value that is not such a text is wrong usage. */
export function checked(text: TextOptions): (value: string) => string {
  return (value) => {
    const fault = textFault(text, value);
    if (fault) throw new InvalidArgumentError(fault);
    return value;
  };
}

/**
 * The address where clients find the server of a configuration.
 * @throws {Failure} if only the running server knows it.
 */
export function addressIn({ publicUrl, host, port }: Config): string {
  if (publicUrl !== undefined) return publicUrl;
  if (port === 0) {
    throw new Failure("PORT is 0, so only the server knows its port; set PUBLIC_URL");
  }
  // "Every interface" is no address that a client could use.
  const name = /^(0\.0\.0\.0|::)$/.test(host) ? "localhost" : host;
  return `http://${name.includes(":") ? `[${name}]` : name}:${port}`;
}
