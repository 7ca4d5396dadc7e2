import { Argument, type Command, InvalidArgumentError, Option } from "commander";
import type { RemoteServer, Outcome, rowsNamed, Target } from "../conformance/borrowed-server.js";
import type { Access } from "../conformance/server.js";
import { Failure } from "../schemas/plain/failure.js";
import { worldId } from "../schemas/plain/texts.js";
import { checked, command } from "./command.js";
import {
  context,
  counted,
  type JsonOption,
  type OutputLine,
  print,
  printLines,
  warn,
} from "./output.js";

interface ConformanceOptions extends JsonOption {
  world?: string;
  issuer?: string;
  audience?: string;
  foreignWorld?: string;
  only?: string[];
}

/** The issuer of keys that `foyer world create` generates. The audience of such a key is the world's id. */
const ISSUER = "foyer";

/** Parses a server URL. The URL must not contain credentials, a query or a fragment. */
function addressOf(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url || !/^https?:$/.test(url.protocol) || url.search || url.hash) {
    throw new InvalidArgumentError("It must begin with http:// or https://.");
  }
  if (url.username || url.password) {
    throw new InvalidArgumentError("It must not contain a password.");
  }
  return url.href.replace(/\/$/, "");
}

/** `foyer conformance …` */
export const conformanceCommand = command(
  "conformance",
  "test from outside whether a server speaks the websocket protocol",
  "conformance http://127.0.0.1:8375 --world conformance --only poll",
)
  .addArgument(
    new Argument("<url...>", "the URL of the server, or of each of its nodes").argParser(
      (text, urls: string[] = []) => [...urls, addressOf(text)],
    ),
  )
  .addOption(
    new Option(
      "--world <id>",
      "the world to run in, without rooms; or CONFORMANCE_WORLD",
    ).argParser(checked(worldId)),
  )
  .option("--issuer <issuer>", `the issuer of its key, or CONFORMANCE_ISSUER; ${ISSUER} by default`)
  .option(
    "--audience <audience>",
    "the audience of its key, or CONFORMANCE_AUDIENCE; the id of the world by default",
  )
  .addOption(
    new Option(
      "--foreign-world <id>",
      "another world on the server, to test the isolation between worlds; or CONFORMANCE_FOREIGN_WORLD",
    ).argParser(checked(worldId)),
  )
  .addOption(
    new Option(
      "--only <command>",
      "run only rows whose names begin with this; may be repeated",
    ).argParser((text, all: string[] = []) => [...all, text]),
  )
  .addHelpText(
    "after",
    `
Pass the secrets of the keys in variables, because other users can read command lines:
  CONFORMANCE_SECRET            of the key of --world
  CONFORMANCE_FOREIGN_SECRET    of the key of --foreign-world, with
  CONFORMANCE_FOREIGN_ISSUER    and
  CONFORMANCE_FOREIGN_AUDIENCE  unless they are ${ISSUER} and the id of that world

The run creates rooms, users and messages in the world, deletes them after each row,
and restores the world's title, config and rules at the end. Announcements stay,
archived. Use a world made for this.`,
  )
  .action(async (urls: string[], options: ConformanceOptions, self: Command) => {
    const target = targetOf(urls, options, self);
    const { RemoteServer, rowsNamed } = await import("../conformance/borrowed-server.js");
    const { only, json } = options;
    const chosen = rowsNamed(only);
    const unknown = only?.find((name) => rowsNamed([name]).length === 0);
    if (unknown !== undefined) self.error(`no row begins with '${unknown}'`);
    const server = new RemoteServer(target);
    await server.openWorlds();
    announce(target, chosen.length);
    const began = Date.now();
    const { outcomes, fault } = await runAll(server, chosen, (outcome) => {
      if (!json) printLines(linesOf(outcome));
    });
    const counts = countsOf(outcomes);
    const { connections, requests } = server;
    const milliseconds = Date.now() - began;
    const { passed, failed, skipped } = counts;
    print(
      json,
      {
        urls,
        world: target.access.world,
        foreignWorld: target.foreign?.world ?? null,
        ...counts,
        connections,
        requests,
        milliseconds,
        rows: outcomes,
      },
      [
        `${passed} passed, ${failed} failed, ${skipped} skipped; ${connections} connections and ${requests} requests in ${Math.round(milliseconds / 1000)} s.`,
      ],
    );
    if (fault) throw fault;
    if (outcomes.length < chosen.length) {
      throw new Failure(`Stopped after ${outcomes.length} rows.`);
    }
    if (failed > 0) {
      throw new Failure(`${failed} of ${chosen.length} rows failed`);
    }
  });

