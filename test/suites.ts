import { readdirSync } from "node:fs";
import { join } from "node:path";

/** Tests that one command runs, `npm test` for `main`, or else `npm run test:<name>`. */
export interface Suite {
  /** Files below `dist/test`; a folder stands for the tests in it and below. */
  readonly files: readonly string[];
  /** How many of its files run at a time, at most. */
  readonly jobs?: number;
  /** Whether its tests use PostgreSQL, Valkey and S3 instead of the embedded engines. */
  readonly shared?: boolean;
}

// A file that runs a folder in one process is named `all.js`.
export const suites: Readonly<Record<string, Suite>> = {
  main: {
    files: readdirSync(import.meta.dirname).filter((name) =>
      name.endsWith(".test.js"),
    ),
  },
  more: {
    files: ["db", "live", "plugins", "routes", "cli", "client"].map(
      (folder) => `${folder}/all.js`,
    ),
  },
  protocol: { files: ["chat/all.js", "votes/all.js", "harness/all.js"] },
  system: { files: ["system", "program/all.js", "integrate/all.js"] },
  engines: { files: ["engines"] },
  shared: { files: sharedFiles(), shared: true },
  // Each file starts several servers, and measures how long what they do takes.
  nodes: { files: ["nodes"], jobs: 2 },
  // A browser takes a core; a third one would only slow down the first two.
  web: { files: ["browser"], jobs: 2 },
};

/**
 * What `test:shared` runs, beside the contract that test:engines holds the engines to: all rows
 * of the protocol on two nodes, files, the feed, and a command. By night, with `ALL=1`, it runs
 * everything that asks a server for something, and the commands.
 */
function sharedFiles(): string[] {
  if (process.env.ALL !== "1") {
    return tests(
      ...["system/conformance", "integrate/feed", "routes/files"],
      ...["routes/media", "routes/uploads", "cli/worlds"],
    );
  }
  const folders = [
    ...["chat", "cli", "client", "harness", "integrate", "live", "plugins"],
    ...["program", "routes", "votes"],
  ];
  return [
    ...tests("access", "cli", "client", "harness", "live", "plugins", "routes"),
    ...tests("server", "system/chat-workers", "system/cluster"),
    ...tests("system/conformance", "system/live-workers"),
    ...folders.map((folder) => `${folder}/all.js`),
  ];
}

/**
 * Files that `npm test` leaves to `npm run test:more`, by folder: they take long, and try what
 * the others use at its limits, under floods, in races, in copies and in the log, or byte by byte.
 */
export const lengthy: Readonly<Record<string, readonly string[]>> = {
  db: tests(
    ...["bus", "deletions", "draft", "dump", "erased-log", "erased-questions"],
    ...["log-events", "resting", "short-hints", "store-traces", "turns"],
    "upgrade",
  ),
  live: tests(
    ...["attendance", "changes", "costs", "deflate", "doubts", "floods"],
    ...["floors", "invites", "limits", "properties", "records", "revocation"],
    ...["sight", "spent", "states", "stored-json", "upgrade", "votes"],
    "web-push",
  ),
  plugins: tests(
    ...["abandoned", "address", "api-documents", "asyncapi", "auth/identity"],
    ...["auth/issuers", "auth-keys", "body-arrived", "cors", "docs"],
    ...["draining", "metrics", "openapi"],
    ...["outbound/outbound", "pipelining", "pressure", "protocol"],
    ...["retention", "upload/images", "uploaders", "versions", "web"],
    "web-stream",
  ),
  routes: tests(
    ...["activity", "authors", "files", "media", "media-parts"],
    "schedule-import",
    ...["upload-access", "upload-bodies", "upload-images", "upload-limits"],
    ...["upload-queue", "upload-refusals"],
  ),
  cli: tests(
    ...["chat", "check", "commands", "connections", "demo", "restore"],
    ...["token", "votes", "world-export-import", "world-files"],
  ),
  client: tests("docs", "lists", "package", "reconnection", "server"),
};

function tests(...names: string[]): string[] {
  return names.map((name) => `${name}.test.js`);
}

/**
 * Whether only what a landing runs is run; the rest is for the night. Tests with rounds,
 * crowds or waits make them smaller, too.
 */
export const SHORT = process.env.SHORT === "1";

