import cluster from "node:cluster";
import { statSync } from "node:fs";
import { Option } from "commander";
import type { Cluster } from "../cluster.js";
import { type Config, loadConfig, type Variable, variables } from "../config.js";
import type { FileStore } from "../db/contract/file-store.js";
import type { Store } from "../db/contract/store.js";
import { signToken } from "../db/world-management.js";
import type { SetupKey } from "../plugins/setup.js";
import { linkTo } from "../schemas/plain/links.js";
import type { World } from "../schemas/worlds.js";
import type { Server } from "../server.js";
import { command, withEngines } from "./command.js";
import { scheduleDemo } from "./demo/demo-program.js";
import { DEMO, DEMO_HOST, ensureDemo, personOf, pointDemo } from "./demo/demo.js";
import { context, printLines } from "./output.js";

/** How long a stopped server waits until its log is read, in milliseconds. */
const LOG_FLUSH_TIMEOUT = 1000;

/** The variables, for the help of the command. */
const tableOfVariables = Object.entries<Variable>(variables)
  .map(([name, { fallback, means }]) => {
    const defaults = fallback && ` (${fallback})`;
    return `  ${name}${defaults}\n    ${means.replaceAll("`", "")}`;
  })
  .join("\n");

interface ServeOptions {
  demo?: boolean;
  json?: boolean;
  people?: boolean;
}

/** `foyer serve` */
export const serveCommand = command(
  "serve",
  "serve the worlds of DATA_DIR at HOST and PORT",
  "serve --demo",
)
  .addHelpText("after", `\nVariables, and their defaults:\n${tableOfVariables}`)
  .option("--demo", `on an empty server, make the world "${DEMO}" to try things in`)
  // For tests, which leave them out by default.
  .addOption(new Option("--people").hideHelp())
  .option(
    "--no-people",
    "with --demo, leave out the simulated people, who talk while others are connected",
  )
  .action(async ({ demo, json, people = true }: ServeOptions) => {
    const warnings: string[] = [];
    const config = loadConfig(context().env, (line) => warnings.push(line));
    await logRejections(config);
    const several = config.workers > 1;
    if (several && cluster.isWorker) {
      const { runWorker } = await import("../cluster.js");
      return runWorker(config, stopSignal());
    }
    const { createLogger } = await import("../plugins/logging.js");
    const log = await createLogger(config.logLevel);
    for (const line of [...warnings, ...openFolder(config)]) log.warn(line);
    const { server, world, setup } = several
      ? await startSeveral(config, demo)
      : await startOne(config, demo);
    const address = config.publicUrl ?? server.address;
    if (world) {
      const finish = async (store: Store, files: FileStore) => {
        await pointDemo(store, address);
        const now = Date.now();
        await scheduleDemo({ store, files, world: DEMO, address, now });
      };
      await (isWhole(server)
        ? finish(server.app.store, server.app.files)
        : withEngines(config, {}, finish));
    }
    if (isWhole(server)) server.prepared();
    const setupLink = setup && server.worlds === 0 ? `${address}/setup#${setup.secret}` : undefined;
    if (demo || json) {
      const sample = world && (await tourOf(world, address, config.web.on));
      const { lines = [], ...made } = sample ?? {};
      printLines(
        json
          ? // On one line, because the lines around it are the log.
            [JSON.stringify({ address, setup: setupLink, ...made })]
          : ["", `Foyer serves ${address}`, ...lines, ""],
      );
    } else if (setupLink !== undefined) {
      printLines([`Set up your event: ${setupLink}`]);
    }
    const life = world && people ? await peopleOf(world, config, server) : undefined;
    await stopSignal();
    life?.stop();
    await server.stop();
    // Now only a stalled reader of the log can keep the process running.
    setTimeout(() => process.exit(), LOG_FLUSH_TIMEOUT).unref();
  });

/**
 * A promise that rejects without a handler would end the process. It is a fault of Foyer,
 * and no reason to end the connections of everybody.
 */
async function logRejections({ logLevel }: Config): Promise<void> {
  const { createLogger } = await import("../plugins/logging.js");
  const log = await createLogger(logLevel);
  process.on("unhandledRejection", (err) =>
    log.error({ err }, "a promise was rejected that nothing handles"),
  );
}

