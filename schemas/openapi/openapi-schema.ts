import type { TSchema } from "@sinclair/typebox";

/** A part of an OpenAPI document. */
export type JsonObject = Record<string, unknown>;

/** A string without NUL characters. */
const storable = { type: "string", pattern: "^[^\\u0000]*$" };

/**
 * The schema of a field with any JSON value. It has no type, because many generators
 * fail on a schema that refers to itself, as one for JSON would.
 */
const anyJson: JsonObject = {
  description: "Any JSON, nested at most 100 levels deep, without NULs.",
};

/**
 * Converts a schema for an OpenAPI document: to JSON Schema 2020-12 without
 * TypeBox's own keywords, with references by name. `patternProperties` with one
 * pattern becomes `propertyNames` and `additionalProperties`, which more tools
 * understand.
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
    // TypeBox's pattern for any name. It is left out, because it does not match line breaks.
    if (pattern !== "^(.*)$") converted.propertyNames ??= { pattern };
    converted.additionalProperties = convert(inner);
  } else if (rest.additionalProperties === true) {
    converted.propertyNames = storable;
    converted.additionalProperties = anyJson;
  }
  return withNull(converted);
}

/** A union of a plain type and null as one type with null: generators fail on such a union. */
function withNull({ anyOf, ...rest }: JsonObject): JsonObject {
  if (!Array.isArray(anyOf)) return rest;
  const [one, other] = anyOf as JsonObject[];
  const isPlain = anyOf.length === 2 && other!.type === "null" && typeof one!.type === "string";
  if (!isPlain) return { ...rest, anyOf };
  return { ...rest, ...one, type: [one!.type, "null"] };
}
