import { readFileSync } from "node:fs";
import process from "node:process";
import { pathToFileURL } from "node:url";

// What is installed with the bundles, and the manifests that say so.

const checkout = JSON.parse(readFileSync("package.json", "utf8"));

/** Packages with parts that differ by platform. */
const NATIVE = ["better-sqlite3", "sharp"];

/** Packages that a program shares with the library, whose types and classes are those of it. */
const SHARED = ["@sinclair/typebox", "fastify"];

/** What no bundle contains; a server loads the optional ones if it is told to. */
export const OUTSIDE = [...NATIVE, ...Object.keys(checkout.peerDependencies)];

/** What the bundle of the library does not contain, either. */
export const OUTSIDE_LIBRARY = [...OUTSIDE, ...SHARED];

/** The manifest of the package: without what the bundles contain, and fields of a checkout. */
export function manifestOfPackage() {
  const manifest = { ...checkout };
  for (const key of [
    ...["devDependencies", "scripts", "overrides", "workspaces", "files"],
    ...["prettier", "tap", "allowScripts"],
  ]) {
    delete manifest[key];
  }
  manifest.dependencies = versionsOf([...NATIVE, ...SHARED]);
  return manifest;
}

/** The manifest of an image: what the command uses, whatever it is told. */
function manifestOfImage() {
  const { name, version, license, type } = checkout;
  const dependencies = versionsOf(OUTSIDE);
  // The bundle finds the version by the name of the package.
  const exports = { "./package.json": "./package.json" };
  return { name, version, license, type, exports, dependencies };
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
