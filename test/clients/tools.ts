import type { Access } from "./access.js";
import { cp, mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { inBrowser } from "./browser.js";
import { install, npm, run, withPath } from "./shell.js";

/**
 * Makes a client in an empty folder that holds the document as `openapi.json`,
 * and uses it: lists rooms, creates one that is named `By <tool>`, uploads a file.
 * @returns the JSON in which it says what it got.
 * @throws {Unavailable} if the tool cannot be installed.
 */
export type Tool = (folder: string, access: Access) => Promise<string>;

export const root = fileURLToPath(new URL("../../../", import.meta.url));
const programs = join(root, "test/clients");

const ESBUILD = "esbuild@0.28.2";
const TYPESCRIPT = "typescript@5.9.3";

const variables = ({ baseUrl, token, uploader, file }: Access) => ({
  BASE_URL: baseUrl,
  TOKEN: token,
  UPLOADER: uploader,
  FILE: file,
});

/** Checks the types of a program in `program.ts`, and runs it. */
async function runProgram(
  folder: string,
  name: string,
  access: Access,
): Promise<string> {
  await cp(join(programs, name), join(folder, "program.ts"));
  const bin = (name: string) => join(folder, "node_modules/.bin", name);
  await run(folder, bin("tsc"), [
    ...["--noEmit", "--strict", "--skipLibCheck", "--target", "es2023"],
    ...["--lib", "es2023,dom,dom.iterable", "--types", "node"],
    ...["--module", "esnext", "--moduleResolution", "bundler", "program.ts"],
  ]);
  await run(folder, bin("esbuild"), [
    ...["program.ts", "--bundle", "--platform=node", "--format=esm"],
    "--outfile=program.mjs",
  ]);
  return run(folder, process.execPath, ["program.mjs"], variables(access));
}

const openapiFetch: Tool = async (folder, access) => {
  await npm(
    folder,
    ...["openapi-typescript@7.13.0", "openapi-fetch@0.17.0"],
    ...[TYPESCRIPT, ESBUILD, "@types/node@20.19.43"],
  );
  await run(folder, join(folder, "node_modules/.bin/openapi-typescript"), [
    ...["openapi.json", "--output", "foyer.ts"],
  ]);
  return runProgram(folder, "openapi-fetch.ts.txt", access);
};

const heyApi: Tool = async (folder, access) => {
  await npm(
    folder,
    ...["@hey-api/openapi-ts@0.99.0", TYPESCRIPT, ESBUILD],
    "@types/node@20.19.43",
  );
  await run(folder, join(folder, "node_modules/.bin/openapi-ts"), [
    ...["--input", "openapi.json", "--output", "foyer"],
  ]);
  return runProgram(folder, "hey-api.ts.txt", access);
};

const orval: Tool = async (folder, access) => {
  await npm(
    folder,
    ...["orval@8.30.0", TYPESCRIPT, ESBUILD, "@types/node@20.19.43"],
  );
  await run(folder, join(folder, "node_modules/.bin/orval"), [
    ...["--input", "openapi.json", "--output", "foyer.ts"],
    ...["--client", "fetch"],
  ]);
  return runProgram(folder, "orval.ts.txt", access);
};

const python: Tool = async (folder, access) => {
  await install(folder, "python3", ["-m", "venv", "venv"]);
  const bin = join(folder, "venv/bin");
  await install(folder, join(bin, "pip"), [
    ...["install", "--quiet", "openapi-python-client==0.29.1"],
  ]);
  await run(
    folder,
    join(bin, "openapi-python-client"),
    [
      ...["generate", "--path", "openapi.json"],
      ...["--meta", "none", "--output-path", "foyer"],
    ],
    withPath(bin),
  );
  await cp(join(programs, "python.py"), join(folder, "program.py"));
  return run(folder, join(bin, "python"), ["program.py"], variables(access));
};

const go: Tool = async (folder, access) => {
  await install(
    folder,
    "go",
    [
      "install",
      "github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen@v2.8.2",
    ],
    { GOBIN: folder },
  );
  await writeFile(join(folder, "go.mod"), "module clients\n");
  await mkdir(join(folder, "foyer"));
  await run(folder, join(folder, "oapi-codegen"), [
    ...["-generate", "types,client", "-package", "foyer"],
    ...["-o", "foyer/foyer.go", "openapi.json"],
  ]);
  await cp(join(programs, "main.go"), join(folder, "main.go"));
  await install(folder, "go", ["mod", "tidy"]);
  return run(folder, "go", ["run", "."], variables(access));
};

const java: Tool = async (folder, access) => {
  await install(folder, "mvn", [
    ...["-q", "-B", "dependency:copy", `-DoutputDirectory=${folder}`],
    "-Dartifact=org.openapitools:openapi-generator-cli:7.14.0",
  ]);
  await run(folder, "java", [
    ...["-jar", "openapi-generator-cli-7.14.0.jar", "generate"],
    ...["-i", "openapi.json", "-g", "java", "--library", "okhttp-gson"],
    ...["-o", "foyer"],
  ]);
  const project = join(folder, "foyer");
  const main = join(project, "src/main/java/Main.java");
  await cp(join(programs, "Main.java"), main);
  await install(project, "mvn", [
    ...["-q", "-B", "dependency:build-classpath", "-Dmdep.outputFile=path"],
  ]);
  await run(project, "mvn", ["-q", "-B", "compile"]);
  const path = (await readFile(join(project, "path"), "utf8")).trim();
  return run(
    project,
    "java",
    ["-cp", `target/classes:${path}`, "Main"],
    variables(access),
  );
};

/** The package `foyer-client` of this checkout, as a bundler packs it for a browser. */
const bundled =
  (name: string, packages: string[], command: string[]): Tool =>
  async (folder, access) => {
    await npm(folder, ...packages);
    await cp(
      join(root, "packages/client"),
      join(folder, "node_modules/foyer-client"),
      { recursive: true },
    );
    await cp(join(programs, "browser.mjs.txt"), join(folder, "program.mjs"));
    const [program = "", ...args] = command;
    await run(folder, join(folder, "node_modules/.bin", program), args);
    const bundle = await readFile(join(folder, "bundle.js"), "utf8");
    return inBrowser(bundle, `By ${name}`, access);
  };

/** Every tool, by its name. */
export const tools: Record<string, Tool> = {
  "openapi-fetch": openapiFetch,
  "@hey-api/openapi-ts": heyApi,
  orval,
  "openapi-python-client": python,
  "oapi-codegen": go,
  "openapi-generator": java,
  esbuild: bundled(
    "esbuild",
    [ESBUILD],
    [
      ...["esbuild", "program.mjs", "--bundle", "--minify"],
      ...["--platform=browser", "--outfile=bundle.js"],
    ],
  ),
  webpack: bundled(
    "webpack",
    ["webpack@5.112.2", "webpack-cli@7.3.1"],
    [
      ...["webpack", "./program.mjs", "--mode", "production"],
      ...["--target", "web", "--output-path", "."],
      ...["--output-filename", "bundle.js"],
    ],
  ),
};
