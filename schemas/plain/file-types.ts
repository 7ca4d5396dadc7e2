/** A kind of file that may be uploaded. */
export interface FileType {
  /** The value of Content-Type. */
  mime: string;
  /** The extensions that the library file-type may find for its content. */
  found: readonly string[];
  /** The format for the image library; undefined if it is not an image to clean. */
  image?: ImageFormat;
  /** Whether it is a document, which may run scripts where a browser opens it. */
  document?: true;
}

export type ImageFormat = "jpeg" | "png" | "gif" | "webp";

const jpeg: FileType = { mime: "image/jpeg", found: ["jpg"], image: "jpeg" };

/** File types by extension. */
export const fileTypes: Readonly<Record<string, FileType>> = {
  png: { mime: "image/png", found: ["png", "apng"], image: "png" },
  jpg: jpeg,
  jpeg,
  gif: { mime: "image/gif", found: ["gif"], image: "gif" },
  webp: { mime: "image/webp", found: ["webp"], image: "webp" },
  pdf: { mime: "application/pdf", found: ["pdf"], document: true },
  svg: { mime: "image/svg+xml", found: ["svg"], document: true },
  mp4: { mime: "video/mp4", found: ["mp4", "m4v"] },
  webm: { mime: "video/webm", found: ["webm"] },
  mp3: { mime: "audio/mpeg", found: ["mp3"] },
};

/** The types of programs that were uploaded to be imported. No other upload may have them. */
export const programTypes: Readonly<Record<string, FileType>> = {
  json: { mime: "application/json", found: [], document: true },
  xml: { mime: "application/xml", found: ["xml"], document: true },
  ics: { mime: "text/calendar; charset=utf-8", found: ["ics"], document: true },
  csv: { mime: "text/csv; charset=utf-8", found: [], document: true },
};

/** The type of a stored file, by its name or key; undefined if no file has such a name. */
export const typeOf = (name: string): FileType | undefined => {
  const extension = extensionOf(name);
  return fileTypes[extension] ?? programTypes[extension];
};

/** The extension of a file name, in lower case; empty if there is none. */
export const extensionOf = (name: string): string =>
  /\.([^./\\]+)$/.exec(name)?.[1]?.toLowerCase() ?? "";

/** The MIME type of a file, by its name or key. */
export const mimeTypeOf = (name: string): string =>
  typeOf(name)?.mime ?? "application/octet-stream";

/** The id of a file in its key, `pub/<world>/<id>.<secret>.<extension>`. */
export const fileIdOf = (key: string): string =>
  key.slice(key.lastIndexOf("/") + 1).split(".", 1)[0]!;

/** The secret in the name of a file, `<id>.<secret>.<extension>`, and the part before it. */
const SECRET = /([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\.)[\w-]{12}(?=\.)/gi;

/** A text without the secrets of files: the secret is all that it takes to read a file. */
export const withoutFileSecrets = (text: string): string => text.replace(SECRET, "$1…");

/** The same for the path of a request, which may be encoded. */
export function pathWithoutFileSecrets(path: string): string {
  let decoded: string;
  try {
    decoded = decodeURIComponent(path);
  } catch {
    // No file has such an address.
    return withoutFileSecrets(path);
  }
  const safe = withoutFileSecrets(decoded);
  return safe === decoded ? path : safe;
}
