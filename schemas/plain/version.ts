import { createRequire } from "node:module";

/** The version of Foyer. The package finds itself by its name, from any folder of dist/. */
export const { version } = createRequire(import.meta.url)(
  "foyer-server/package.json",
) as { version: string };
