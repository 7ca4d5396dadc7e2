import type { TObject, TSchema } from "@sinclair/typebox";
import type { FastifySchema, RouteOptions } from "fastify";
import { components } from "../../schemas/openapi/components.js";
import { toOpenapiSchema, type JsonObject } from "../../schemas/openapi/openapi-schema.js";
import { headerRefs, responseRef, type HeaderName, type ResponseName } from "./parts.js";

import { isConditional } from "../replies.js";

declare module "fastify" {
  interface FastifyContextConfig {
    /** It admits the operator of the server only, by its ADMIN_TOKEN. */
    operated?: true;
    /** Answers, or forms of an answer, that are not JSON, as OpenAPI response objects. */
    answers?: Record<number, JsonObject>;
    /** The body by its media types, if no schema checks it. */
    receives?: JsonObject;
  }
  interface FastifySchema {
    operationId?: string;
    summary?: string;
    description?: string;
    tags?: readonly string[];
    /** The media types of the body, if it is not JSON. */
    consumes?: readonly string[];
  }
}

/** The schemas of a route, with the types that this code uses. */
interface RouteSchema extends FastifySchema {
  params?: TObject;
  querystring?: TObject;
  body?: TSchema;
  response?: Record<number, TSchema>;
}

/** A route as an operation of an OpenAPI document. */
export function operationOf(route: RouteOptions): JsonObject {
  const { operationId, summary, description, tags, body, consumes } = route.schema as RouteSchema;
  return {
    operationId,
    summary,
    ...(description !== undefined && { description }),
    tags,
    security: securityOf(route),
    parameters: parametersOf(route),
    ...(route.config?.receives && {
      requestBody: { required: true, content: route.config.receives },
    }),
    ...(body && {
      requestBody: {
        required: true,
        content: { [consumes?.[0] ?? "application/json"]: { schema: toOpenapiSchema(body) } },
      },
    }),
    responses: { ...refusalsOf(route), ...answersOf(route) },
  };
}

const isGuarded = ({ config }: RouteOptions): boolean =>
  Array.isArray(config?.requires) || config?.operated === true;

const isUpload = ({ schema }: RouteOptions): boolean => schema?.consumes !== undefined;

function securityOf(route: RouteOptions): Record<string, string[]>[] {
  if (isGuarded(route)) return [{ Bearer: [] }];
  return isUpload(route) ? [{ Bearer: [] }, { Client: [] }] : [];
}

/** The condition that a route reads, if any. */
function conditionOf({ config, method }: RouteOptions) {
  if (method === "GET") return config?.versioned && "IfNoneMatch";
  return isConditional({ config, method }) ? "IfMatch" : undefined;
}

function parametersOf(route: RouteOptions) {
  const { params, querystring } = route.schema as RouteSchema;
  const condition = conditionOf(route);
  return [
    ...parametersIn("path", params),
    ...parametersIn("query", querystring),
    ...(condition ? [{ $ref: `#/components/parameters/${condition}` }] : []),
  ];
}

function parametersIn(place: "path" | "query", schema?: TObject) {
  return Object.entries(schema?.properties ?? {}).map(([name, property]) => {
    const { description, examples, ...inner } = toOpenapiSchema(property);
    return {
      name,
      in: place,
      required: place === "path",
      ...(description !== undefined && { description: description as string }),
      ...(examples !== undefined && { example: (examples as unknown[])[0] }),
      schema: inner,
    };
  });
}

function answersOf(route: RouteOptions): JsonObject {
  const { response = {} } = route.schema as RouteSchema;
  const answers: JsonObject = { ...route.config?.answers };
  for (const [status, body] of Object.entries(response)) {
    const named = components.find(({ $id }) => $id === body.$ref) ?? body;
    const { content: otherForms } = (answers[status] ?? {}) as {
      content?: JsonObject;
    };
    answers[status] = {
      description: named.description ?? "The answer.",
      headers: headerRefs(...headersOf(route, Number(status))),
      ...(body.type !== "null" && {
        content: { "application/json": { schema: toOpenapiSchema(body) }, ...otherForms },
      }),
    };
  }
  return answers;
}

function headersOf(route: RouteOptions, status: number): HeaderName[] {
  const names: HeaderName[] = [];
  if (Array.isArray(route.config?.requires)) names.push("Cache-Control");
  if (route.config?.versioned && status !== 204) names.push("ETag");
  if (status === 201 && isGuarded(route)) names.push("Location");
  return names;
}

/** The refusals of a route, derived from its declarations. */
function refusalsOf(route: RouteOptions): JsonObject {
  const guarded = isGuarded(route);
  const upload = isUpload(route);
  const writes = route.method !== "GET";
  const condition = conditionOf(route);
  const names: Record<string, ResponseName | false | undefined> = {
    304: condition === "IfNoneMatch" && "NotModified",
    400: upload
      ? "InvalidFile"
      : writes || route.url.startsWith("/api/v1/")
        ? "InvalidData"
        : "Malformed",
    401: guarded && "Unauthenticated",
    403: upload ? "NoUpload" : guarded && "Forbidden",
    412: guarded && writes && "Changed",
    413: guarded && writes && "TooLarge",
    415: guarded && writes && "NotJson",
    429: ((guarded && !route.config?.operated) || upload) && "TooMany",
    500: "Failed",
    503: "NotNow",
  };
  return Object.fromEntries(
    Object.entries(names).flatMap(([status, name]) => (name ? [[status, responseRef(name)]] : [])),
  );
}
