import { Type } from "@sinclair/typebox";
import { OneOf } from "./values.js";

/** Where an uploaded file is. */
export const Upload = Type.Object(
  { url: Type.String({ format: "uri" }) },
  {
    $id: "Upload",
    description: "Where an uploaded file is.",
    examples: [
      {
        url: "https://summit.example.org/media/pub/summit/0d6f1a3e-8c1b-4a55-9f5e-2f6d4c7a9b10.dZxQJU8_ZgNT.jpg",
      },
    ],
  },
);

/** Why a file was not taken. */
export const FileProblem = Type.Object(
  { error: OneOf("file.missing", "file.type", "file.size") },
  {
    $id: "FileProblem",
    description: "Why a file was not taken.",
    examples: [{ error: "file.type" }],
  },
);

/** The form that carries a file: exactly one part. */
export const UploadForm = Type.Object(
  {
    file: Type.Unsafe<Blob>({
      type: "string",
      contentMediaType: "application/octet-stream",
    }),
  },
  {
    $id: "UploadForm",
    description: "Exactly one part, a file.",
    additionalProperties: false,
  },
);

/** The two names in the link to a file. */
export const MediaParams = Type.Object({
  world: Type.String({
    description: "The world in which it was uploaded.",
    examples: ["summit"],
  }),
  name: Type.String({
    description: "An id, a secret and the extension of its type.",
    examples: ["0d6f1a3e-8c1b-4a55-9f5e-2f6d4c7a9b10.dZxQJU8_ZgNT.jpg"],
  }),
});

/** A kind of file that may be uploaded. */
export interface FileType {
  /** As in Content-Type. */
  mime: string;
  /** What its content may be found to be, in the words of file-type. */
  found: readonly string[];
  /** Whether it goes through the image library. */
  image?: ImageFormat;
}

export type ImageFormat = "jpeg" | "png" | "gif" | "webp";

const jpeg: FileType = { mime: "image/jpeg", found: ["jpg"], image: "jpeg" };

/** By the extension of a name. */
export const fileTypes: Readonly<Record<string, FileType>> = {
  png: { mime: "image/png", found: ["png", "apng"], image: "png" },
  jpg: jpeg,
  jpeg,
  gif: { mime: "image/gif", found: ["gif"], image: "gif" },
  webp: { mime: "image/webp", found: ["webp"], image: "webp" },
  pdf: { mime: "application/pdf", found: ["pdf"] },
  svg: { mime: "image/svg+xml", found: ["svg"] },
  mp4: { mime: "video/mp4", found: ["mp4", "m4v"] },
  webm: { mime: "video/webm", found: ["webm"] },
  mp3: { mime: "audio/mpeg", found: ["mp3"] },
};

/** The extension of a file name, in lower case; empty where there is none. */
export const extensionOf = (name: string): string =>
  /\.([^./\\]+)$/.exec(name)?.[1]?.toLowerCase() ?? "";
