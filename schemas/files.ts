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
      // Of OpenAPI 3.0: many generators know a file by nothing else.
      format: "binary",
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
    examples: ["sample"],
  }),
  name: Type.String({
    description: "An id, a secret and the extension of its type.",
    examples: ["0d6f1a3e-8c1b-4a55-9f5e-2f6d4c7a9b10.dZxQJU8_ZgNT.jpg"],
  }),
});
