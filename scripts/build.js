import { spawn, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import {
  appendFileSync,
  existsSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { join, sep } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { brotliCompressSync, gzipSync } from "node:zlib";

// `npm run build` compiles the files of tsconfig.json into dist/, and builds the other parts that
// are served and packed, unless everything is up to date. The compiler takes seconds to find that
// out; this script takes a fraction of one. It is not TypeScript because it runs before the
// compiler. The project is the current folder. With an argument, it builds a single lane of parts:
// `documents` builds what checks of the sources need.

const OUT = "dist";
/** The compiler's build info, with which it recompiles only changed files. */
const MEMORY = join(OUT, ".tsbuildinfo");
/** The fingerprint of the last successful build. */
const STAMP = join(OUT, ".built");
/** Sources that the pages and the client share. */
const SHARED = ["client", "schemas"];

/** The declared and the installed packages, with their types. */
const LOCK = ["package.json", "package-lock.json", "node_modules/.package-lock.json"];

let sources = findSources();

/**
 * The parts in addition to the compiler's output, in build order.
 * - `lane`: the parts of a lane are built sequentially, and each lane has its own process.
 *   `documents` runs before the compiler, `sources` runs in parallel with it, and the others
 *   follow.
 * - `source`: the part is built only if this file exists. A server image lacks some of them.
 * - `out`: the folder that it fills.
 * - `generated`: a source file that it writes.
 * - `inputs`: all files that it depends on, in addition to the installed packages.
 */
const parts = [
  {
    name: "documents",
    lane: "documents",
    source: "scripts/documents.ts",
    out: join(OUT, "documents"),
    generated: "client/api.ts",
    inputs: () => [
      script("bundle.js"),
      ...sources.filter((path) => !/^(bench|cli|client|conformance|test|web)\//.test(path)),
    ],
    async make(out) {
      const folder = join(OUT, "generator");
      await (await import("./bundle.js")).bundleGenerator(folder);
      run(process.execPath, join(folder, "documents.js"), out, this.generated);
      rmSync(folder, { recursive: true });
      compress(out);
    },
  },
  {
    name: "client",
    lane: "client",
    source: "packages/client/README.md",
    out: "packages/client/dist",
    inputs: () => [script("client.js"), ...SHARED.flatMap(filesBelow)],
    make: () => import("./client.js"),
  },
  {
    name: "command",
    lane: "bundles",
    source: "cli",
    out: join(OUT, "bundle"),
    inputs: inputsOfBundles,
    make: async () => (await import("./bundle.js")).bundleCommand(),
  },
  {
    name: "library",
    lane: "bundles",
    source: "app.ts",
    out: join(OUT, "library"),
    inputs: inputsOfBundles,
    make: async () => (await import("./bundle.js")).bundleLibrary(),
  },
  {
    name: "pages",
    lane: "sources",
    source: "web",
    out: join(OUT, "pages"),
    inputs: () => ["web", ...SHARED].flatMap(filesBelow),
    async make() {
      const { build } = await import("vite");
      await build({ configFile: "web/vite.config.ts", logLevel: "warn" });
      // The bundler lists the licenses of scripts only.
      const font = "node_modules/@fontsource-variable/inter/LICENSE";
      appendFileSync(
        join(OUT, "pages/web/licenses.md"),
        `\n## Inter - OFL-1.1\n\n${readFileSync(font, "utf8")}`,
      );
      compress(join(OUT, "pages/web"));
    },
  },
  {
    name: "manual",
    lane: "sources",
    source: "docs",
    out: join(OUT, "manual"),
    inputs: () => [
      script("guides.js"),
      script("api-page.js"),
      ...filesBelow("docs").filter((path) => /\.(md|svg|png)$/.test(path)),
      "docs/grafana-dashboard.json",
      "CHANGELOG.md",
      "SECURITY.md",
    ],
    async make(out) {
      const { buildGuides } = await import("./guides.js");
      const { buildApiPage } = await import("./api-page.js");
      rmSync(out, { recursive: true, force: true });
      await buildGuides(out);
      buildApiPage(out);
      compress(out);
    },
  },
];

const made = parts.map(({ out }) => out + sep);

const [, , lane] = process.argv;
if (lane === undefined) await bringAll();
else for (const part of staleIn(lane)) await bring(part);

/** Compiles, and builds all parts that are not up to date. */
async function bringAll() {
  if (read(STAMP) === undefined) {
    // Written to stderr, because stdout may carry the result of a command.
    process.stderr.write(
      "Building Foyer (the server and its bundles, the pages, the manual and the API documents), which takes about a minute.\n",
    );
  }
  const before = filesBelow(OUT);
  const lanes = [start("sources")];
  await start("documents");
  if (!process.exitCode) {
    sources = findSources();
    await compile(before);
  }
  if (!process.exitCode) lanes.push(start("client"), start("bundles"));
  await Promise.all(lanes);
}

/** Builds the stale parts of a lane in a child process, if there are any. If one fails, so does the build. */
async function start(lane) {
  if (staleIn(lane).length === 0) return;
  const args = [script("build.js"), lane];
  const child = spawn(process.execPath, args, { stdio: "inherit" });
  const [status] = await once(child, "close");
  if (status !== 0) process.exitCode = status ?? 1;
}

/** Returns the parts of a lane that do not exist, or whose inputs have changed. */
function staleIn(lane) {
  return parts.filter(
    (part) =>
      part.lane === lane && existsSync(part.source) && read(stampOf(part)) !== fingerprintOf(part),
  );
}

/** Builds a part and stamps it. */
async function bring(part) {
  const stamp = stampOf(part);
  rmSync(stamp, { force: true });
  const inputs = hashOfInputs(part);
  await part.make(part.out);
  // Uses the hash from before: if a source has changed during the build, the next build rebuilds
  // the part.
  if (!process.exitCode) writeFileSync(stamp, fingerprintOf(part, inputs));
}

function stampOf({ name }) {
  return join(OUT, `.built-${name}`);
}

/** Returns a fingerprint of a part: a hash of its inputs and of its files. */
function fingerprintOf(part, inputs = hashOfInputs(part)) {
  const files = filesBelow(part.out).sort();
  return `${inputs} ${hashOf(part.generated ? [...files, part.generated] : files)}\n`;
}

function hashOfInputs({ inputs }) {
  return hashOf([script("build.js"), ...LOCK, ...inputs().sort()]);
}

function inputsOfBundles() {
  return [
    script("bundle.js"),
    script("manifest.js"),
    ...sources.filter((path) => !/^(test|bench|scripts|web)\//.test(path)),
  ];
}

/** Returns the path of a script in this folder. */
function script(name) {
  return fileURLToPath(import.meta.resolve(`./${name}`));
}

/** Runs a program. If it fails, the build fails. */
function run(program, ...args) {
  const { status } = spawnSync(program, args, { stdio: "inherit" });
  if (status !== 0) process.exitCode = status ?? 1;
}

/**
 * Brings the compiler's output up to date.
 * @param files all files in the output folder, recursively.
 */
async function compile(files) {
  const expected = new Set(sources.flatMap(outputsOf));
  const before = files.filter(
    (path) => isOutput(path) && !made.some((folder) => path.startsWith(folder)),
  );
  const extra = before.filter((path) => !expected.has(path));
  const isWhole = before.length - extra.length === expected.size;
  if (extra.length === 0 && isWhole && read(STAMP) === fingerprint()) return;
  rmSync(STAMP, { force: true });
  // Otherwise, the output of a renamed test would still run.
  for (const path of extra) rmSync(path);
  // The compiler assumes that its previous output still exists.
  if (!isWhole) rmSync(MEMORY, { force: true });
  const inputs = inputsOf();
  run(await compiler());
  if (process.exitCode) return;
  // Uses the hash from before: if a source has changed during the build, the next build recompiles.
  writeFileSync(STAMP, fingerprint(inputs));
}

/**
 * Returns the path of the compiler's executable, since its npm command would start it from another
 * Node.js process.
 */
async function compiler() {
  try {
    const manifest = import.meta.resolve("typescript-native/package.json");
    const { default: getExePath } = await import(new URL("lib/getExePath.js", manifest));
    return getExePath();
  } catch {
    process.stderr.write("TypeScript is not installed: run npm ci\n");
    process.exit(1);
  }
}

/** Returns a fingerprint of the build: a hash of its inputs and of the compiler's build info. */
function fingerprint(inputs = inputsOf()) {
  return `${inputs} ${hashOf([MEMORY])}\n`;
}

/** Returns a hash of everything that the output depends on. */
function inputsOf() {
  return hashOf([script("build.js"), "tsconfig.json", ...LOCK, ...sources]);
}

function hashOf(paths) {
  const hash = createHash("sha256");
  for (const path of paths) {
    const text = read(path);
    hash.update(`${path} ${text?.length}\n`).update(text ?? "");
  }
  return hash.digest("hex");
}

/** Returns the files that tsconfig.json includes: all files in a folder, or its `*.ts`. */
function findSources() {
  const { include } = JSON.parse(readFileSync("tsconfig.json", "utf8"));
  return include.flatMap((pattern) => {
    const [, folder, isFlat] = /^([\w./-]*?)(\/?\*\.ts)?$/.exec(pattern) ?? [];
    if (folder === undefined) throw new Error(`Cannot read ${pattern}`);
    const files = isFlat
      ? readdirSync(folder || ".").map((name) => join(folder, name))
      : filesBelow(folder);
    return files.filter((path) => /\.c?ts$/.test(path)).sort();
  });
}

function outputsOf(source) {
  if (source.endsWith(".d.ts")) return [];
  const [, name, c] = /^(.*)\.(c?)ts$/.exec(source);
  const path = join(OUT, name);
  return [`${path}.${c}js`, `${path}.${c}js.map`, `${path}.d.${c}ts`];
}

/** Whether the compiler writes files with such an extension. */
function isOutput(path) {
  return /\.(c?js|c?js\.map|d\.c?ts)$/.test(path);
}

/** Returns all files in a folder, recursively; none if the folder does not exist. */
function filesBelow(folder) {
  let entries;
  try {
    entries = readdirSync(folder, { recursive: true, withFileTypes: true });
  } catch (error) {
    if (error.code === "ENOENT") return [];
    throw error;
  }
  return entries
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name));
}

/** Returns the text of a file; undefined if it does not exist. */
function read(path) {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    if (error.code === "ENOENT") return undefined;
    throw error;
  }
}

/** Writes Brotli and gzip versions of files, so that the server does not have to compress them. */
function compress(folder) {
  for (const name of readdirSync(folder, { recursive: true })) {
    if (!/\.(js|css|svg|json|html)$/.test(name)) continue;
    const path = join(folder, name);
    const bytes = readFileSync(path);
    writeFileSync(`${path}.br`, brotliCompressSync(bytes));
    writeFileSync(`${path}.gz`, gzipSync(bytes, { level: 9 }));
  }
}
