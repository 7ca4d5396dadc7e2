import type { components } from "./api.js";

type Schemas = components["schemas"];

/** The code of an API error. */
export type ProblemCode = Schemas["Problem"]["code"];
/** The code of an upload error. */
export type UploadCode = Schemas["FileProblem"]["error"];

/** Thrown if the server responds with an error. */
export class FoyerError extends Error {
  /**
   * @param status the HTTP status.
   * @param detail the reason, as a sentence.
   * @param fields the messages about submitted data, by the dotted path of the field.
   * @param retryAfter the number of seconds to wait before a retry, if the server sent it.
   * @param code the reason, as a machine-readable word. Uploads have their own codes; invalid data
   * has no code.
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

/** Converts an error response to a {@link FoyerError}. */
export async function errorOf(answer: Response): Promise<FoyerError> {
  const after = Number(answer.headers.get("retry-after") ?? NaN);
  const retryAfter = Number.isNaN(after) ? undefined : after;
  const body: unknown = await answer.json().catch(() => undefined);
  const { status } = answer;
  if (typeof body !== "object" || body === null) {
    return new FoyerError(status, answer.statusText, {}, retryAfter);
  }
  const {
    detail,
    error,
    code,
    fields: taken,
  } = body as { fields?: Record<string, string[]> } & Partial<
    Schemas["Problem"] & Schemas["FileProblem"]
  >;
  const reason = detail ?? error;
  // A field of submitted data may be called "detail", but then its value is a list of messages.
  if (typeof reason === "string") {
    return new FoyerError(status, reason, taken, retryAfter, code ?? error);
  }
  const fields = body as Record<string, string[]>;
  const sentences = Object.entries(fields).map(
    ([field, messages]) => `${field}: ${messages.join(" ")}`,
  );
  return new FoyerError(status, sentences.join(" "), fields, retryAfter);
}
