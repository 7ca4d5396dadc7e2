import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  existsSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { brotliCompressSync, gzipSync } from "node:zlib";

// `npm run build` compiles what tsconfig.json includes into dist/, and the pages of web/
// into dist/pages/, unless they are up to date. The compiler takes seconds to find that
// out; this script takes a fraction of one. It is not TypeScript, because it runs before
// anything is compiled. The project is the current folder.

const OUT = "dist";
/** The build info of the compiler, which compiles only what has changed since. */
const MEMORY = join(OUT, ".tsbuildinfo");
/** The fingerprint of the last build that succeeded. */
const STAMP = join(OUT, ".built");
/** The pages, which Vite builds. */
const WEB = "web";
const PAGES = join(OUT, "pages");
/** The fingerprint of the pages. */
const WEB_STAMP = join(OUT, ".built-pages");
/** The guides, which scripts/guides.js renders. */
const DOCS = "docs";
const GUIDES = join(OUT, "guides");
const GUIDES_STAMP = join(OUT, ".built-guides");
/** The package of the client, which scripts/client.js makes. */
const CLIENT = "packages/client";
const CLIENT_STAMP = join(OUT, ".built-client");
/** Those of the other sources from which the pages are built. */
const SHARED = ["client", "schemas"];

/** The packages, and those that are installed, with their types. */
const LOCK = [
  "package.json",
  "package-lock.json",
  "node_modules/.package-lock.json",
];

const sources = sourcesOf(JSON.parse(readFileSync("tsconfig.json", "utf8")));
const expected = new Set(sources.flatMap(outputsOf));
const before = filesBelow(OUT).filter(
  (path) =>
    isOutput(path) && !path.startsWith(PAGES) && !path.startsWith(GUIDES),
);
const extra = before.filter((path) => !expected.has(path));
const isWhole = before.length - extra.length === expected.size;

if (read(STAMP) === undefined) {
  // Not on stdout, where the result of a command may follow.
  process.stderr.write("Building Foyer, which takes about a minute.\n");
}
if (extra.length > 0 || !isWhole || read(STAMP) !== fingerprint()) build();
// An image of the server has the manifest and no more, for the sake of `npm ci`.
if (
  !process.exitCode &&
  existsSync(join(CLIENT, "README.md")) &&
  read(CLIENT_STAMP) !== clientFingerprint()
)
  await buildClient();
if (
  !process.exitCode &&
  existsSync(WEB) &&
  read(WEB_STAMP) !== webFingerprint()
)
  await buildPages();
if (
  !process.exitCode &&
  existsSync(DOCS) &&
  existsSync(WEB) &&
  read(GUIDES_STAMP) !== guidesFingerprint()
)
  await buildGuides();

async function buildGuides() {
  rmSync(GUIDES_STAMP, { force: true });
  const guides = await import("./guides.js");
  guides.buildGuides(GUIDES);
  writeFileSync(GUIDES_STAMP, guidesFingerprint());
}

/** A hash of the sources of the guides, and the names of their files. */
function guidesFingerprint() {
  const script = fileURLToPath(import.meta.resolve("./guides.js"));
  const texts = filesBelow(DOCS).filter((path) => /\.(md|svg)$/.test(path));
  const inputs = [script, ...texts.sort(), "CHANGELOG.md", "SECURITY.md"];
  return `${hashOf(inputs)} ${filesBelow(GUIDES).sort().join()}\n`;
}

async function buildClient() {
  rmSync(CLIENT_STAMP, { force: true });
  const inputs = clientInputs();
  await import("./client.js");
  writeFileSync(CLIENT_STAMP, clientFingerprint(inputs));
}

/** Identifies the built package: a hash of its inputs, and the names of its files. */
function clientFingerprint(inputs = clientInputs()) {
  return `${inputs} ${hashOf(filesBelow(join(CLIENT, "dist")).sort())}\n`;
}

