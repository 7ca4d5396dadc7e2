import { readdirSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { Resource, WithIds } from "./resource.js";

const folder = join(import.meta.dirname, "resources");

/** All resources: each file in `resources/` defines one. */
export const resources: readonly Resource[] = await Promise.all(
  readdirSync(folder)
    .filter((name) => name.endsWith(".js"))
    .sort()
    .map(async (name) => {
      const module = (await import(pathToFileURL(join(folder, name)).href)) as {
        default: Resource;
      };
      return module.default;
    }),
);

/** The resources whose records have ids. */
export const identified = resources.filter(
  (resource): resource is WithIds => resource.parameter !== undefined,
);

/** The rows of a table to which every resource contributes. */
export const fromAll = <T>(
  part: (resource: Resource) => Readonly<Record<string, T>> | undefined,
): Record<string, T> =>
  Object.fromEntries(resources.flatMap((resource) => Object.entries(part(resource) ?? {})));
