import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";

const isExecutable = (path: string): boolean => {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
};

/**
 * Where the browser is: the variable CHROMIUM, or `chromium` on the PATH.
 * @returns undefined if there is none.
 */
export function findChromium(env = process.env): string | undefined {
  const places = env.CHROMIUM
    ? [env.CHROMIUM]
    : (env.PATH ?? "")
        .split(delimiter)
        .filter((folder) => folder !== "")
        .map((folder) => join(folder, "chromium"));
  return places.find(isExecutable);
}