function clientInputs() {
  const script = fileURLToPath(import.meta.resolve("./client.js"));
  return hashOf([script, ...LOCK, ...SHARED.flatMap(filesBelow).sort()]);
}

async function buildPages() {
  rmSync(WEB_STAMP, { force: true });
  const inputs = webInputs();
  const { build } = await import("vite");
  await build({ configFile: join(WEB, "vite.config.ts"), logLevel: "warn" });
  for (const path of filesBelow(join(PAGES, "web"))) compress(path);
  writeFileSync(WEB_STAMP, webFingerprint(inputs));
}

/** Writes what browsers get that take Brotli or gzip, so that the server compresses nothing. */
function compress(path) {
  if (!/\.(js|css|svg|json)$/.test(path)) return;
  const bytes = readFileSync(path);
  writeFileSync(`${path}.br`, brotliCompressSync(bytes));
  writeFileSync(`${path}.gz`, gzipSync(bytes, { level: 9 }));
}

/** Identifies built pages: a hash of their inputs, and the names of the files. */
function webFingerprint(inputs = webInputs()) {
  return `${inputs} ${hashOf(filesBelow(PAGES).sort())}\n`;
}

/** A hash of everything that the pages depend on. */
function webInputs() {
  const sources = [WEB, ...SHARED].flatMap(filesBelow).sort();
  return hashOf([fileURLToPath(import.meta.url), ...LOCK, ...sources]);
}

function build() {
  rmSync(STAMP, { force: true });
  // The output of a test that was renamed would still be run.
  for (const path of extra) rmSync(path);
  // The compiler assumes that its earlier output still exists.
  if (!isWhole) rmSync(MEMORY, { force: true });
  const inputs = inputsOf();
  const { status } = spawnSync(process.execPath, [compiler()], {
    stdio: "inherit",
  });
  if (status !== 0) {
    process.exitCode = status ?? 1;
    return;
  }
  // If a source has changed meanwhile, the next build starts again.
  writeFileSync(STAMP, fingerprint(inputs));
}

function compiler() {
  try {
    return fileURLToPath(import.meta.resolve("typescript/bin/tsc"));
  } catch {
    process.stderr.write("TypeScript is not installed: run npm ci\n");
    process.exit(1);
  }
}

/** Identifies a build: a hash of its inputs and of the compiler's build info. */
function fingerprint(inputs = inputsOf()) {
  return `${inputs} ${hashOf([MEMORY])}\n`;
}

/** A hash of everything that the output depends on. */
function inputsOf() {
  return hashOf([
    fileURLToPath(import.meta.url),
    "tsconfig.json",
    ...LOCK,
    ...sources,
  ]);
}

function hashOf(paths) {
  const hash = createHash("sha256");
  for (const path of paths) {
    const text = read(path);
    hash.update(`${path} ${text?.length}\n`).update(text ?? "");
  }
  return hash.digest("hex");
}

/** The files that tsconfig.json includes: all in a folder, or `*.ts` in one. */
function sourcesOf({ include }) {
  return include.flatMap((pattern) => {
    const [, folder, isFlat] = /^([\w./-]*?)(\/?\*\.ts)?$/.exec(pattern) ?? [];
    if (folder === undefined) throw new Error(`Cannot read ${pattern}`);
    const files = isFlat
      ? readdirSync(folder || ".").map((name) => join(folder, name))
      : filesBelow(folder);
    return files.filter((path) => path.endsWith(".ts")).sort();
  });
}

function outputsOf(source) {
  if (source.endsWith(".d.ts")) return [];
  const path = join(OUT, source.slice(0, -".ts".length));
  return [`${path}.js`, `${path}.js.map`, `${path}.d.ts`];
}

/** Whether the compiler writes files with such a name. */
function isOutput(path) {
  return /\.(js|js\.map|d\.ts)$/.test(path);
}

/** All files in a folder and below; none if the folder does not exist. */
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

/** The text of a file; undefined if it does not exist. */
function read(path) {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    if (error.code === "ENOENT") return undefined;
    throw error;
  }
}
