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
import { manifestOfPackage } from "./manifest.js";

// `npm run pack [-- <folder>]` creates the tarballs of both packages. The server's tarball has the
// bundles. npm installs the packages that they do not contain, except Fastify: the tarball includes
// it with its dependencies in the tested versions, because newer ones reject Node.js 20.

const target = resolve(process.argv[2] ?? ".");
const scratch = mkdtempSync(join(tmpdir(), "foyer-pack-"));
try {
  pack(".", target, "-w", "foyer-client");
  pack(".", scratch);
  const [tarball] = readdirSync(scratch);
  await extract({ file: join(scratch, tarball), cwd: scratch });
  const folder = join(scratch, "package");
  const manifest = { ...manifestOfPackage(), bundleDependencies: ["fastify"] };
  writeJson(join(folder, "package.json"), manifest);
  // npm packs the ones that Fastify depends on.
  const { packages } = readJson("package-lock.json");
  for (const [path, { dev, link }] of Object.entries(packages)) {
    const isShipped = path.startsWith("node_modules/") && !dev && !link;
    if (isShipped && !(nameOf(path) in manifest.dependencies)) copy(path);
  }
  copy("node_modules/fastify");
  pack(folder, target);
  process.stdout.write(`${basename(tarball)}\n`);

  /**
   * Copies an installed package. If an override changed the version of a dependency, the copied
   * manifest names that version, or npm would replace it.
   */
  function copy(path) {
    // Packages for other platforms are not installed.
    if (!existsSync(path)) return;
    const to = join(folder, path);
    mkdirSync(to, { recursive: true });
    cpSync(path, to, {
      recursive: true,
      filter: (from) => !from.startsWith(join(path, "node_modules")),
    });
    const own = readJson(join(path, "package.json"));
    const { overrides } = readJson("package.json");
    const changed = Object.keys(own.dependencies ?? {}).filter(
      (name) => typeof overrides[name] === "string",
    );
    if (changed.length === 0) return;
    for (const name of changed) own.dependencies[name] = overrides[name];
    writeJson(join(to, "package.json"), own);
  }
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

/** Returns the name of the package at a path of the lock file. */
function nameOf(path) {
  return path.slice(path.lastIndexOf("node_modules/") + 13);
}

function readJson(path) {
  return JSON.parse(readFileSync(path, "utf8"));
}

function writeJson(path, value) {
  writeFileSync(path, `${JSON.stringify(value, null, 2)}\n`);
}
