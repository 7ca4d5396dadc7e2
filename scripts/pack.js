import { execFileSync } from "node:child_process";
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, join, resolve } from "node:path";
import process from "node:process";
import { extract } from "tar";

// `npm run pack [-- <folder>]` makes the tarballs of both packages. The server's has the
// versions that were tested: npm-shrinkwrap.json names them, and as npm reads that file of
// packages from a registry only, all but a few packages are in the tarball themselves.

/**
 * The packages that npm fetches, in the tested versions. The first two differ by platform. A program shares
 * TypeBox with the server, whose kinds of schemas are registered there.
 */
const FETCHED = ["better-sqlite3", "sharp", "@sinclair/typebox"];

const target = resolve(process.argv[2] ?? ".");
const scratch = mkdtempSync(join(tmpdir(), "foyer-pack-"));
try {
  pack(".", target, "-w", "foyer-client");
  pack(".", scratch);
  const [tarball] = readdirSync(scratch);
  const folder = join(scratch, "package");
  await extract({ file: join(scratch, tarball), cwd: scratch });
  const lock = readJson("package-lock.json");
  const shipped = Object.fromEntries(
    Object.entries(lock.packages).filter(
      ([path, { dev, link }]) =>
        path.startsWith("node_modules/") && !dev && !link,
    ),
  );
  const root = manifestOf(readJson(join(folder, "package.json")));
  writeJson(join(folder, "package.json"), root);
  for (const path of Object.keys(shipped)) bundle(folder, path, shipped);
  const { name, version, license, bin, engines } = root;
  const { dependencies, peerDependencies, peerDependenciesMeta } = root;
  const peers = { peerDependencies, peerDependenciesMeta };
  writeJson(join(folder, "npm-shrinkwrap.json"), {
    ...lock,
    packages: {
      "": { name, version, license, dependencies, ...peers, bin, engines },
      ...shipped,
    },
  });
  pack(folder, target);
  process.stdout.write(`${basename(tarball)}\n`);
} finally {
  rmSync(scratch, { recursive: true });
}

function pack(folder, destination, ...options) {
  const args = ["pack", "--silent", "--pack-destination", destination];
  execFileSync("npm", [...args, ...options], {
    cwd: folder,
    stdio: ["ignore", "ignore", "inherit"],
  });
}

/** The manifest of the package: without fields that only a checkout needs. */
function manifestOf(manifest) {
  for (const key of [
    ...["devDependencies", "scripts", "overrides", "workspaces", "files"],
    ...["prettier", "tap", "allowScripts"],
  ]) {
    delete manifest[key];
  }
  const names = Object.keys(manifest.dependencies);
  manifest.bundleDependencies = names.filter((name) => !FETCHED.includes(name));
  return manifest;
}

/**
 * Copies an installed package. Where an override gave it another version of a dependency than it
 * asks for, its manifest names that one, or npm would replace it.
 */
function bundle(folder, path, shipped) {
  const name = path.slice(path.lastIndexOf("node_modules/") + 13);
  if (FETCHED.includes(name) || name.startsWith("@img/")) return;
  // Those for other platforms are not installed.
  if (!existsSync(path)) return;
  const copy = join(folder, path);
  mkdirSync(copy, { recursive: true });
  cpSync(path, copy, {
    recursive: true,
    filter: (from) => !from.startsWith(join(path, "node_modules")),
  });
  const manifest = readJson(join(path, "package.json"));
  const { overrides } = readJson("package.json");
  const changed = Object.keys(manifest.dependencies ?? {}).filter(
    (dependency) => typeof overrides[dependency] === "string",
  );
  if (changed.length === 0) return;
  for (const dependency of changed) {
    manifest.dependencies[dependency] = overrides[dependency];
    shipped[path].dependencies[dependency] = overrides[dependency];
  }
  writeJson(join(copy, "package.json"), manifest);
}

function readJson(path) {
  return JSON.parse(readFileSync(path, "utf8"));
}

function writeJson(path, value) {
  writeFileSync(path, `${JSON.stringify(value, null, 2)}\n`);
}
