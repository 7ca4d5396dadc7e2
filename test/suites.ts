import { readdirSync } from "node:fs";
import { join } from "node:path";

/** Tests that one command runs, `npm run test:<name>`. */
export interface Suite {
  /** Files below `dist/test`; a folder stands for the tests in it and below. */
  readonly files: readonly string[];
  /** How many files run at a time; by default as many as `package.json` says. */
  readonly jobs?: number;
  /** Whether tests that start the command start its bundle, which is what ships. */
  readonly bundle?: boolean;
}

// A file that runs a folder in one process is named `all.js`.
export const suites: Readonly<Record<string, Suite>> = {
  more: {
    files: ["db", "live", "plugins", "routes", "cli", "client"].map(
      (folder) => `${folder}/all.js`,
    ),
    bundle: true,
  },
  protocol: { files: ["chat/all.js", "votes/all.js", "harness/all.js"] },
  system: {
    files: ["system", "program/all.js", "integrate/all.js"],
    bundle: true,
  },
  engines: { files: ["engines"] },
  nodes: { files: ["nodes"], jobs: 2 },
  // A browser takes a core; a third file would only slow down the first two.
  web: { files: ["browser"], jobs: 2 },
};

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
    ...["abandoned", "address", "auth/identity", "auth/issuers", "auth-keys"],
    ...["body-arrived", "cors", "docs", "draining", "metrics"],
    ...["outbound/outbound", "pipelining", "pressure", "protocol"],
    ...["retention", "upload/images", "uploaders", "versions", "web"],
    "web-stream",
  ),
  routes: tests(
    ...["activity", "authors", "media", "media-parts", "schedule-import"],
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
    "browser/trial",
  ]),
};

function leave(reason: string, names: string[]): Record<string, string> {
  return Object.fromEntries(
    names.map((name) => [`${name}.test.js`, reason] as const),
  );
}

/**
 * The files of some suites. tap starts them in the order of the alphabet.
 * @param folder where the compiled tests are.
 * @param names beginnings of the files that are wanted; by default all of the suite, or
 *   those of a landing.
 */
export function filesOf(
  suites: readonly Suite[],
  folder: string,
  names: readonly string[] = [],
): string[] {
  return suites
    .flatMap(({ files }) => files)
    .flatMap((name) => {
      if (name.endsWith(".js")) return [name];
      const below = readdirSync(join(folder, name), { recursive: true });
      return (below as string[])
        .filter((file) => file.endsWith(".test.js"))
        .map((file) => join(name, file).replaceAll("\\", "/"))
        .sort();
    })
    .filter((file) =>
      names.length > 0
        ? names.some((name) => file.split("/").at(-1)!.startsWith(name))
        : !SHORT || !(file in nightly),
    );
}
