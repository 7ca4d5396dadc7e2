import type { TSchema } from "@sinclair/typebox";
import { components } from "../../schemas/openapi/components.js";
import { liveErrors, liveModules } from "../../schemas/live/errors.js";
import {
  ListedUser,
  LiveProblem,
  NewRoom,
  OwnUser,
  Profile,
  PublicUser,
  RoomSettings,
  SentAnnouncement,
  SentRoom,
  SentWorld,
  WorldSettings,
  WorldState,
} from "../../schemas/live/index.js";
import { pascalCase } from "../../schemas/feed-data.js";
import { AnyObject } from "../../schemas/live/values.js";
import { toOpenapiSchema, type JsonObject } from "../../schemas/openapi/openapi-schema.js";

/** The document's named schemas. A name that OpenAPI also uses has the same meaning in both documents. */
const named: Record<string, TSchema> = {
  ...Object.fromEntries(components.map((schema) => [schema.$id!, schema])),
  JsonObject: AnyObject,
  Profile,
  PublicUser,
  OwnUser,
  ListedUser,
  SentAnnouncement,
  SentRoom,
  NewRoom,
  SentWorld,
  WorldState,
  RoomSettings,
  WorldSettings,
};

const schemaRef = (name: string) => ({ $ref: `#/components/schemas/${name}` });

/** Schema names by the JSON text of the converted schema, computed lazily. */
let names: Map<string, string> | undefined;

function nameOf(part: object): string | undefined {
  names ??= new Map(
    Object.entries(named).map(([name, schema]) => [JSON.stringify(toOpenapiSchema(schema)), name]),
  );
  return names.get(JSON.stringify(part));
}

/** Converts a schema for the AsyncAPI document. Each part that equals a named schema becomes a reference. */
export const toAsyncapiSchema = (schema: TSchema): JsonObject =>
  withRefs(toOpenapiSchema(schema)) as JsonObject;

function withRefs(part: unknown): unknown {
  if (typeof part !== "object" || part === null) return part;
  const name = nameOf(part);
  return name === undefined ? innerRefs(part) : schemaRef(name);
}

function innerRefs(part: object): unknown {
  if (Array.isArray(part)) return part.map(withRefs);
  return Object.fromEntries(Object.entries(part).map(([key, inner]) => [key, withRefs(inner)]));
}

/** Keywords for which code generators create a class or an enum. */
const CLASSES = ["properties", "additionalProperties", "enum", "anyOf", "allOf"];

/** Adds titles to a schema's parts, because code generators derive names from titles. */
export function titled(schema: JsonObject, title: string): JsonObject {
  if ("$ref" in schema) return schema;
  const part = (inner: unknown, name: string) =>
    typeof inner === "object" && inner !== null
      ? titled(inner as JsonObject, `${title}${name}`)
      : inner;
  const { properties, items, additionalProperties, anyOf } = schema;
  const isNamed = "title" in schema || !CLASSES.some((word) => word in schema);
  return {
    ...(!isNamed && { title }),
    ...schema,
    ...(properties !== undefined && {
      properties: Object.fromEntries(
        Object.entries(properties as JsonObject).map(([name, inner]) => [
          name,
          part(inner, pascalCase(name)),
        ]),
      ),
    }),
    ...(items !== undefined && !Array.isArray(items) && { items: part(items, "Item") }),
    ...(additionalProperties !== undefined && {
      additionalProperties: part(additionalProperties, "Value"),
    }),
    ...(Array.isArray(anyOf) && {
      anyOf: anyOf.map((inner, i) => part(inner, `Option${i + 1}`)),
    }),
  };
}

/** Each module's error code for an unknown command. */
export const unsupportedErrors: readonly string[] = liveModules.map(
  (module) => `${module}.unsupported_command`,
);

const codes: readonly (readonly [string, string])[] = [
  ...Object.entries(liveErrors),
  ...unsupportedErrors.map((code) => [code, "The module has no such command."] as const),
];

function problemSchema(): JsonObject {
  const { properties, ...rest } = innerRefs(toOpenapiSchema(LiveProblem)) as JsonObject;
  return {
    description: "Why a command failed. Programs read the code.",
    ...rest,
    properties: { ...(properties as JsonObject), code: schemaRef("ErrorCode") },
  };
}

/** Returns the named schemas that `document` refers to, directly or transitively. */
export function schemasFor(document: unknown): JsonObject {
  const all: Record<string, JsonObject> = {
    CommandId: { description: "Any JSON. The response repeats it; most clients count from 1." },
    ErrorCode: {
      description: "Why a command failed, for programs.",
      type: "string",
      oneOf: codes.map(([code, description]) => ({ const: code, description })),
    },
    LiveProblem: problemSchema(),
  };
  for (const [name, schema] of Object.entries(named)) {
    all[name] = innerRefs(toOpenapiSchema(schema)) as JsonObject;
  }
  const reached = new Set(refsOf(document));
  for (const name of reached) refsOf(all[name]).forEach((n) => reached.add(n));
  return Object.fromEntries(
    Object.entries(all)
      .filter(([name]) => reached.has(name))
      .map(([name, schema]) => [name, titled(schema, name)]),
  );
}

const refsOf = (part: unknown): string[] =>
  [...JSON.stringify(part).matchAll(/"#\/components\/schemas\/(\w+)"/g)].map(([, name]) => name!);
