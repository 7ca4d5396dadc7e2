import { readFileSync } from "node:fs";
import process from "node:process";
import { pathToFileURL } from "node:url";

// The packages that are installed along with the bundles, and the manifests that list them.

const checkout = JSON.parse(readFileSync("package.json", "utf8"));

/** Packages with platform-specific parts. */
const NATIVE = ["better-sqlite3", "sharp"];

/** Packages that a program shares with the library, so that both use the same types and classes. */
const SHARED = ["@sinclair/typebox", "fastify"];

/** Packages that no bundle contains. A server loads an optional one only if an environment variable asks for it. */
export const OUTSIDE = [...NATIVE, ...Object.keys(checkout.peerDependencies)];

/** Packages that the library's bundle does not contain either. */
export const OUTSIDE_LIBRARY = [...OUTSIDE, ...SHARED];

/** Returns the manifest of the package, without bundled packages and without fields that only a checkout needs. */
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

/** Returns the manifest next to the command, whose modules are CommonJS. */
export function manifestOfCommand() {
  const { name, version } = checkout;
  return { name, version, type: "commonjs" };
}

/** Returns the manifest of an image: all packages of the command, including optional ones. */
function manifestOfImage() {
  const { name, version, license, type } = checkout;
  const dependencies = versionsOf(OUTSIDE);
  return { name, version, license, type, dependencies };
}

/** Returns the tested versions of packages. */
function versionsOf(names) {
  const versions = { ...checkout.devDependencies, ...checkout.dependencies };
  return Object.fromEntries(names.sort().map((name) => [name, versions[name]]));
}

// The Dockerfile runs this script.
if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  process.stdout.write(`${JSON.stringify(manifestOfImage(), null, 2)}\n`);
}
