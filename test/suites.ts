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
 * Whether only what a landing runs is run; the rest is for the night. Tests with rounds,
 * crowds or waits make them smaller, too.
 */
export const SHORT = process.env.SHORT === "1";

/** Files that a landing leaves to the night, and why. */
export const nightly: Readonly<Record<string, string>> = {};

/**
 * The files of a suite, in the order in which they start.
 * @param folder where the compiled tests are.
 * @param names beginnings of the files that are wanted; by default all of the suite, or
 *   those of a landing.
 */
export function filesOf(
  { files }: Suite,
  folder: string,
  names: readonly string[] = [],
): string[] {
  return files
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
