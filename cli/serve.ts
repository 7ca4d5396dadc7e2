import cluster from "node:cluster";
import { statSync } from "node:fs";
import { Option } from "commander";
import type { Cluster } from "../cluster.js";
import { type Config, loadConfig, type Variable, variables } from "../config.js";
import type { FileStore } from "../db/contract/file-store.js";
import type { Store } from "../db/contract/store.js";
import { invitationLink, lostHostLink, signToken } from "../db/world-management.js";
import type { SetupKey } from "../plugins/setup.js";
import { linkTo } from "../schemas/plain/links.js";
import type { World } from "../schemas/worlds.js";
import type { Server } from "../server.js";
import { command, withEngines } from "./command.js";
import { scheduleDemo } from "./demo/demo-program.js";
import { DEMO, demoHost, ensureDemo, personOf, pointDemo } from "./demo/demo.js";
import { context, printLines } from "./output.js";

/** Maximum time for a stopped server to flush its log, in milliseconds. */
const LOG_FLUSH_TIMEOUT = 1000;

/** The environment variables, for the command's help. */
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
  .option("--demo", `on an empty server, create the demo world "${DEMO}"`)
  // For tests, where `--no-people` is the default.
  .addOption(new Option("--people").hideHelp())
  .option(
    "--no-people",
    "with --demo, leave out the simulated people, who chat while others are connected",
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
    let host = "";
    if (world) {
      const finish = async (store: Store, files: FileStore) => {
        await pointDemo(store, address);
        const now = Date.now();
        await scheduleDemo({ store, files, world: DEMO, address, now });
        host = await invitationLink(world, await demoHost(store), address);
      };
      await (isWhole(server)
        ? finish(server.app.store, server.app.files)
        : withEngines(config, {}, finish));
    }
    if (isWhole(server)) server.prepared();
    const find = (store: Store) => lostHostLink(store, address);
    const lost =
      setup && server.worlds === 1
        ? await (isWhole(server) ? find(server.app.store) : withEngines(config, {}, find))
        : undefined;
    const setupLink = setup && server.worlds === 0 ? `${address}/setup#${setup.secret}` : undefined;
    if (demo || json) {
      const sample = world && (await tourOf(world, address, config.web.on ? host : undefined));
      const { lines = [], ...made } = sample ?? {};
      printLines(
        json
          ? // Printed as a single line, because it appears among the lines of the log.
            [JSON.stringify({ address, setup: setupLink, console: lost, ...made })]
          : ["", `Foyer serves ${address}`, ...lines, ""],
      );
    } else if (setupLink !== undefined) {
      // Browsers permit passkeys only where the address is a name.
      const named = setupLink.replace("http://127.0.0.1:", "http://localhost:");
      printLines([`Set up your event: ${named}`]);
    } else if (lost !== undefined) printLines([`Open the console of your event: ${lost}`]);
    const life = world && people ? await peopleOf(world, config, server) : undefined;
    await stopSignal();
    life?.stop();
    await server.stop();
    // By now, only a stalled reader of the log can keep the process running.
    setTimeout(() => process.exit(), LOG_FLUSH_TIMEOUT).unref();
  });

/**
 * Logs unhandled rejections. They would otherwise end the process, but a bug in Foyer is no reason
 * to disconnect everyone.
 */
async function logRejections({ logLevel }: Config): Promise<void> {
  const { createLogger } = await import("../plugins/logging.js");
  const log = await createLogger(logLevel);
  process.on("unhandledRejection", (err) => log.error({ err }, "unhandled promise rejection"));
}

interface Started {
  server: Server | Cluster;
  /** The demo world, if requested. */
  world?: World | undefined;
  setup?: SetupKey | undefined;
}

/** Serves in this process, and creates the demo with the server's own engines. */
async function startOne(config: Config, demo?: boolean): Promise<Started> {
  const { startServer } = await import("../server.js");
  const made: Omit<Started, "server"> = {};
  const server = await startServer(config, undefined, async (store) => {
    if (demo) made.world = await ensureDemo(store, config.calls.livekit !== undefined);
    return (made.setup = await setupFor(config, made.world));
  });
  return { server, ...made };
}

/** Serves in worker processes. The database must exist before the workers open it concurrently. */
async function startSeveral(config: Config, demo?: boolean): Promise<Started> {
  const { world, worlds } = await withEngines(
    config,
    { create: true, upgrade: true },
    async (store) => ({
      world: demo ? await ensureDemo(store, config.calls.livekit !== undefined) : undefined,
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

/** Whether a server runs in a single process. */
const isWhole = (server: object): server is Server => "app" in server;

/**
 * Starts the demo's simulated people if the server runs in a single process with the embedded
 * database. Otherwise, each process would start its own simulated people.
 */
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

/**
 * Returns the demo's links, and instructions for trying the demo.
 * @param host the host's link; undefined if the server has no pages for people.
 */
async function tourOf(world: World, address: string, host: string | undefined) {
  const { id } = world;
  const token = await signToken(world);
  const links = host !== undefined && {
    event: linkTo("event", { address, world: id }),
    console: host,
  };
  const lines = [
    "",
    `The demo world "${id}" is ready.`,
    "",
    "A token, valid for 30 days:",
    "",
    `  ${token}`,
    "",
    "Paste this into another shell to see its rooms:",
    "",
    `  curl -H "Authorization: Bearer ${token}" ${address}/api/v1/worlds/${id}/rooms/`,
    ...(links
      ? [
          "",
          "To host it, open its console in a browser:",
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

/** Returns a warning if other users of this machine can access the data folder. */
function openFolder({ dataDir, engines }: Config): string[] {
  if (engines.database && engines.bucket) return [];
  const stats = statSync(dataDir, { throwIfNoEntry: false });
  // Windows does not have Unix permission bits.
  if (!stats?.isDirectory() || process.platform === "win32") return [];
  const { mode } = stats;
  if ((mode & 0o077) === 0) return [];
  const octal = (mode & 0o777).toString(8).padStart(4, "0");
  return [
    `DATA_DIR: ${dataDir} has mode ${octal}, so other users of this machine can access the data; restrict it with chmod 700`,
  ];
}

/** Resolves on the first SIGTERM or SIGINT. A second signal kills the process. */
function stopSignal(): Promise<void> {
  return new Promise((resolve) => {
    for (const signal of ["SIGTERM", "SIGINT"] as const) {
      process.once(signal, () => resolve());
    }
  });
}
