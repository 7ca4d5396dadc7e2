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

const find = (place: string | undefined, name: string, PATH = "") =>
  (place
    ? [place]
    : PATH.split(delimiter)
        .filter((folder) => folder !== "")
        .map((folder) => join(folder, name))
  ).find(isExecutable);

/**
 * Finds Chromium: the variable CHROMIUM, or `chromium` on the PATH.
 * @returns its path; undefined if there is none.
 */
export const findChromium = (env = process.env): string | undefined =>
  find(env.CHROMIUM, "chromium", env.PATH);

/**
 * Finds Firefox: the variable FIREFOX, or `firefox-esr` on the PATH.
 * @returns its path; undefined if there is none.
 */
export const findFirefox = (env = process.env): string | undefined =>
  find(env.FIREFOX, "firefox-esr", env.PATH);
