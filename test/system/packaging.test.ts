import { execFileSync } from "node:child_process";
import { chmodSync, existsSync, readdirSync, readFileSync, symlinkSync } from "node:fs";
import { isBuiltin } from "node:module";
import { basename, dirname, join, normalize } from "node:path";
import { fileURLToPath } from "node:url";
import t from "tap";
import ts from "typescript";
import { testdir } from "../support/testdir.js";

// What `npm pack` puts into the package, of which .ci/package knows the list, and what npm
// installs.
const root = fileURLToPath(new URL("../../..", import.meta.url));

function listPacked(): string[] {
  // By way of env, as tap puts a loader into the environment of every child.
  const { PATH = "", HOME = "" } = process.env;
  const npm = ["npm", "pack", "--dry-run", "--json", "--ignore-scripts"];
  const json = execFileSync("env", ["-i", `PATH=${PATH}`, `HOME=${HOME}`, ...npm], {
    cwd: root,
    encoding: "utf8",
    stdio: ["ignore", "pipe", "ignore"],
  });
  // A list, or an object by the names of the packages, as the version of npm has it.
  const [made] = Object.values(JSON.parse(json) as Record<string, { files: { path: string }[] }>);
  return made!.files.map(({ path }) => path);
}

const packed = listPacked();

/** Whether it is a document of the project, and no list of licenses that the build made. */
const isOurs = (path: string) => path.endsWith(".md") && !path.startsWith("dist/");

/** The anchors of a Markdown file, as they are made of its headings. */
const anchorsOf = (path: string) =>
  new Set(
    [...readFileSync(join(root, path), "utf8").matchAll(/^#+ (.+)$/gm)].map(([, heading]) =>
      heading!
        .toLowerCase()
        .replace(/[^\p{L}\p{N} _-]/gu, "")
        .replaceAll(" ", "-"),
    ),
  );

void t.test("what packed files import and link to is packed", async (t) => {
  const files = new Set(packed);
  for (const path of [...files].filter((path) => path.endsWith(".js"))) {
    const text = readFileSync(join(root, path), "utf8");
    for (const { fileName } of ts.preProcessFile(text, true, true).importedFiles) {
      if (!fileName.startsWith(".")) continue;
      const target = normalize(join(dirname(path), fileName));
      if (!files.has(target)) t.fail(`${path} imports ${target}`);
    }
  }

  const documents = [...files].filter(isOurs);
  t.ok(documents.length > 10);
  for (const path of documents) {
    const text = readFileSync(join(root, path), "utf8");
    for (const [, link] of text.matchAll(/\]\(<?([^)>\s]+)/g)) {
      if (/^https?:/.test(link!)) continue;
      const [name = "", anchor] = link!.split("#");
      const target = name ? normalize(join(dirname(path), name)) : path;
      t.ok(files.has(target), `${path} links to ${target}, which is packed`);
      t.ok(existsSync(join(root, target)), `${target} is in the checkout`);
      if (anchor === undefined) continue;
      t.ok(anchorsOf(target).has(anchor), `${path} links to ${link}`);
    }
  }
});

