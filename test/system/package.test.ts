import { execFileSync } from "node:child_process";
import { chmodSync, existsSync, readFileSync, symlinkSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { fileURLToPath } from "node:url";
import t from "tap";
import ts from "typescript";
import { testdir } from "../testdir.js";

// What `npm pack` puts into the package. Tests run from dist/test/system.
const root = fileURLToPath(new URL("../../..", import.meta.url));

function listPacked(): string[] {
  // By way of env, as tap puts a loader into the environment of every child.
  const { PATH = "", HOME = "" } = process.env;
  const npm = ["npm", "pack", "--dry-run", "--json", "--ignore-scripts"];
  const json = execFileSync(
    "env",
    ["-i", `PATH=${PATH}`, `HOME=${HOME}`, ...npm],
    { cwd: root, encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] },
  );
  // A list, or an object by the names of the packages, as the version of npm has it.
  const [made] = Object.values(
    JSON.parse(json) as Record<string, { files: { path: string }[] }>,
  );
  return made!.files.map(({ path }) => path);
}

const packed = listPacked();

/** Whether it is a document of the project, and no list of licenses that the build made. */
const isOurs = (path: string) =>
  path.endsWith(".md") && !path.startsWith("dist/");

/** The anchors of a Markdown file, as they are made of its headings. */
const anchorsOf = (path: string) =>
  new Set(
    [...readFileSync(join(root, path), "utf8").matchAll(/^#+ (.+)$/gm)].map(
      ([, heading]) =>
        heading!
          .toLowerCase()
          .replace(/[^\p{L}\p{N} _-]/gu, "")
          .replaceAll(" ", "-"),
    ),
  );

void t.test("the package", async (t) => {
  const files = new Set(packed);
  for (const path of [
    "LICENSE",
    "demo/init.mp4",
    "deploy/Caddyfile",
    "deploy/compose.yaml",
    "deploy/foyer.service",
    "deploy/nodes/Caddyfile",
    "deploy/nodes/compose.yaml",
    "deploy/nodes/kubernetes.yaml",
    "dist/bundle/foyer.js",
    "dist/bundle/foyer.js.map",
    "dist/bundle/licenses.md",
    "dist/bundle/package.json",
    "dist/bundle/writer-thread.js",
    "dist/documents/openapi.json.br",
    "dist/library/app.d.ts",
    "dist/library/app.js",
    "dist/library/licenses.md",
    "dist/manual/guides/configure.html",
    "dist/pages/index.html",
    "dist/pages/web/icon.svg.br",
    "docs/asyncapi.json",
    "docs/openapi.json",
    "docs/scale.md",
  ]) {
    t.ok(files.has(path), `has ${path}`);
  }
  const strange =
    /^packages|^dist\/(?!(bundle|documents|library|manual|pages)\/)|\.db$/;
  t.same(
    [...files].filter((path) => strange.test(path)),
    [],
    "has no unneeded file",
  );

  for (const path of [...files].filter((path) => path.endsWith(".js"))) {
    const text = readFileSync(join(root, path), "utf8");
    for (const { fileName } of ts.preProcessFile(text, true, true)
      .importedFiles) {
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
  const { name } = JSON.parse(
    readFileSync(join(root, "package.json"), "utf8"),
  ) as { name: string };
  t.equal(name, "foyer-server", "foyer is taken");
  for (const path of packed.filter(
    (path) => isOurs(path) || /\.ya?ml$/.test(path),
  )) {
    const text = readFileSync(join(root, path), "utf8");
    // Neither name of ours is published: npm would install what another project puts there.
    const strange =
      /np(x|m exec)( -y| --yes)? foyer\b|npm (i|install)( -\S+)* foyer\b|["']foyer\/\w/;
    t.notMatch(text, strange, path);
  }
});

void t.test("the image is built from all that the server is", async (t) => {
  const ignored = readFileSync(join(root, ".dockerignore"), "utf8");
  const kept = new Set(
    ignored.split("\n").flatMap((line) => /^!(.+)$/.exec(line)?.[1] ?? []),
  );
  const { include } = JSON.parse(
    readFileSync(join(root, "tsconfig.json"), "utf8"),
  ) as { include: string[] };
  // What tests and measures it is no part of it.
  const others = ["test", "bench"];
  const parts = include
    .map((path) => path.split("/")[0]!)
    .filter((path) => !others.includes(path));
  const needed = [
    ...["demo", "package-lock.json", "scripts", "web"],
    "packages/client/package.json",
  ];
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
  t.match(
    execFileSync("env", words, { encoding: "utf8" }),
    /^\d+\.\d+\.\d+\n$/,
  );
});
