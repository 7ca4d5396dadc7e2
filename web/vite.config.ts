import { svelte } from "@sveltejs/vite-plugin-svelte";
import { defineConfig } from "vite";

const at = (path: string) => new URL(path, import.meta.url).pathname;

type GetModuleInfo = (id: string) => {
  importedIds: readonly string[];
  dynamicallyImportedIds: readonly string[];
} | null;

/**
 * Returns all modules that a module imports, directly or indirectly, including itself.
 * @param follows returns whether to follow the dynamic import of a module.
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

/** The module that most rooms need immediately, through a dynamic import. */
const CHAT = "modules/chat.native/View.svelte";
/** What the first page of the console needs soon, through a dynamic import. */
const OVERVIEW = "console/overview/Access.svelte";
/** What rooms with a stage or a poll need in addition. */
const STAGE = [
  "modules/livestream.native/View.svelte",
  "components/stage/Reactions.svelte",
  "components/stage/ReactButton.svelte",
  "modules/poll/Card.svelte",
];

/**
 * Returns the shared file for a module that a page needs immediately, because many small files
 * would slow down a first visit on a slow connection: `base` for all pages, `event` for the page
 * that invites to the event and the console, `join` for the rest of that page, `visit` for the event
 * behind it, `room` for its rooms, `stage` for those with a stage or a poll, `frame` for the rest of
 * the console, `overview` for its first page, `words` for modules that the console shares with
 * setup, and `parts` for modules that the event behind that page shares with the console.
 */
function commonOf(id: string, getModuleInfo: GetModuleInfo): string | null {
  // An entry point must not run when another page loads a module from the same file.
  if (/\/main\.ts$/.test(id)) return null;
  const reached = (...entries: string[]) =>
    entries.some((it) => reachOf(at(it), getModuleInfo, () => false).has(id));
  const { isOfEvent, isOfConsole } = sidesOf(id, getModuleInfo);
  if (reached("player/main.ts") && (isOfEvent || isOfConsole)) return "base";
  if (reached("attend/main.ts")) return isOfConsole ? "event" : "join";
  if (reached("console/main.ts")) {
    if (isOfEvent) return "parts";
    return reached("setup/main.ts") ? "words" : "frame";
  }
  if (reached("attend/Visit.svelte")) return isOfConsole ? "parts" : "visit";
  if (reached(CHAT)) return isOfConsole ? "parts" : "room";
  if (reached(...STAGE)) return isOfConsole ? "parts" : "stage";
  if (reached(OVERVIEW) && !isOfEvent) return "overview";
  return null;
}

/** Whether the event and the console can ever load a module. */
function sidesOf(id: string, getModuleInfo: GetModuleInfo) {
  const isIn = (entry: string, follows: (id: string) => boolean) =>
    reachOf(at(entry), getModuleInfo, follows).has(id);
  return {
    isOfEvent: isIn("attend/main.ts", () => true),
    // The console lists all kinds of modules but renders none.
    isOfConsole: isIn(
      "console/main.ts",
      (it) => !/modules\/[^/]+\/View\.svelte$|call\/parts\.ts$/.test(it),
    ),
  };
}

/** A chunk's name: `shared`, or Vite's default up to a dot, which the server does not serve. */
const shortened = (name: string) => (name.startsWith("shared") ? "shared" : name.split(".")[0]!);

/** Builds the pages into dist/pages. `npm run build` runs this build when a source has changed. */
export default defineConfig({
  root: at("."),
  // URLs are relative because a proxy may serve Foyer under any path.
  base: "./",
  publicDir: at("public"),
  plugins: [svelte({ configFile: at("svelte.config.js") })],
  build: {
    outDir: at("../dist/pages"),
    emptyOutDir: true,
    assetsDir: "web",
    // The pages' content security policy forbids `data:` scripts and styles.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    // These browsers support light-dark(), which tokens.css uses for both color schemes.
    target: ["chrome123", "firefox121", "safari17.5"],
    // hls.js is about this large, but is loaded for streams only.
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
        // Browsers check for a new version of a worker at its fixed address.
        entryFileNames: ({ name }) =>
          name === "worker" ? "web/worker.js" : "web/[name]-[hash].js",
        // By default, the name of a shared file would list everything that shares it.
        chunkFileNames: ({ name }) => `web/${shortened(name)}-[hash].js`,
        assetFileNames: ({ names: [name = ""] }) => `web/${shortened(name)}-[hash][extname]`,
        codeSplitting: {
          // Each module is assigned to a file individually.
          includeDependenciesRecursively: false,
          // Without groups, a room would load thirty files, most of them with a few lines.
          groups: [
            { name: (id, chunks) => commonOf(id, (of) => chunks.getModuleInfo(of)) },
            {
              // Separate files, so that no page loads another page's file for a single module in
              // it.
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
