import type { components } from "./api.js";

type Schemas = components["schemas"];

/** The code of an API error. */
export type ProblemCode = Schemas["Problem"]["code"];
/** The code of an upload error. */
export type UploadCode = Schemas["FileProblem"]["error"];

/** The server answered with an error. */
export class FoyerError extends Error {
  /**
   * @param status the HTTP status.
   * @param detail the reason, as a sentence.
   * @param fields the messages about submitted data by field, in dotted paths.
   * @param retryAfter after how many seconds to try again, if the server says so.
   * @param code the reason, as a word for programs. Uploads have codes of their own;
   *   invalid data has none.
   */
  constructor(
    readonly status: number,
    readonly detail: string,
    readonly fields: Readonly<Record<string, string[]>> = {},
    readonly retryAfter?: number,
    readonly code?: ProblemCode | UploadCode,
  ) {
    super(`${status} ${detail}`);
    this.name = "FoyerError";
  }
}
