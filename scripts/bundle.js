import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import ts from "typescript";
import { build } from "vite";
import { manifestOfCommand, OUTSIDE, OUTSIDE_LIBRARY } from "./manifest.js";

// Builds the server as it ships: a few modules that contain the code they use from other packages.
// They start in half the time of the compiler's output. scripts/build.js runs this.
//
// The command is CommonJS, because its modules then load in an eighth less processor time. The
// library has ES modules, because programs import it.

/** Modules that other modules start as threads or processes, from a file next to their own. */
const THREADS = {
  "program-thread": "plugins/program/program-thread.ts",
  "sheet-thread": "plugins/sheets/sheet-thread.ts",
  "writer-thread": "db/engines/sqlite/engine/writer-thread.ts",
  "eraser-thread": "db/engines/sqlite/erasure/eraser-thread.ts",
  "search-thread": "db/engines/sqlite/engine/search-thread.ts",
  "image-process": "plugins/upload/image-process.ts",
};

/** The modules that programs import. Within a process, they share their classes. */
const LIBRARY = { app: "app.ts", schemas: "schemas/index.ts", testing: "testing.ts" };

/** Builds dist/bundle: the command, with all packages except native and optional ones. */
export async function bundleCommand() {
  await bundle("bundle", "cjs", { foyer: "cli/main.ts" }, OUTSIDE);
  const manifest = JSON.stringify(manifestOfCommand(), null, 2);
  writeFileSync("dist/bundle/package.json", `${manifest}\n`);
}

/** Builds dist/library, which shares the packages that its types name with the importing program. */
export async function bundleLibrary() {
  await bundle("library", "es", LIBRARY, OUTSIDE_LIBRARY);
  copyTypes(Object.values(LIBRARY));
}

/** Bundles scripts/documents.ts, before anything is compiled. */
export function bundleGenerator(outDir) {
  return build({
    configFile: false,
    logLevel: "warn",
    publicDir: false,
    build: { ssr: "scripts/documents.ts", outDir, target: "node20.19" },
  });
}

/** Escapes all non-ASCII characters: with any of them, V8 needs twice the memory for a source. */
const ascii = {
  name: "ascii",
  generateBundle(_options, files) {
    for (const file of Object.values(files)) {
      if (file.type !== "chunk") continue;
      // Preserves line numbers. Without the `u` flag, the surrogates of a pair are escaped
      // separately.
      file.code = file.code.replace(
        /[^\0-\x7f]/g,
        (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`,
      );
    }
  },
};

/**
 * @param format the module format: `cjs` or `es`.
 * @param entries the paths of modules that are referenced from outside, by their names in the
 * bundle.
 * @param external the packages that are installed along with it.
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
        // Token signing imports fast-jwt dynamically for the command, although the server's plugin
        // contains the same package anyway.
        checks: { ineffectiveDynamicImport: false },
        input: { ...entries, ...THREADS },
        output: {
          format,
          // The sources are all strict-mode modules.
          strict: true,
          // All in one folder, from which they locate other files of the package.
          entryFileNames: "[name].js",
          chunkFileNames: "[name]-[hash].js",
          comments: false,
          // Stack traces need only names and lines.
          sourcemapExcludeSources: true,
        },
      },
    },
  });
}

/** Copies the types of modules, and the types that they refer to. */
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
