import { svelte } from "@sveltejs/vite-plugin-svelte";
import { defineConfig } from "vite";

const at = (path: string) => new URL(path, import.meta.url).pathname;

type GetModuleInfo = (id: string) => {
  importedIds: readonly string[];
  dynamicallyImportedIds: readonly string[];
} | null;

/**
 * The modules that a module reaches, itself included.
 * @param follows whether dynamic imports of a module count.
 */
function reachOf(
  id: string,
  getModuleInfo: GetModuleInfo,
  follows: (id: string) => boolean,
  found = new Set<string>(),
): Set<string> {
  if (found.has(id)) return found;
  found.add(id);
  const info = getModuleInfo(id);
  const later = (info?.dynamicallyImportedIds ?? []).filter(follows);
  for (const next of [...(info?.importedIds ?? []), ...later]) {
    reachOf(next, getModuleInfo, follows, found);
  }
  return found;
}

/** What most rooms need at once, by dynamic imports. */
const ROOM = [
  "modules/chat.native/View.svelte",
  "modules/livestream.native/View.svelte",
  "components/stage/Reactions.svelte",
  "components/stage/ReactButton.svelte",
  "modules/poll/Card.svelte",
];

/**
 * Files with the modules that a page needs at once, as each file more makes a first visit on a
 * slow line later: `base` for all pages, `event` for the event and the console, `visit` for the
 * rest of the event, `room` for a room in it, `frame` for the rest of the console, with the
 * `words` that setup has, too, and `parts` for what is in rooms and in the console.
 */
function commonOf(id: string, getModuleInfo: GetModuleInfo): string | null {
  // What starts a page must not run where another page needs a module beside it.
  if (/\/main\.ts$/.test(id)) return null;
  const reached = (...entries: string[]) =>
    entries.some((it) => reachOf(at(it), getModuleInfo, () => false).has(id));
  const { isOfEvent, isOfConsole } = sidesOf(id, getModuleInfo);
  if (reached("player/main.ts") && (isOfEvent || isOfConsole)) return "base";
  if (reached("attend/main.ts")) return isOfConsole ? "event" : "visit";
  if (reached("console/main.ts")) {
    if (isOfEvent) return "parts";
    return reached("setup/main.ts") ? "words" : "frame";
  }
  if (reached(...ROOM)) return isOfConsole ? "parts" : "room";
  return null;
}

/** Whether the event and the console ever load a module. */
function sidesOf(id: string, getModuleInfo: GetModuleInfo) {
  const isIn = (entry: string, follows: (id: string) => boolean) =>
    reachOf(at(entry), getModuleInfo, follows).has(id);
  return {
    isOfEvent: isIn("attend/main.ts", () => true),
    // The console knows all kinds of modules, and shows none.
    isOfConsole: isIn("console/main.ts", (it) => !/modules\/[^/]+\/View\.svelte$/.test(it)),
  };
}

/** The name of a file, which Vite writes for `[name]`. */
const shortened = (name: string) => (name.startsWith("shared") ? "shared" : "[name]");

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
        assetFileNames: ({ names: [name = ""] }) => `web/${shortened(name)}-[hash][extname]`,
        codeSplitting: {
          // Where a module belongs is said for each of them.
          includeDependenciesRecursively: false,
          // Without groups, a room would be thirty files, most of them with a few lines.
          groups: [
            { name: (id, chunks) => commonOf(id, (of) => chunks.getModuleInfo(of)) },
            {
              // Apart, so that no page loads the file of another for a module in it.
              name(id, chunks) {
                const sides = sidesOf(id, (of) => chunks.getModuleInfo(of));
                if (!sides.isOfConsole) return "shared-event";
                return sides.isOfEvent ? "shared" : "shared-console";
              },
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
