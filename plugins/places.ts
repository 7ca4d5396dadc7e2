import { fileURLToPath } from "node:url";

// Where the server finds the files that it sends. These paths hold for the compiled file and
// for the bundle alike, as both are one folder below dist/.

const at = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

/** The documents of the interfaces, which scripts/documents.ts makes. */
export const DOCUMENTS = at("../documents/");

/** The pages of the manual, which scripts/guides.js makes. */
export const MANUAL = at("../manual/");

/** The pages for people, which Vite builds. */
export const PAGES = at("../pages/");

/** The segments of the demo world's live stream, which scripts/demo-stream.sh makes. */
export const SEGMENTS = at("../../demo/");
