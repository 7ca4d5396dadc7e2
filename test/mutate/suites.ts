import { readdirSync } from "node:fs";
import { join } from "node:path";
import type { Area } from "./mutants.js";

/** A group of test files, and the areas for which it is tried by default. */
export interface Suite {
  readonly name: string;
  /** Files below `dist/test`, and folders. */
  readonly files: readonly string[];
  readonly areas: readonly Area[];
}

/** Cheap suites come first. */
export const suites: readonly Suite[] = [
  {
    name: "store",
    files: ["db"],
    areas: ["votes", "log", "sqlite"],
  },
  {
    name: "harness",
    files: ["harness/rows.test.js"],
    areas: ["rights", "chat", "votes", "sqlite", "limits"],
  },
  {
    name: "simulation",
    files: ["simulation"],
    areas: ["chat", "log", "limits"],
  },
  {
    name: "live",
    files: ["live"],
    areas: ["rights", "limits"],
  },
  { name: "chat", files: ["chat"], areas: ["chat"] },
  { name: "votes", files: ["votes"], areas: ["votes"] },
  {
    name: "client",
    files: ["client"],
    areas: ["client"],
  },
  {
    name: "routes",
    files: ["routes", "access.test.js"],
    areas: ["rights", "uploads"],
  },
  {
    name: "plugins",
    files: ["plugins"],
    areas: ["rights", "uploads"],
  },
  { name: "cli", files: ["cli"], areas: ["cli"] },
  {
    name: "postgres",
    files: ["", "-values", "-outages"].map(
      (part) => `engines/postgres${part}.test.js`,
    ),
    areas: ["postgres"],
  },
];

/**
 * The test files of a suite.
 * @param dist the folder with the compiled project.
 * @param only a part of their paths; all by default.
 */
export const filesOf = (
  { files }: Suite,
  dist: string,
  only = "",
): readonly string[] =>
  files
    .flatMap((name) => {
      if (name.endsWith(".js")) return [name];
      const below = readdirSync(join(dist, "test", name), { recursive: true });
      return below.map((file) => join(name, file as string)).sort();
    })
    .filter((file) => file.endsWith(".test.js"))
    .map((file) => join("test", file))
    .filter((file) => file.includes(only));
