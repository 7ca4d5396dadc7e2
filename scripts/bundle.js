import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import ts from "typescript";
import { build } from "vite";
import { manifestOfCommand, OUTSIDE, OUTSIDE_LIBRARY } from "./manifest.js";

// Makes the server as it ships: a few modules that contain the code they use from other
// packages. They start in half the time of the compiler's output. scripts/build.js runs this.
//
// The command is CommonJS: its modules load in an eighth less processor time. Programs import
// the library, so it has ES modules.

/** Modules that other modules start as threads or processes, from a file beside their own. */
const THREADS = {
  "program-thread": "plugins/program/program-thread.ts",
  "sheet-thread": "plugins/sheets/sheet-thread.ts",
  "writer-thread": "db/engines/sqlite/engine/writer-thread.ts",
  "eraser-thread": "db/engines/sqlite/erasure/eraser-thread.ts",
  "search-thread": "db/engines/sqlite/engine/search-thread.ts",
  "image-process": "plugins/upload/image-process.ts",
};

/** The modules that a program imports. Modules of one process share their classes. */
const LIBRARY = { app: "app.ts", schemas: "schemas/index.ts", testing: "testing.ts" };

/** Makes dist/bundle: the command, with everything but packages that are native or optional. */
export async function bundleCommand() {
  await bundle("bundle", "cjs", { foyer: "cli/main.ts" }, OUTSIDE);
  const manifest = JSON.stringify(manifestOfCommand(), null, 2);
  writeFileSync("dist/bundle/package.json", `${manifest}\n`);
}

/** Makes dist/library, which shares with a program the packages that its types name. */
export async function bundleLibrary() {
  await bundle("library", "es", LIBRARY, OUTSIDE_LIBRARY);
  copyTypes(Object.values(LIBRARY));
}

/** Makes a module of scripts/documents.ts, before anything is compiled. */
export function bundleGenerator(outDir) {
  return build({
    configFile: false,
    logLevel: "warn",
    publicDir: false,
    build: { ssr: "scripts/documents.ts", outDir, target: "node20.19" },
  });
}

/** V8 keeps a source with any other character in twice the memory. */
const ascii = {
  name: "ascii",
  generateBundle(_options, files) {
    for (const file of Object.values(files)) {
      if (file.type !== "chunk") continue;
      // Lines keep their numbers. Without the flag u, each half of a pair is escaped alone.
      file.code = file.code.replace(
        /[^\0-\x7f]/g,
        (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`,
      );
    }
  },
};

/**
 * @param format of the modules: `cjs` or `es`.
 * @param entries the paths of modules that something outside names, by their names in the bundle.
 * @param external the packages that are installed with it.
 */
function bundle(folder, format, entries, external) {
  return build({
    configFile: false,
    logLevel: "warn",
    publicDir: false,
    plugins: [ascii],
    ssr: { noExternal: true, external },
    build: {
      ssr: true,
      outDir: join("dist", folder),
      emptyOutDir: true,
      target: "node20.19",
      minify: false,
      sourcemap: true,
      license: { fileName: "licenses.md" },
      rolldownOptions: {
        // The command signs tokens without the server's plugin, which has the same package.
        checks: { ineffectiveDynamicImport: false },
        input: { ...entries, ...THREADS },
        output: {
          format,
          // As all modules are in the sources.
          strict: true,
          // All in one folder: they find other files of the package from there.
          entryFileNames: "[name].js",
          chunkFileNames: "[name]-[hash].js",
          comments: false,
          // Stacks need only names and lines.
          sourcemapExcludeSources: true,
        },
      },
    },
  });
}

/** Copies the types of modules, and the types that these refer to. */
function copyTypes(modules) {
  const found = new Set(modules.map((path) => path.replace(/\.ts$/, ".d.ts")));
  for (const path of found) {
    const from = join("dist", path);
    const to = join("dist/library", path);
    mkdirSync(dirname(to), { recursive: true });
    copyFileSync(from, to);
    const { importedFiles } = ts.preProcessFile(readFileSync(from, "utf8"));
    for (const { fileName } of importedFiles) {
      if (!fileName.startsWith(".")) continue;
      found.add(join(dirname(path), fileName.replace(/\.js$/, ".d.ts")));
    }
  }
}
