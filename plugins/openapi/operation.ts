import type { TObject, TSchema } from "@sinclair/typebox";
import type { FastifySchema, RouteOptions } from "fastify";
import { components } from "../../schemas/openapi/components.js";
import { toOpenapiSchema, type JsonObject } from "../../schemas/openapi/openapi-schema.js";
import { person } from "../auth/person.js";
import { headerRefs, responseRef, type HeaderName, type ResponseName } from "./parts.js";

import { isConditional } from "../replies.js";

declare module "fastify" {
  interface FastifyContextConfig {
    /** Whether the route admits only the server's operator, by ADMIN_TOKEN. */
    operated?: true;
    /** Non-JSON responses, or non-JSON representations of responses, as OpenAPI response objects by status. */
    answers?: Record<number, JsonObject>;
    /** Whether nothing may keep the route's responses, because they have credentials. */
    uncached?: true;
    /** The request body by media type, if no schema validates the body. */
    receives?: JsonObject;
  }
  interface FastifySchema {
    operationId?: string;
    summary?: string;
    description?: string;
    tags?: readonly string[];
    /** The request body's media types, if the body is not JSON. */
    consumes?: readonly string[];
  }
}

/** A route's schemas, with the types that this code expects. */
interface RouteSchema extends FastifySchema {
  params?: TObject;
  querystring?: TObject;
  body?: TSchema;
  response?: Record<number, TSchema>;
}

/** Converts a route to an OpenAPI operation. */
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

/** Whether a route is about its caller: a person with a token, or a guest. */
const isPersonal = ({ config }: RouteOptions): boolean => config?.requires === person;

const isUpload = ({ schema }: RouteOptions): boolean => schema?.consumes !== undefined;

function securityOf(route: RouteOptions): Record<string, string[]>[] {
  if (isGuarded(route)) return [{ Bearer: [] }];
  const admitsGuests = isUpload(route) || isPersonal(route);
  return admitsGuests ? [{ Bearer: [] }, { Client: [] }] : [];
}

/** Returns the precondition that a route supports, if any. */
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
      description: named.description ?? "The response.",
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
  const { requires, uncached } = route.config ?? {};
  if (Array.isArray(requires) || uncached) names.push("Cache-Control");
  if (route.config?.versioned && status !== 204) names.push("ETag");
  if (status === 201 && isGuarded(route)) names.push("Location");
  return names;
}

/** Derives a route's error responses from the route's declarations. */
function refusalsOf(route: RouteOptions): JsonObject {
  const guarded = isGuarded(route) || isPersonal(route);
  const upload = isUpload(route);
  const writes = route.method !== "GET";
  const isApi = route.url.startsWith("/api/v1/");
  const readsBody = writes && (guarded || isApi);
  const condition = conditionOf(route);
  const names: Record<string, ResponseName | false | undefined> = {
    304: condition === "IfNoneMatch" && "NotModified",
    400: upload ? "InvalidFile" : writes || isApi ? "InvalidData" : "Malformed",
    401: guarded && "Unauthenticated",
    403: upload ? "NoUpload" : guarded && "Forbidden",
    412: readsBody && "Changed",
    413: readsBody && "TooLarge",
    415: readsBody && "NotJson",
    429: ((guarded && !route.config?.operated) || upload) && "TooMany",
    500: "Failed",
    503: "NotNow",
  };
  return Object.fromEntries(
    Object.entries(names).flatMap(([status, name]) => (name ? [[status, responseRef(name)]] : [])),
  );
}
