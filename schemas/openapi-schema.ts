import type { TSchema } from "@sinclair/typebox";

/** A part of a document. */
export type JsonObject = Record<string, unknown>;

/** No stored string holds a NUL. */
const storable = { type: "string", pattern: "^[^\\u0000]*$" };

/**
 * What is under a name that the service does not know. It has no type: many
 * generators fail on a schema for JSON, as that refers to itself.
 */
const anyJson: JsonObject = {
  description: "Any JSON, nested at most 100 levels deep, without NULs.",
};

/**
 * A schema as it stands in an OpenAPI document: JSON Schema 2020-12 without
 * TypeBox's own, names for references, and `patternProperties` in the form that
 * more tools read (one pattern and nothing else is a rule for names).
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
    // TypeBox's pattern for any name, which a line break would not match.
    if (pattern !== "^(.*)$") converted.propertyNames ??= { pattern };
    converted.additionalProperties = convert(inner);
  } else if (rest.additionalProperties === true) {
    converted.propertyNames = storable;
    converted.additionalProperties = anyJson;
  }
  return converted;
}
