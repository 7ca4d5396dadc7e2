import type { TSchema } from "@sinclair/typebox";

/** A part of an OpenAPI document. */
export type JsonObject = Record<string, unknown>;

/** A string without NUL characters. */
const storable = { type: "string", pattern: "^[^\\u0000]*$" };

/**
 * The schema of a field with any JSON value. The schema has no type, because a proper schema for
 * JSON is recursive, and many generators fail on recursive schemas.
 */
const anyJson: JsonObject = {
  description: "Any JSON, nested at most 100 levels deep, without NULs.",
};

/**
 * Converts a schema for use in an OpenAPI document: to JSON Schema 2020-12, with references by name
 * and without TypeBox's own keywords. `patternProperties` with a single pattern becomes
 * `propertyNames` and `additionalProperties`, which more tools support.
 */
export function toOpenapiSchema(schema: TSchema): JsonObject {
  return convert(JSON.parse(JSON.stringify(schema))) as JsonObject;
}

function convert(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(convert);
  if (typeof value !== "object" || value === null) return value;
  const { $id: _, $ref, patternProperties, ...rest } = value as JsonObject;
  if ($ref) return { $ref: `#/components/schemas/${$ref as string}` };
  const converted: JsonObject = {};
  for (const [keyword, inner] of Object.entries(rest)) {
    const isData = keyword === "examples" || keyword === "default";
    converted[keyword] = isData ? inner : convert(inner);
  }
  if (patternProperties) {
    const [[pattern, inner] = ["", {}]] = Object.entries(patternProperties);
    // TypeBox's pattern for any name is omitted, because it does not match names with line breaks.
    if (pattern !== "^(.*)$") converted.propertyNames ??= { pattern };
    converted.additionalProperties = convert(inner);
  } else if (rest.additionalProperties === true) {
    converted.propertyNames = storable;
    converted.additionalProperties = anyJson;
  }
  return withNull(converted);
}

/** Merges a union of a plain type and null into one nullable type: generators fail on such unions. */
function withNull({ anyOf, ...rest }: JsonObject): JsonObject {
  if (!Array.isArray(anyOf)) return rest;
  const [one, other] = anyOf as JsonObject[];
  const isPlain = anyOf.length === 2 && other!.type === "null" && typeof one!.type === "string";
  if (!isPlain) return { ...rest, anyOf };
  return { ...rest, ...one, type: [one!.type, "null"] };
}
