import { readdirSync, readFileSync } from "node:fs";
import { isBuiltin } from "node:module";
import t from "tap";
import ts from "typescript";

// What npm brings into the house: package-lock.json is all of it.

const read = (path: string) =>
  JSON.parse(
    readFileSync(new URL(`../../${path}`, import.meta.url), "utf8"),
  ) as unknown;

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
const nameOf = (path: string) =>
  path.slice(path.lastIndexOf("node_modules/") + 13);

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
    return !isAllowed(
      isLinked ? license.replace("LGPL-3.0-or-later", "MIT") : license,
    );
  });
  t.strictSame(others, []);
  for (const license of [
    "GPL-3.0",
    "none",
    "MIT AND AGPL-3.0",
    "SEE LICENSE",
  ]) {
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
    const text = readFileSync(
      new URL(`../${folder}/licenses.md`, import.meta.url),
      "utf8",
    );
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
  const scripted = packages.filter(
    ([, { hasInstallScript }]) => hasInstallScript,
  );
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
  for (const [name, range] of Object.entries({
    ...dependencies,
    ...devDependencies,
  })) {
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

const root = new URL("../../", import.meta.url);

/** What follows a word that imports, also where that is a part of a text. */
const MAYBE = /\b(?:from|import|require|types)\s*[(=]?\s*["'`]([^"'`\n]+)/g;

/** The packages that a file names in an import, of values or of types, and that are not declared. */
function undeclaredIn(path: string, declared: object): string[] {
  const text = readFileSync(new URL(path, root), "utf8");
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
  return readdirSync(new URL(folder, root), { recursive: true })
    .map((path) => `${folder}${String(path)}`)
    .filter((path) =>
      path.startsWith("dist/")
        ? /\.d\.c?ts$|^dist\/(bundle|library|pages)\/.*\.js$/.test(path)
        : /\.(ts|js)$/.test(path),
    );
}

void t.test("whatever is imported is declared", (t) => {
  const files = [
    ...[
      "cli",
      "client",
      "conformance",
      "db",
      "live",
      "plugins",
      "routes",
      "schemas",
    ],
    ...["test", "bench", "scripts", "web", "dist"],
  ].flatMap((folder) => filesUnder(`${folder}/`));
  files.push(...readdirSync(root).filter((name) => /\.(ts|js)$/.test(name)));
  t.ok(files.length > 200, `${files.length} files`);
  const undeclared = files.flatMap((path) => {
    // What web/ imports becomes a part of the built pages.
    const isShipped = !/^(dist\/)?(test|bench|scripts|web)\/|\.config\./.test(
      path,
    );
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
