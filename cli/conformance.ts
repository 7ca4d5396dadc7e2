import { Argument, type Command, InvalidArgumentError, Option } from "commander";
import type { BorrowedServer, Outcome, rowsNamed, Target } from "../conformance/borrowed-server.js";
import type { Access } from "../conformance/server.js";
import { Failure } from "../schemas/plain/failure.js";
import { worldId } from "../schemas/plain/texts.js";
import { checked, command } from "./command.js";
import { context, counted, type JsonOption, type Line, print, printLines, warn } from "./output.js";

interface ConformanceOptions extends JsonOption {
  world?: string;
  issuer?: string;
  audience?: string;
  foreignWorld?: string;
  only?: string[];
}

/** The issuer of the keys that `foyer world create` makes. Their audience is the id of the world. */
const ISSUER = "foyer";

/** Reads the address of a server. */
function addressOf(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url || !/^https?:$/.test(url.protocol) || url.search || url.hash) {
    throw new InvalidArgumentError("It must begin with http:// or https://.");
  }
  if (url.username || url.password) {
    throw new InvalidArgumentError("It must be free of a password.");
  }
  return url.href.replace(/\/$/, "");
}

/** `foyer conformance …` */
export const conformanceCommand = command(
  "conformance",
  "check a server of the websocket protocol, this one or another, from outside",
  "conformance http://127.0.0.1:8375 --world conformance --only poll",
)
  .addArgument(
    new Argument("<url...>", "the address of the server, or of each of its nodes").argParser(
      (text, urls: string[] = []) => [...urls, addressOf(text)],
    ),
  )
  .addOption(
    new Option(
      "--world <id>",
      "the world to run in, or CONFORMANCE_WORLD; it may have no rooms",
    ).argParser(checked(worldId)),
  )
  .option("--issuer <issuer>", `the issuer of its key, or CONFORMANCE_ISSUER, or else ${ISSUER}`)
  .option(
    "--audience <audience>",
    "the audience of its key, or CONFORMANCE_AUDIENCE, or else the id of the world",
  )
  .addOption(
    new Option(
      "--foreign-world <id>",
      "another world of the server, for a person who may learn nothing; or CONFORMANCE_FOREIGN_WORLD",
    ).argParser(checked(worldId)),
  )
  .addOption(
    new Option(
      "--only <command>",
      "run the rows whose names begin so; may be given more than once",
    ).argParser((text, all: string[] = []) => [...all, text]),
  )
  .addHelpText(
    "after",
    `
The secrets of the keys are variables, because a command line is no secret:
  CONFORMANCE_SECRET            of the key of --world
  CONFORMANCE_FOREIGN_SECRET    of the key of --foreign-world, with
  CONFORMANCE_FOREIGN_ISSUER    and
  CONFORMANCE_FOREIGN_AUDIENCE  if they are not ${ISSUER} and the id of that world

It creates rooms, users and messages in the world, deletes them after each row, and
puts the title, the config and the rules of the world back at the end. Announcements
stay, archived. Take an unused world.`,
  )
  .action(async (urls: string[], options: ConformanceOptions, self: Command) => {
    const target = targetOf(urls, options, self);
    const { BorrowedServer, rowsNamed } = await import("../conformance/borrowed-server.js");
    const { only, json } = options;
    const chosen = rowsNamed(only);
    const unknown = only?.find((name) => rowsNamed([name]).length === 0);
    if (unknown !== undefined) self.error(`no row begins with '${unknown}'`);
    const server = new BorrowedServer(target);
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

/** The server and the keys that options and variables name. */
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
 * The key of a world.
 * @param prefix of the names of its variables.
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

/** Says what the run changes, before it changes anything. */
function announce({ urls, access, foreign }: Target, rows: number): void {
  const { world } = access;
  const what = counted("rows", rows);
  warn(`${what} to run in the world ${world} of ${urls[0]}, about two seconds each`);
  warn(
    `the run creates rooms, users, messages, questions and polls with "conformance" in their names, and deletes them; announcements stay, archived`,
  );
  warn(
    `meanwhile ${world} has another title, the config and rules of a new world, and one key more; at the end it has its own again`,
  );
  if (!foreign) {
    warn("without --foreign-world, what people of other worlds may do is not checked");
  }
}

/**
 * Runs rows one after the other, until all have run or the operator stops it, and cleans up.
 * @param report receives each outcome.
 * @returns also why the run could not continue, or the world is not as it was.
 */
async function runAll(
  server: BorrowedServer,
  chosen: ReturnType<typeof rowsNamed>,
  report: (outcome: Outcome) => void,
): Promise<{ outcomes: Outcome[]; fault?: Error | undefined }> {
  const outcomes: Outcome[] = [];
  let stopped = false;
  const stop = () => {
    stopped = true;
    warn("stopping after this row");
  };
  // A second signal ends the process where it is.
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
  // What went wrong first says more.
  await server.close().catch((error: Error) => void (fault ??= error));
  for (const signal of ["SIGINT", "SIGTERM"]) process.off(signal, stop);
  return { outcomes, fault };
}

const linesOf = ({ name, status, faults = [], reason }: Outcome): Line[] => [
  `${status}  ${name}${reason === undefined ? "" : `: ${reason}`}`,
  ...faults.map((fault) => `        ${fault}`),
];

function countsOf(outcomes: readonly Outcome[]) {
  const count = (status: Outcome["status"]) =>
    outcomes.filter((outcome) => outcome.status === status).length;
  return { passed: count("passed"), failed: count("failed"), skipped: count("skipped") };
}