void t.test("no document runs a package of another project", async (t) => {
  const { name } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { name: string };
  t.equal(name, "foyer-server", "foyer is taken");
  for (const path of packed.filter((path) => isOurs(path) || /\.ya?ml$/.test(path))) {
    const text = readFileSync(join(root, path), "utf8");
    // Neither name of ours is published: npm would install what another project puts there.
    const strange =
      /np(x|m exec)( -y| --yes)? foyer\b|npm (i|install)( -\S+)* foyer\b|["']foyer\/\w/;
    t.notMatch(text, strange, path);
  }
});

void t.test("the image is built from all that the server is", async (t) => {
  const ignored = readFileSync(join(root, ".dockerignore"), "utf8");
  const kept = new Set(ignored.split("\n").flatMap((line) => /^!(.+)$/.exec(line)?.[1] ?? []));
  const { include } = JSON.parse(readFileSync(join(root, "tsconfig.json"), "utf8")) as {
    include: string[];
  };
  // What tests and measures it is no part of it.
  const others = ["test", "bench"];
  const parts = include.map((path) => path.split("/")[0]!).filter((path) => !others.includes(path));
  const needed = ["demo", "package-lock.json", "scripts", "web", "packages/client/package.json"];
  for (const path of [...parts, ...needed]) t.ok(kept.has(path), path);
});

void t.test("the unit finds the command in any prefix of npm", async (t) => {
  const bin = join(testdir(t, { bin: {} }), "bin");
  symlinkSync(join(root, "dist/bundle/foyer.js"), join(bin, "foyer"));
  chmodSync(join(root, "dist/bundle/foyer.js"), 0o755);
  const unit = readFileSync(join(root, "deploy/foyer.service"), "utf8");
  const [, start = ""] = /^ExecStart=(.+) serve$/m.exec(unit) ?? [];
  const path = `PATH=${bin}:${dirname(process.execPath)}`;
  const words = ["-i", path, ...start.split(" "), "--version"];
  t.match(execFileSync("env", words, { encoding: "utf8" }), /^\d+\.\d+\.\d+\n$/);
});

const read = (path: string) => JSON.parse(readFileSync(join(root, path), "utf8")) as unknown;

interface Package {
  version: string;
  license?: string;
  integrity?: string;
  resolved?: string;
  link?: boolean;
  dev?: boolean;
  hasInstallScript?: boolean;
}

const lock = read("package-lock.json") as {
  lockfileVersion: number;
  packages: Record<string, Package>;
};
const manifest = read("package.json") as {
  dependencies: Record<string, string>;
  devDependencies: Record<string, string>;
  peerDependencies: Record<string, string>;
  peerDependenciesMeta: Record<string, { optional: boolean }>;
  allowScripts: Record<string, boolean>;
};
// Without the packages of this repository.
const packages = Object.entries(lock.packages).filter(
  ([path, { link }]) => path.startsWith("node_modules/") && !link,
);
const nameOf = (path: string) => path.slice(path.lastIndexOf("node_modules/") + 13);

/** Licences under which what is shipped with Foyer may be used and passed on with it. */
const ALLOWED = [
  /^0BSD$/,
  /^Apache-2\.0$/,
  /^BlueOak-1\.0\.0$/,
  /^BSD-[23]-Clause$/,
  /^ISC$/,
  /^MIT$/,
  // It asks to share changes of its own files, and Foyer changes none.
  /^MPL-2\.0$/,
];

/** The libraries of images: linked to, and replaceable, as the LGPL asks. */
const LINKED = /^@img\/sharp-/;

/** Whether an SPDX expression is allowed; each of several under AND, one under OR. */
function isAllowed(license: string): boolean {
  const text = license.replace(/^\((.*)\)$/, "$1");
  if (text.includes(" OR ")) return text.split(" OR ").some(isAllowed);
  if (text.includes(" AND ")) return text.split(" AND ").every(isAllowed);
  return ALLOWED.some((allowed) => allowed.test(text));
}

void t.test("licences of what is installed with Foyer", async (t) => {
  const shipped = packages.filter(([, { dev }]) => !dev);
  t.ok(shipped.length > 50, `${shipped.length} packages`);
  const others = shipped.filter(([path, { license = "none" }]) => {
    const isLinked = LINKED.test(nameOf(path));
    return !isAllowed(isLinked ? license.replace("LGPL-3.0-or-later", "MIT") : license);
  });
  t.strictSame(others, []);
  for (const license of ["GPL-3.0", "none", "MIT AND AGPL-3.0", "SEE LICENSE"]) {
    t.notOk(isAllowed(license), `${license} is not`);
  }
});

/** What a bundle contains, by the list that is packed with it. */
const LISTS: Record<string, string[]> = {
  "pages/web": ["svelte", "dompurify", "marked", "hls.js"],
  bundle: ["fastify", "@sinclair/typebox", "pino", "fast-json-stringify"],
  library: ["@fastify/jwt", "fast-jwt", "ws"],
};

for (const [folder, contained] of Object.entries(LISTS)) {
  void t.test(`licences of what dist/${folder} contains`, (t) => {
    const text = readFileSync(join(root, `dist/${folder}/licenses.md`), "utf8");
    const bundled = [...text.matchAll(/^## (\S+) - \S+ \((.+)\)$/gm)];
    const names = bundled.map(([, name]) => name);
    for (const name of contained) t.ok(names.includes(name), name);
    for (const [, name, license] of bundled) {
      t.ok(isAllowed(license!), `${name}: ${license}`);
    }
    t.end();
  });
}

void t.test("who may run a script when installed", (t) => {
  const scripted = packages.filter(([, { hasInstallScript }]) => hasInstallScript);
  const allowed = Object.entries(manifest.allowScripts);
  t.strictSame(
    [...new Set(scripted.map(([path]) => nameOf(path)))].sort(),
    allowed.flatMap(([name, may]) => (may ? [name] : [])).sort(),
  );
  t.end();
});

void t.test("nothing is installed but what was looked at", (t) => {
  t.equal(lock.lockfileVersion, 3);
  const others = packages.filter(
    ([path, { integrity = "", resolved, link }]) =>
      !path.startsWith("node_modules/") ||
      link ||
      !/^sha512-[\w+/]{86}==$/.test(integrity) ||
      // The installation decides where it comes from.
      resolved !== undefined,
  );
  t.strictSame(others, []);
  const { dependencies, devDependencies } = manifest;
  for (const [name, range] of Object.entries({ ...dependencies, ...devDependencies })) {
    // One package may have another name beside its other version.
    const version = range.replace(/^npm:[^@]+@/, "");
    t.match(version, /^\d+\.\d+\.\d+$/, `${name} is exact`);
    t.equal(lock.packages[`node_modules/${name}`]?.version, version, name);
  }
  t.end();
});

void t.test("what only several machines need is optional", (t) => {
  for (const [name, range] of Object.entries(manifest.peerDependencies)) {
    t.equal(range, `^${manifest.devDependencies[name]}`, `${name} is tested`);
    t.strictSame(manifest.peerDependenciesMeta[name], { optional: true }, name);
    const { dev } = lock.packages[`node_modules/${name}`]!;
    t.ok(dev, `nothing that is installed with Foyer brings ${name}`);
  }
  t.end();
});

/** What follows a word that imports, also where that is a part of a text. */
const MAYBE = /\b(?:from|import|require|types)\s*[(=]?\s*["'`]([^"'`\n]+)/g;

/** The packages that a file names in an import, of values or of types, and that are not declared. */
function undeclaredIn(path: string, declared: object): string[] {
  const text = readFileSync(join(root, path), "utf8");
  const foreign = (names: string[]) =>
    names
      // A package may ask for a module that only a later Node has.
      .filter((name) => !/^([./]|node:)/.test(name) && !isBuiltin(name))
      .map((name) => name.split("/", name.startsWith("@") ? 2 : 1).join("/"))
      .filter((name) => !(name in declared));
  // To read a file as the compiler does takes twenty times as long.
  const maybe = [...text.matchAll(MAYBE)].map(([, name]) => name!);
  if (foreign(maybe).length === 0) return [];
  const { importedFiles } = ts.preProcessFile(text, true, true);
  return foreign(importedFiles.map(({ fileName }) => fileName));
}

/** Files with imports. Of what is compiled, the bundles, and the types, to which the compiler adds some. */
function filesUnder(folder: string): string[] {
  return readdirSync(join(root, folder), { recursive: true })
    .map((path) => `${folder}${String(path)}`)
    .filter((path) =>
      path.startsWith("dist/")
        ? /\.d\.c?ts$|^dist\/(bundle|library|pages)\/.*\.js$/.test(path)
        : /\.(ts|js)$/.test(path),
    );
}

void t.test("whatever is imported is declared", (t) => {
  const folders =
    "cli client conformance db live plugins routes schemas test bench scripts web dist";
  const files = folders.split(" ").flatMap((folder) => filesUnder(`${folder}/`));
  files.push(...readdirSync(root).filter((name) => /\.(ts|js)$/.test(name)));
  t.ok(files.length > 200, `${files.length} files`);
  const undeclared = files.flatMap((path) => {
    // What web/ imports becomes a part of the built pages.
    const isShipped = !/^(dist\/)?(test|bench|scripts|web)\/|\.config\./.test(path);
    const declared = {
      ...manifest.dependencies,
      ...manifest.peerDependencies,
      ...(!isShipped && manifest.devDependencies),
    };
    return undeclaredIn(path, declared).map((name) => `${path}: ${name}`);
  });
  t.strictSame(undeclared, []);
  t.end();
});

void t.test("each test that SECURITY.md names is there", (t) => {
  const text = readFileSync(join(root, "SECURITY.md"), "utf8");
  const tests = new Set(
    readdirSync(join(root, "test"), { recursive: true, encoding: "utf8" }).map((path) =>
      basename(path),
    ),
  );
  // In each row the last column names the tests.
  const rows = text.split("\n").filter((line) => /^\| (?!They want|-)/.test(line));
  t.ok(rows.length > 15, `${rows.length} threats`);
  for (const row of rows) {
    const cells = row.split("|");
    const named = [...cells.at(-2)!.matchAll(/`([^`]+)`/g)];
    t.ok(named.length > 0, cells[1]!.trim());
    for (const [, name] of named) t.ok(tests.has(name!) || existsSync(join(root, name!)), name!);
  }
  t.end();
});
