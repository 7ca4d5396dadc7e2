import { Type } from "@sinclair/typebox";
import { OneOf, PageOf, Text } from "./values.js";
import { WorldParams } from "./worlds.js";

/** The response to an upload. */
export const Upload = Type.Object(
  { url: Type.String({ format: "uri" }) },
  {
    $id: "Upload",
    description: "The location of an uploaded file.",
    examples: [
      {
        url: "https://summit.example.org/media/pub/summit/0d6f1a3e-8c1b-4a55-9f5e-2f6d4c7a9b10.dZxQJU8_ZgNT.jpg",
      },
    ],
  },
);

/** The response to a refused upload. */
export const FileProblem = Type.Object(
  { error: OneOf("file.missing", "file.type", "file.size") },
  {
    $id: "FileProblem",
    description: "Why a file was rejected.",
    examples: [{ error: "file.type" }],
  },
);

const Side = Type.Optional(
  Type.Integer({
    minimum: 1,
    maximum: 10_000,
    description: "A dimension of the box into which an image is scaled down, in pixels.",
  }),
);

/** The form fields of an upload: a file, and optionally a box that images are scaled down to fit. */
export const UploadForm = Type.Object(
  {
    file: Type.Unsafe<Blob>({
      type: "string",
      // From OpenAPI 3.0: many generators recognize files only by this format.
      format: "binary",
      contentMediaType: "application/octet-stream",
    }),
    width: Side,
    height: Side,
  },
  {
    $id: "UploadForm",
    description:
      "One file. Either both or none of `width` and `height`: an image that does not fit into this box is scaled down.",
    dependentRequired: { width: ["height"], height: ["width"] },
    additionalProperties: false,
  },
);

/** The destination of an upload. */
export const UploadQuery = Type.Object({
  world: Type.Optional(
    Type.String({ description: "The identifier of the world to upload to.", examples: ["sample"] }),
  ),
});

/** The two names in a file's path. */
export const MediaParams = Type.Object({
  world: Type.String({
    description: "The world to which the file was uploaded.",
    examples: ["sample"],
  }),
  name: Type.String({
    description: "An id, a secret and the extension of its type.",
    examples: ["0d6f1a3e-8c1b-4a55-9f5e-2f6d4c7a9b10.dZxQJU8_ZgNT.jpg"],
  }),
});

/** Which version of a file to serve. */
export const MediaQuery = Type.Object({
  preview: Type.Optional(
    Type.String({
      description:
        "For a picture, a WebP of at most 640 by 640 pixels, without animation. If there is no preview, the file itself: small pictures, other types, and files from earlier versions have no preview. The value is ignored.",
    }),
  ),
});

/** A file in a world's list. */
export const File = Type.Object(
  {
    id: Text({ format: "uuid" }),
    url: Type.String({ format: "uri", description: "The URL of the file." }),
    size: Type.Integer({ description: "In bytes." }),
    type: Type.String({ description: "Its MIME type." }),
    user_id: Type.Unsafe<string | null>({
      type: ["string", "null"],
      description: "The user who uploaded it; null once that user is erased.",
    }),
    uploaded_at: Type.String({ format: "date-time" }),
  },
  { $id: "File", description: "A file that was uploaded to a world." },
);

/** A page of a world's files. */
export const FileList = PageOf(File, {
  $id: "FileList",
  description: "A page of the files of a world, newest first.",
  example: {
    id: "0d6f1a3e-8c1b-4a55-9f5e-2f6d4c7a9b10",
    url: "https://summit.example.org/media/pub/summit/0d6f1a3e-8c1b-4a55-9f5e-2f6d4c7a9b10.dZxQJU8_ZgNT.jpg",
    size: 48213,
    type: "image/jpeg",
    user_id: "7c9e6679-7425-40de-944b-e07fc1f90ae7",
    uploaded_at: "2027-01-31T09:30:00.000Z",
  },
});

export const FileParams = Type.Object({
  ...WorldParams.properties,
  file_id: Type.String({
    description: "The identifier of a file.",
    examples: ["0d6f1a3e-8c1b-4a55-9f5e-2f6d4c7a9b10"],
  }),
});
