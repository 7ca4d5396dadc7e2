import { readFileSync } from "node:fs";
import process from "node:process";
import { pathToFileURL } from "node:url";

// The packages that are installed with the bundles, and the manifests that list them.

const checkout = JSON.parse(readFileSync("package.json", "utf8"));

/** Packages with parts that differ by platform. */
const NATIVE = ["better-sqlite3", "sharp"];

/** Packages that a program shares with the library, so that both have the same types and classes. */
const SHARED = ["@sinclair/typebox", "fastify"];

/** The packages outside every bundle; a variable makes a server load the optional ones. */
export const OUTSIDE = [...NATIVE, ...Object.keys(checkout.peerDependencies)];

/** The packages outside the bundle of the library, too. */
export const OUTSIDE_LIBRARY = [...OUTSIDE, ...SHARED];

/** The manifest of the package, without bundled packages and fields of a checkout. */
export function manifestOfPackage() {
  const manifest = { ...checkout };
  for (const key of [
    "devDependencies",
    "scripts",
    "overrides",
    "workspaces",
    "files",
    "prettier",
    "tap",
    "allowScripts",
  ]) {
    delete manifest[key];
  }
  manifest.dependencies = versionsOf([...NATIVE, ...SHARED]);
  return manifest;
}

/** The manifest beside the command, whose modules are CommonJS. */
export function manifestOfCommand() {
  const { name, version } = checkout;
  return { name, version, type: "commonjs" };
}

/** The manifest of an image: all packages of the command, optional ones included. */
function manifestOfImage() {
  const { name, version, license, type } = checkout;
  const dependencies = versionsOf(OUTSIDE);
  return { name, version, license, type, dependencies };
}

/** The versions that were tested. */
function versionsOf(names) {
  const versions = { ...checkout.devDependencies, ...checkout.dependencies };
  return Object.fromEntries(names.sort().map((name) => [name, versions[name]]));
}

// The Dockerfile runs it.
if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  process.stdout.write(`${JSON.stringify(manifestOfImage(), null, 2)}\n`);
}
