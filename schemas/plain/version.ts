import { existsSync, readFileSync } from "node:fs";

/** Reads the version from the nearest package.json above this module, which may be anywhere in dist/. */
function versionAbove(folder: URL): string {
  const file = new URL("package.json", folder);
  if (!existsSync(file)) return versionAbove(new URL("..", folder));
  return (JSON.parse(readFileSync(file, "utf8")) as { version: string }).version;
}

/** Foyer's version. */
export const version = versionAbove(new URL(".", import.meta.url));
