import cluster from "node:cluster";
import {
  type Config,
  loadConfig,
  type Variable,
  variables,
} from "../config.js";
import type { Store } from "../db/store.js";
import type { World } from "../schemas/worlds.js";
import { draftWorld, signToken } from "../worlds.js";
import { command, withStore } from "./command.js";
import { context } from "./context.js";
import { printLines } from "./output.js";

const DEMO = "sample";

/** For how many milliseconds it waits at the end for who reads its log. */
const LAST_WORDS = 1000;

/** On an empty server, the demo world; on any other, what it already has. */
async function demoWorld(store: Store): Promise<World | undefined> {
  const [any] = await store.worlds.list({ limit: 1 });
  if (any) return (await store.worlds.get(DEMO))?.value;
  const { value } = await store.worlds.create(
    draftWorld(DEMO, "Sample event", "localhost"),
  );
  await store.rooms.create(DEMO, {
    name: "Main stage",
    description: "Where the *keynotes* are.",
    module_config: [
      { type: "livestream.native", config: {} },
      { type: "chat.native", config: { volatile: true } },
    ],
    sorting_priority: 1,
  });
  await store.rooms.create(DEMO, {
    name: "Hallway",
    description: "Meet the others.",
    module_config: [{ type: "chat.native", config: { volatile: false } }],
    sorting_priority: 2,
  });
  await store.rooms.create(DEMO, {
    name: "Backstage",
    description: "For speakers and admins.",
    module_config: [{ type: "chat.native", config: { volatile: false } }],
    permission_config: { "room.view": [["speaker", "admin"]] },
    sorting_priority: 3,
  });
  return value;
}

/** The variables as people read them on a terminal. */
const tableOfVariables = Object.entries<Variable>(variables)
  .map(([name, { fallback, means }]) => {
    const defaults = fallback && ` (${fallback})`;
    return `  ${name}${defaults}\n    ${means.replaceAll("`", "")}`;
  })
  .join("\n");

/** `foyer serve` */
export const serveCommand = command(
  "serve",
  "serve the worlds of DATA_DIR at HOST and PORT",
  "serve --demo",
)
  .addHelpText("after", `\nVariables, and their defaults:\n${tableOfVariables}`)
  .option(
    "--demo",
    `on an empty server, make the world "${DEMO}" to try things in`,
  )
  .action(async ({ demo, json }: { demo?: boolean; json?: boolean }) => {
    const config = loadConfig(context().env);
    const several = config.workers > 1;
    if (several && cluster.isWorker) return runWorker(config);
    // Workers that start at once shall find a database that is there.
    const world =
      demo || several
        ? await withStore(
            async (store) => (demo ? demoWorld(store) : undefined),
            { create: true },
          )
        : undefined;
    const server = await (several ? startCluster(config) : startServer(config));
    if (demo || json) {
      const address = config.publicUrl ?? server.address;
      const sample = world && (await tourOf(world, address));
      const { lines = [], ...made } = sample ?? {};
      printLines(
        json
          ? // In one line: the lines around it are the log.
            [JSON.stringify({ address, ...made })]
          : ["", `Foyer serves ${address}`, ...lines, ""],
      );
    }
    await toldToStop();
    await server.stop();
    // Only a reader of the log that stands still can hold it up now.
    setTimeout(() => process.exit(), LAST_WORDS).unref();
  });

async function startServer(config: Config) {
  const server = await import("../server.js");
  return server.startServer(config);
}

async function startCluster(config: Config) {
  const cluster = await import("../cluster.js");
  return cluster.startCluster(config);
}

async function runWorker(config: Config) {
  const cluster = await import("../cluster.js");
  return cluster.runWorker(config, toldToStop());
}

async function tourOf(world: World, address: string) {
  const token = await signToken(world);
  const lines = [
    "",
    `The world "${world.id}" is there to try things in. A token for 30 days:`,
    "",
    `  ${token}`,
    "",
    "Paste this into another shell to see its rooms:",
    "",
    `  curl -H "Authorization: Bearer ${token}" ${address}/api/v1/worlds/${world.id}/rooms/`,
  ];
  return { world: world.id, token, lines };
}

/** The first signal stops in good order; a second one ends the process where it is. */
function toldToStop(): Promise<void> {
  return new Promise((resolve) => {
    for (const signal of ["SIGTERM", "SIGINT"] as const) {
      process.once(signal, () => resolve());
    }
  });
}
