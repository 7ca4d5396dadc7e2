import { Faults, Problem } from "../../schemas/errors.js";
import type { JsonObject } from "../../schemas/document.js";
import { FileProblem } from "../../schemas/files.js";

/** Who may call, and how it is shown. */
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

/** Headers of answers. */
export const headers = {
  "X-Request-Id": {
    description: "Finds the request in the log.",
    schema: { type: "string", format: "uuid" },
  },
  "X-Content-Type-Options": {
    description: "The type of the body is what it says.",
    schema: { type: "string", const: "nosniff" },
  },
  ETag: {
    description: "Names the state that was answered.",
    schema: { type: "string" },
  },
  "Cache-Control": {
    description: "How long it may be kept.",
    schema: { type: "string" },
  },
  Location: {
    description: "Where it is.",
    schema: { type: "string", format: "uri" },
  },
  "WWW-Authenticate": {
    description: "How to show who is calling.",
    schema: { type: "string", const: "Bearer" },
  },
  "Retry-After": {
    description: "After how many seconds to try again.",
    schema: { type: "string", pattern: "^[0-9]+$" },
  },
} satisfies Record<string, JsonObject>;
export type HeaderName = keyof typeof headers;

/** Headers of conditional requests. */
export const parameters = {
  IfMatch: {
    name: "If-Match",
    in: "header",
    description: "Do it only in the state that this ETag names.",
    schema: { type: "string" },
  },
  IfNoneMatch: {
    name: "If-None-Match",
    in: "header",
    description: "Answer 304 in the state that this ETag names.",
    schema: { type: "string" },
  },
} satisfies Record<string, JsonObject>;

type Named = { $id?: string };

function refusal(
  description: string,
  bodies: readonly Named[],
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
        },
      },
    }),
  };
}

/** How calls are refused, by names that the operations refer to. */
export const responses = {
  NotModified: {
    description: "The client has it already.",
    headers: headerRefs("ETag", "Cache-Control"),
  },
  InvalidData: refusal(
    "What was sent is not valid.",
    [Faults, Problem],
    "Cache-Control",
  ),
  InvalidFile: refusal("The file is not taken.", [FileProblem, Problem]),
  Unauthenticated: refusal(
    "Who is calling could not be told.",
    [Problem],
    "WWW-Authenticate",
    "Cache-Control",
  ),
  Forbidden: refusal(
    "It does not exist, or the caller may not.",
    [Problem],
    "Cache-Control",
  ),
  NoUpload: refusal("The caller may not upload here.", []),
  NotFound: refusal("There is no such file.", [Problem]),
  Malformed: refusal("The request is not valid HTTP.", [Problem]),
  Changed: refusal("It was changed in between.", [Problem], "Cache-Control"),
  TooLarge: refusal(
    "The body is larger than 1 MiB.",
    [Problem],
    "Cache-Control",
  ),
  NotJson: refusal("The body is not JSON.", [Problem], "Cache-Control"),
  TooMany: refusal(
    "Too many requests in a minute.",
    [Problem],
    "Retry-After",
    "Cache-Control",
  ),
  Failed: refusal("The server failed.", [Problem], "Cache-Control"),
  NotNow: refusal(
    "Not now. Try again.",
    [Problem],
    "Retry-After",
    "Cache-Control",
  ),
} satisfies Record<string, JsonObject>;
export type ResponseName = keyof typeof responses;

export const responseRef = (name: ResponseName) => ({
  $ref: `#/components/responses/${name}`,
});

function schemaRef({ $id }: Named) {
  return { $ref: `#/components/schemas/${$id!}` };
}

/**
 * Headers by the names under which they are described.
 * @param names those beside what every answer has.
 */
export function headerRefs(...names: HeaderName[]) {
  const all: HeaderName[] = [
    "X-Request-Id",
    "X-Content-Type-Options",
    ...names,
  ];
  return Object.fromEntries(
    all.map((name) => [name, { $ref: `#/components/headers/${name}` }]),
  );
}