interface Started {
  server: Server | Cluster;
  /** The demo world, if it is asked for. */
  world?: World | undefined;
  setup?: SetupKey | undefined;
}

/** Serves in this process, whose engines also make the demo. */
async function startOne(config: Config, demo?: boolean): Promise<Started> {
  const { startServer } = await import("../server.js");
  const made: Omit<Started, "server"> = {};
  const server = await startServer(config, undefined, async (store) => {
    if (demo) made.world = await ensureDemo(store);
    return (made.setup = await setupFor(config, made.world));
  });
  return { server, ...made };
}

/** Serves in workers. The database must exist before they open it at the same time. */
async function startSeveral(config: Config, demo?: boolean): Promise<Started> {
  const { world, worlds } = await withEngines(
    config,
    { create: true, upgrade: true },
    async (store) => ({
      world: demo ? await ensureDemo(store) : undefined,
      ...(await store.counts()),
    }),
  );
  const setup = await setupFor(config, world);
  const { startCluster } = await import("../cluster.js");
  return { server: await startCluster(config, worlds, setup), world, setup };
}

async function setupFor({ web }: Config, demo?: World) {
  if (!web.on || demo) return undefined;
  const { freshSetupKey } = await import("../plugins/setup.js");
  return freshSetupKey();
}

/** Whether a server has one process. */
const isWhole = (server: object): server is Server => "app" in server;

/** The simulated people of the demo, if one process serves it: several would each bring them. */
async function peopleOf(world: World, { engines }: Config, server: Server | Cluster) {
  if (!isWhole(server) || engines.database) return undefined;
  const { DemoPeople } = await import("./demo/demo-people.js");
  const { Live } = await import("../client/live.js");
  const { presence } = server.app.live;
  return new DemoPeople({
    connections: () => presence.in(DEMO).connections,
    enter: async (name) =>
      new Live({
        baseUrl: server.address,
        world: DEMO,
        onError: () => {},
        token: await signToken(world, { ...personOf(name), expiresIn: "1d" }),
      }),
  });
}

/** @param hasPages whether the server has pages for people. */
async function tourOf(world: World, address: string, hasPages: boolean) {
  const { id } = world;
  const token = await signToken(world);
  const links = hasPages
    ? {
        event: linkTo("event", { address, world: id }),
        console: linkTo("console", {
          address,
          world: id,
          token: await signToken(world, DEMO_HOST),
        }),
      }
    : undefined;
  const lines = [
    "",
    `The world "${id}" is there to try things in.`,
    "",
    "A token for 30 days:",
    "",
    `  ${token}`,
    "",
    "Paste this into another shell to see its rooms:",
    "",
    `  curl -H "Authorization: Bearer ${token}" ${address}/api/v1/worlds/${id}/rooms/`,
    ...(links
      ? [
          "",
          "To run it in a browser, as its host:",
          "",
          `  ${links.console}`,
          "",
          "To attend:",
          "",
          `  ${links.event}`,
        ]
      : []),
  ];
  return { world: id, token, ...(links && { links }), lines };
}

/** A warning if other users of this machine may enter the folder of the data. */
function openFolder({ dataDir, engines }: Config): string[] {
  if (engines.database && engines.bucket) return [];
  const stats = statSync(dataDir, { throwIfNoEntry: false });
  // Windows has no such modes.
  if (!stats?.isDirectory() || process.platform === "win32") return [];
  const { mode } = stats;
  if ((mode & 0o077) === 0) return [];
  const octal = (mode & 0o777).toString(8).padStart(4, "0");
  return [
    `DATA_DIR: ${dataDir} has mode ${octal}, so other users of this machine may enter it, where the data is; chmod 700 closes it`,
  ];
}

/** Resolves with the first SIGTERM or SIGINT. A second one kills the process. */
function stopSignal(): Promise<void> {
  return new Promise((resolve) => {
    for (const signal of ["SIGTERM", "SIGINT"] as const) {
      process.once(signal, () => resolve());
    }
  });
}
