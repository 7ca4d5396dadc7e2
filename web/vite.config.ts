import { svelte } from "@sveltejs/vite-plugin-svelte";
import { defineConfig } from "vite";

const at = (path: string) => new URL(path, import.meta.url).pathname;

type GetModuleInfo = (id: string) => { importedIds: readonly string[] } | null;

/** The modules that a module reaches by static imports, itself included. */
function reachOf(
  id: string,
  getModuleInfo: GetModuleInfo,
  found = new Set<string>(),
): Set<string> {
  if (found.has(id)) return found;
  found.add(id);
  for (const next of getModuleInfo(id)?.importedIds ?? []) {
    reachOf(next, getModuleInfo, found);
  }
  return found;
}

/**
 * Files with the modules that several pages need at once: `base` for the first page and the
 * console, `event` for the event behind the first page and the console, and `visit` for the
 * rest of what every visitor needs behind the first page.
 */
function commonOf(id: string, getModuleInfo: GetModuleInfo): string | null {
  const reached = (entry: string) => reachOf(at(entry), getModuleInfo).has(id);
  const ofConsole = ["console/main.ts", "console/overview/Overview.svelte"];
  if (!ofConsole.some(reached)) {
    // Screens and hosts see what visitors see: it stays one file.
    const isOfVisit = reached("attend/Visit.svelte");
    return isOfVisit && !reached("attend/main.ts") ? "visit" : null;
  }
  if (reached("attend/main.ts")) return "base";
  return reached("attend/Visit.svelte") ? "event" : null;
}

/** The name of a file, which Vite writes for `[name]`. */
const shortened = (name: string) =>
  name.startsWith("shared") ? "shared" : "[name]";

/** Builds the pages into dist/pages; `npm run build` runs it when a source has changed. */
export default defineConfig({
  root: at("."),
  // Every URL is relative: a proxy may serve Foyer under any path.
  base: "./",
  publicDir: at("public"),
  plugins: [svelte({ configFile: at("svelte.config.js") })],
  build: {
    outDir: at("../dist/pages"),
    emptyOutDir: true,
    assetsDir: "web",
    // The policy of the pages allows no data: scripts or styles.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    // They know light-dark() of CSS, by which tokens.css has both color schemes.
    target: ["chrome123", "firefox121", "safari17.5"],
    // hls.js is as large, and is loaded for a stream only.
    chunkSizeWarningLimit: 600,
    license: { fileName: "web/licenses.md" },
    rolldownOptions: {
      input: {
        attend: at("index.html"),
        console: at("console.html"),
        player: at("player.html"),
        setup: at("setup.html"),
        worker: at("worker/worker.ts"),
      },
      output: {
        // Browsers look for another version of a worker at its address.
        entryFileNames: ({ name }) =>
          name === "worker" ? "web/worker.js" : "web/[name]-[hash].js",
        // The names of shared files would list all that share them.
        chunkFileNames: ({ name }) => `web/${shortened(name)}-[hash].js`,
        assetFileNames: ({ names: [name = ""] }) =>
          `web/${shortened(name)}-[hash][extname]`,
        codeSplitting: {
          // Without groups, a room would be thirty files, most of them with a few lines.
          groups: [
            {
              name: (id, chunks) =>
                commonOf(id, (of) => chunks.getModuleInfo(of)),
            },
            {
              name: "shared",
              minShareCount: 2,
              entriesAware: true,
              entriesAwareMergeThreshold: 8000,
            },
          ],
        },
      },
    },
  },
});
