import { Faults, Problem, type ProblemCode } from "../../schemas/errors.js";
import type { JsonObject } from "../../schemas/openapi/openapi-schema.js";
import { FileProblem } from "../../schemas/files.js";

/** The authentication methods. */
export const securitySchemes: Record<string, JsonObject> = {
  Bearer: {
    type: "http",
    scheme: "bearer",
    bearerFormat: "JWT",
    description:
      "HS256, signed with a key of the world. Carries iss, aud and exp, and may carry iat, nbf, uid, traits and profile.",
  },
  Client: {
    type: "apiKey",
    in: "header",
    name: "Authorization",
    description:
      "`Client <CLIENT_ID>`: a guest, by a name of 1 to 200 characters of A-Z a-z 0-9 . _ ~ - that it chose and keeps.",
  },
};

/** Response headers. */
export const headers = {
  "X-Request-Id": {
    description: "Identifies the request in the log.",
    schema: { type: "string", format: "uuid" },
  },
  "X-Content-Type-Options": {
    description: "The body has exactly the declared type.",
    schema: { type: "string", const: "nosniff" },
  },
  ETag: { description: "Identifies the version in the response.", schema: { type: "string" } },
  "Cache-Control": {
    description: "How long the response may be cached.",
    schema: { type: "string" },
  },
  "Content-Disposition": {
    description: "The file name that a browser suggests for the download.",
    schema: { type: "string" },
  },
  Location: { description: "The URL of the resource.", schema: { type: "string", format: "uri" } },
  "Accept-Encoding": {
    description: "The supported encodings of a request body.",
    schema: { type: "string", const: "identity" },
  },
  "WWW-Authenticate": {
    description: "How a caller authenticates.",
    schema: { type: "string", const: "Bearer" },
  },
  "Retry-After": {
    description: "The number of seconds after which to try again.",
    schema: { type: "string", pattern: "^[0-9]+$" },
  },
} satisfies Record<string, JsonObject>;
export type HeaderName = keyof typeof headers;

/** Request headers for conditional requests. */
export const parameters = {
  IfMatch: {
    name: "If-Match",
    in: "header",
    description: "Proceed only if the current version has this ETag.",
    schema: { type: "string" },
  },
  IfNoneMatch: {
    name: "If-None-Match",
    in: "header",
    description: "Respond with 304 if the current version has this ETag.",
    schema: { type: "string" },
  },
} satisfies Record<string, JsonObject>;

type Named = { $id?: string };

/** Named examples of a body, as OpenAPI example objects. */
type Examples = Record<string, { value: object }>;

/** Builds an example of a Problem, named after its code. */
const problem = (code: ProblemCode, detail: string): Examples => ({
  [code]: { value: { detail, code } },
});

function refusal(
  description: string,
  examples: Examples,
  bodies: readonly Named[] = [Problem],
  ...names: HeaderName[]
): JsonObject {
  const schemas = bodies.map(schemaRef);
  return {
    description,
    headers: headerRefs(...names),
    ...(schemas.length > 0 && {
      content: {
        "application/json": {
          schema: schemas.length === 1 ? schemas[0]! : { anyOf: schemas },
          examples,
        },
      },
    }),
  };
}

/**
 * Describes a refusal that may occur after the caller was admitted, and whose response therefore
 * has a Cache-Control header.
 */
const refused = (description: string, code: ProblemCode, detail: string, ...names: HeaderName[]) =>
  refusal(description, problem(code, detail), [Problem], ...names, "Cache-Control");

const badHost = problem("invalid_request", "The Host header must be a valid host name.");

/** Shared responses, by the names that operations refer to. */
export const responses = {
  NotModified: {
    description: "The client has it already.",
    headers: headerRefs("ETag", "Cache-Control"),
  },
  InvalidData: refusal(
    "What was sent is not valid.",
    {
      fields: {
        value: { name: ["This field is required."], "module_config.0.type": ["May not be empty."] },
      },
      ...problem("invalid_json", "The body is empty, but JSON was expected."),
      ...badHost,
    },
    [Faults, Problem],
    "Cache-Control",
  ),
  InvalidFile: refusal(
    "The file is not taken.",
    {
      missing: { value: { error: "file.missing" } },
      type: { value: { error: "file.type" } },
      size: { value: { error: "file.size" } },
      ...badHost,
    },
    [FileProblem, Problem],
  ),
  InvalidProgram: refusal(
    "The file is not taken, or it is no program.",
    {
      type: { value: { error: "file.type" } },
      program: { value: { non_field_errors: ["Line 3: The time cannot be read."] } },
      ...badHost,
    },
    [FileProblem, Faults, Problem],
  ),
  Unauthenticated: refusal(
    "The caller could not be identified.",
    problem("unauthenticated", "Authentication credentials were not provided."),
    [Problem],
    "WWW-Authenticate",
    "Cache-Control",
  ),
  Forbidden: refusal(
    "It does not exist, or the caller may not. Callers who hold `world.update` read which (`missing`).",
    {
      ...problem("forbidden", "You do not have permission to perform this action."),
      ...problem("missing", "There is no such room."),
    },
    [Problem],
    "Cache-Control",
  ),
  NoUpload: refusal("The caller may not upload here.", {}, []),
  NotFound: refusal("There is no such file.", problem("not_found", "Not found.")),
  Malformed: refusal("The request is not valid HTTP.", badHost),
  Expired: refused(
    "Entries after the cursor are not kept any more.",
    "cursor_expired",
    "Entries after this cursor are no longer kept.",
  ),
  Conflict: refusal(
    "Something else has a value already (`conflict`), or the world has as much as it may have (`quota`).",
    {
      conflict: {
        value: {
          detail: "Another session already has it.",
          code: "conflict",
          fields: { import_id: ["Another session already has it."] },
        },
      },
      ...problem("quota", "A world may have at most 20 webhooks."),
    },
    [Problem],
    "Cache-Control",
  ),
  NoCall: refused("The room has no calls.", "call.unknown", "There is no call here."),
  FullCall: refused("The call is full.", "call.full", "The call is full."),
  Changed: refused(
    "It was changed in between.",
    "changed",
    "It has been changed since. Fetch it again and retry.",
  ),
  TooLarge: refused("The body is larger than 1 MiB.", "too_large", "The body is too large."),
  NotJson: refused(
    "The body is not JSON.",
    "unsupported_media_type",
    "The body must be JSON, sent with Content-Type: application/json.",
    "Accept-Encoding",
  ),
  TooMany: refused(
    "Too many requests in a minute.",
    "rate_limited",
    "Too many requests. Try again later.",
    "Retry-After",
  ),
  Failed: refused("The server failed.", "fault", "Internal server error."),
  NotNow: refused(
    "Not now. Try again.",
    "unavailable",
    "The server is too busy. Try again soon.",
    "Retry-After",
  ),
} satisfies Record<string, JsonObject>;
export type ResponseName = keyof typeof responses;

export const responseRef = (name: ResponseName) => ({
  $ref: `#/components/responses/${name}`,
});

/** Returns a reference to a named schema. */
export function schemaRef({ $id }: Named) {
  return { $ref: `#/components/schemas/${$id!}` };
}

/**
 * Returns references to header descriptions.
 * @param names the headers in addition to the headers of every response.
 */
export function headerRefs(...names: HeaderName[]) {
  const all: HeaderName[] = ["X-Request-Id", "X-Content-Type-Options", ...names];
  return Object.fromEntries(all.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}