/** Files that a landing leaves to the night, and why. */
export const nightly: Readonly<Record<string, string>> = {
  ...leave("each rule has a shorter test in another file of the folder", [
    "chat/large-profiles",
    "chat/shared-limits",
    "chat/storms",
    "live/costs",
    "live/floods",
  ]),
  ...leave("a landing has no time for what is no part of what runs", [
    "system/build",
    "system/compilers",
    "system/docs-page",
    "system/properties",
    "system/testing",
  ]),
  ...leave("SQLite alone; other faults of disk and process are tried", [
    "system/crash/commands",
    "system/faults/damage",
    "system/hostile",
    "system/opening",
    "system/uploads-process",
  ]),
  ...leave("the contracts of the engines and their outages are tried", [
    "engines/media-bucket",
    "engines/moving",
    "engines/s3-answers",
    "engines/valkey-away",
    "engines/valkey-ends",
  ]),
  ...leave("the kills of nodes and engines are tried", [
    "nodes/check",
    "nodes/disk",
    "nodes/moving",
    "nodes/restoring",
    "nodes/sleeping",
  ]),
  ...leave("the main flows of attendees, hosts and organizers are tried", [
    "browser/addresses",
    "browser/budget",
    "browser/chat-past",
    "browser/console-integrations",
    "browser/console-people",
    "browser/console-program",
    "browser/console-results",
    "browser/console-rooms",
    "browser/invites",
    "browser/moderation",
    "browser/program",
    "browser/push",
    "browser/shared",
    "browser/sign-in",
    "browser/sizes",
    "browser/small",
  ]),
};

function leave(reason: string, names: string[]): Record<string, string> {
  return Object.fromEntries(
    names.map((name) => [`${name}.test.js`, reason] as const),
  );
}

/**
 * Files that take long, the longest first, with those of which few run at once among them. They
 * start before the others, so that none of them is left alone at the end.
 */
const slow = [
  ...["plugins.test.js", "live.test.js", "harness.test.js"],
  ...["store.test.js", "routes.test.js", "client.test.js"],
  ...["access.test.js", "simulation.test.js", "web.test.js"],
  ...["cli.test.js", "db.test.js", "server.test.js"],
  ...["integrate/all.js", "engines/postgres.test.js", "harness/all.js"],
  ...["browser/console.test.js", "db/all.js", "live/all.js"],
  ...["system/conformance.test.js", "browser/access.test.js"],
  ...["engines/postgres-outages.test.js", "engines/postgres-values.test.js"],
  ...["nodes/bucket.test.js", "browser/chat.test.js", "plugins/all.js"],
  ...["nodes/kill.test.js", "program/all.js", "browser/votes.test.js"],
  ...["integrate/feed.test.js", "system/conformance-command.test.js"],
  ...["nodes/valkey.test.js", "browser/firefox.test.js", "chat/all.js"],
  ...["cli/all.js", "nodes/postgres.test.js", "browser/xss.test.js"],
  ...["engines/engines.test.js", "routes/all.js", "client/all.js"],
  ...["browser/connection.test.js", "nodes/refusals.test.js"],
  ...["browser/first-run.test.js", "browser/hall.test.js"],
  ...["system/faults/processes.test.js", "system/crash/server.test.js"],
  ...["system/chat-workers.test.js", "engines/s3.test.js"],
];

/** The place of a file in the order in which files start. */
export const rankOf = (file: string): number =>
  slow.includes(file) ? slow.indexOf(file) : slow.length;

/**
 * The files of a suite.
 * @param folder where the compiled tests are.
 * @param names beginnings of the files that are wanted, or paths below `folder`; by default
 *   all of the suite, or those of a landing.
 */
export function filesOf(
  { files }: Suite,
  folder: string,
  names: readonly string[] = [],
): string[] {
  const all = files
    .flatMap((name) => {
      if (name.endsWith(".js")) return [name];
      const below = readdirSync(join(folder, name), { recursive: true });
      return (below as string[])
        .filter((file) => file.endsWith(".test.js"))
        .map((file) => join(name, file).replaceAll("\\", "/"))
        .sort();
    })
    .concat(names.filter((name) => name.endsWith(".js")));
  return [...new Set(all)].filter((file) =>
    names.length > 0
      ? names.some((name) =>
          [file, file.split("/").at(-1)!].some((path) => path.startsWith(name)),
        )
      : !SHORT || !(file in nightly),
  );
}
