/** A type of file that may be uploaded. */
export interface FileType {
  /** The `Content-Type`. */
  mime: string;
  /** The extensions that the `file-type` library may detect from the content. */
  found: readonly string[];
  /** The format for the image library; undefined unless files of this type are images to sanitize. */
  image?: ImageFormat;
  /** Whether files of this type are documents that may run scripts when opened in a browser. */
  document?: true;
}

export type ImageFormat = "jpeg" | "png" | "gif" | "webp";

const jpeg: FileType = { mime: "image/jpeg", found: ["jpg"], image: "jpeg" };

/** The file types by extension. */
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

/** The types of program files uploaded for import. Other uploads may not have these types. */
export const programTypes: Readonly<Record<string, FileType>> = {
  json: { mime: "application/json", found: [], document: true },
  xml: { mime: "application/xml", found: ["xml"], document: true },
  ics: { mime: "text/calendar; charset=utf-8", found: ["ics"], document: true },
  csv: { mime: "text/csv; charset=utf-8", found: [], document: true },
};

/** Returns the type of a stored file, by its name or key; undefined if no stored file can have this name. */
export const typeOf = (name: string): FileType | undefined => {
  const extension = extensionOf(name);
  return fileTypes[extension] ?? programTypes[extension];
};

/** Returns the extension of a file name in lower case; empty if there is none. */
export const extensionOf = (name: string): string =>
  /\.([^./\\]+)$/.exec(name)?.[1]?.toLowerCase() ?? "";

/** Returns the MIME type of a file, by its name or key. */
export const mimeTypeOf = (name: string): string =>
  typeOf(name)?.mime ?? "application/octet-stream";

/** Returns the file id in a key, `pub/<world>/<id>.<secret>.<extension>`. */
export const fileIdOf = (key: string): string =>
  key.slice(key.lastIndexOf("/") + 1).split(".", 1)[0]!;

/** The longest side of a picture's preview, in pixels. */
export const PREVIEW_SIDE = 640;

const PREVIEW = ".preview.webp";

/** Returns the key of a picture's preview, which has the picture's id and secret. */
export const previewKeyOf = (key: string): string => key.slice(0, key.lastIndexOf(".")) + PREVIEW;

/** Whether a key is that of a preview. */
export const isPreview = (key: string): boolean => key.endsWith(PREVIEW);

/** Matches the secret in a file name, `<id>.<secret>.<extension>`, along with the preceding part. */
const SECRET = /([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\.)[\w-]{12}(?=\.)/gi;

/** Removes file secrets from text: anybody who knows a file's secret can read the file. */
export const withoutFileSecrets = (text: string): string => text.replace(SECRET, "$1…");

/** Removes file secrets from a request path, which may be percent-encoded. */
export function pathWithoutFileSecrets(path: string): string {
  let decoded: string;
  try {
    decoded = decodeURIComponent(path);
  } catch {
    // A path that cannot be decoded never matches a file.
    return withoutFileSecrets(path);
  }
  const safe = withoutFileSecrets(decoded);
  return safe === decoded ? path : safe;
}