/** Returns the server and the keys that the options and environment variables select. */
function targetOf(urls: string[], options: ConformanceOptions, self: Command): Target {
  const { env } = context();
  const world = options.world ?? env.CONFORMANCE_WORLD;
  if (!world) self.error("name a world with --world or CONFORMANCE_WORLD");
  const access = accessOf(self, "CONFORMANCE_", world, options);
  const other = options.foreignWorld ?? env.CONFORMANCE_FOREIGN_WORLD;
  const foreign = other && accessOf(self, "CONFORMANCE_FOREIGN_", other);
  return { urls: urls as [string, ...string[]], access, ...(foreign && { foreign }) };
}

/**
 * Returns a world's id and key.
 * @param prefix the prefix of the environment variables that describe the key.
 */
function accessOf(
  self: Command,
  prefix: string,
  world: string,
  { issuer, audience }: { issuer?: string; audience?: string } = {},
): Access {
  const { env } = context();
  const secret = env[`${prefix}SECRET`];
  if (!secret) {
    self.error(`set ${prefix}SECRET to the secret of a key of the world ${world}`);
  }
  return {
    world,
    key: {
      issuer: issuer ?? (env[`${prefix}ISSUER`] || ISSUER),
      audience: audience ?? (env[`${prefix}AUDIENCE`] || world),
      secret,
    },
  };
}

/** Warns about the changes that the run will make. */
function announce({ urls, access, foreign }: Target, rows: number): void {
  const { world } = access;
  const what = counted("rows", rows);
  warn(`running ${what} in the world ${world} on ${urls[0]}, about two seconds each`);
  warn(
    `the run creates rooms, users, messages, questions and polls with "conformance" in their names, and deletes them; its announcements stay, archived`,
  );
  warn(
    `during the run, ${world} has another title, the config and rules of a new world, and an additional key; the run restores them at the end`,
  );
  if (!foreign) {
    warn("without --foreign-world, the isolation between worlds is not tested");
  }
}

/**
 * Runs the rows sequentially until every row has run or the operator stops the run, and then cleans
 * up.
 * @param report receives the outcome of each row.
 * @returns the outcomes, and an error if the run could not continue or the world was not restored.
 */
async function runAll(
  server: RemoteServer,
  chosen: ReturnType<typeof rowsNamed>,
  report: (outcome: Outcome) => void,
): Promise<{ outcomes: Outcome[]; fault?: Error | undefined }> {
  const outcomes: Outcome[] = [];
  let stopped = false;
  const stop = () => {
    stopped = true;
    warn("stopping after this row");
  };
  // A second signal kills the process.
  for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, stop);
  let fault: Error | undefined;
  try {
    await server.start();
    for (const [name, row] of chosen) {
      if (stopped) break;
      const outcome = await server.run(name, row);
      outcomes.push(outcome);
      report(outcome);
    }
  } catch (error) {
    fault = error as Error;
  }
  // The first error is the most informative.
  await server.close().catch((error: Error) => void (fault ??= error));
  for (const signal of ["SIGINT", "SIGTERM"]) process.off(signal, stop);
  return { outcomes, fault };
}

const linesOf = ({ name, status, faults = [], reason }: Outcome): OutputLine[] => [
  `${status}  ${name}${reason === undefined ? "" : `: ${reason}`}`,
  ...faults.map((fault) => `        ${fault}`),
];

function countsOf(outcomes: readonly Outcome[]) {
  const count = (status: Outcome["status"]) =>
    outcomes.filter((outcome) => outcome.status === status).length;
  return { passed: count("passed"), failed: count("failed"), skipped: count("skipped") };
}
