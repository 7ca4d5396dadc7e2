import { fileURLToPath } from "node:url";

// Where the build puts what the server sends: folders of dist/. These paths hold for the
// compiled files and for the bundle alike, as both are one folder below dist/.

const below = (folder: string): string =>
  fileURLToPath(new URL(`../${folder}/`, import.meta.url));

/** The documents of the interfaces, which scripts/documents.ts makes. */
export const DOCUMENTS = below("documents");

/** The pages of the manual, which scripts/guides.js makes. */
export const MANUAL = below("manual");
