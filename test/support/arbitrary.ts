import fc, { type Arbitrary } from "fast-check";
import type { JsonObject } from "../../schemas/openapi/openapi-schema.js";

/**
 * Generates values that a schema of the document allows.
 * @param schema JSON Schema, limited to what the document uses.
 * @param schemas the schemas that references name.
 */
export function arbitraryOf(
  schema: JsonObject,
  schemas: JsonObject,
  depth = 0,
): Arbitrary<unknown> {
  const of = (inner: unknown) => arbitraryOf(inner as JsonObject, schemas, depth + 1);
  if (typeof schema.$ref === "string") {
    const name = schema.$ref.split("/").pop()!;
    return of(schemas[name]);
  }
  if (schema.readOnly) return fc.constant(undefined);
  if (schema.enum) return fc.constantFrom(...(schema.enum as unknown[]));
  if (schema.anyOf) return fc.oneof(...(schema.anyOf as unknown[]).map(of));
  if (Array.isArray(schema.type)) {
    const types = schema.type as string[];
    return fc.oneof(...types.map((type) => of({ ...schema, type })));
  }
  switch (schema.type) {
    case "boolean":
      return fc.boolean();
    case "null":
      return fc.constant(null);
    case "string":
      return textOf(schema);
    case "integer":
      return fc.integer({
        min: schema.minimum as number,
        // fast-check never finishes with numbers that are not safe integers.
        max: Math.min((schema.maximum as number | undefined) ?? 2 ** 31, Number.MAX_SAFE_INTEGER),
      });
    case "number":
      return fc.double({
        min: (schema.exclusiveMinimum ?? schema.minimum) as number,
        minExcluded: schema.exclusiveMinimum !== undefined,
        max: schema.maximum as number,
        noNaN: true,
      });
    case "array":
      return fc.array(of(schema.items), {
        minLength: (schema.minItems as number | undefined) ?? 0,
        maxLength: Math.min((schema.maxItems as number | undefined) ?? 4, 4),
      });
    case "object":
      return objectOf(schema, of);
    case undefined:
      return anyJson;
    default:
      throw new Error(`no values for ${JSON.stringify(schema)}`);
  }
}

/** Generates text of any characters except NUL; surrogates come in pairs. */
const storable = (minLength: number, maxLength: number): Arbitrary<string> =>
  fc.string({ unit: "binary", minLength, maxLength }).map((text) => text.replaceAll("\0", "0"));

/** Any JSON allowed for an untyped value; the schema states its limits only in the description. */
const anyJson: Arbitrary<unknown> = fc
  .json({ maxDepth: 3, stringUnit: "binary" })
  .map((text) => text.replaceAll("\\u0000", "0"))
  // Names that no object may have cause a different 400, which other tests cover.
  .filter((text) => !/__proto__|constructor/.test(text))
  .map((text) => JSON.parse(text) as unknown);

function textOf(schema: JsonObject): Arbitrary<string> {
  const minLength = (schema.minLength as number | undefined) ?? 0;
  const maxLength = (schema.maxLength as number | undefined) ?? 400;
  const pattern = schema.pattern as string | undefined;
  if (pattern === undefined || pattern === "^[^\\u0000]*$") {
    return storable(minLength, maxLength);
  }
  return fc
    .stringMatching(new RegExp(pattern, "u"), { size: "medium" })
    .filter((text) => text.length >= minLength && [...text].length <= maxLength);
}

/** Fields with rules that a schema cannot express, such as addresses that must be public. */
const INEXPRESSIBLE_FIELDS: readonly string[] = ["JWT_issuers", "oidc"];

/**
 * Whether a field of a world's config has rules that a schema cannot express: times must be in
 * order, the cover must be an upload, and blocked words need a letter or a digit.
 */
const hasMoreRules = (name: string, { properties }: JsonObject): boolean =>
  ["event", "access", "blocked_words"].includes(name) &&
  "JWT_secrets" in (properties as JsonObject);

function objectOf(
  schema: JsonObject,
  of: (inner: unknown) => Arbitrary<unknown>,
): Arbitrary<unknown> {
  const properties = (schema.properties ?? {}) as JsonObject;
  const required = (schema.required ?? []) as string[];
  if (schema.maxProperties === 1) {
    return fc.oneof(
      ...Object.entries(properties).map(([name, inner]) =>
        of(inner).map((value) => ({ [name]: value })),
      ),
    );
  }
  const known = fc
    .record(
      Object.fromEntries(
        Object.entries(properties)
          .filter(([name]) => !INEXPRESSIBLE_FIELDS.includes(name) && !hasMoreRules(name, schema))
          .map(([name, inner]) => [name, of(inner)]),
      ),
      { requiredKeys: required },
    )
    .map((value) => JSON.parse(JSON.stringify(value)) as object);
  const more = schema.additionalProperties;
  if (typeof more !== "object") return known;
  const names = textOf((schema.propertyNames ?? {}) as JsonObject).filter(
    (name) => !/^(__proto__|constructor)$/.test(name) && !(name in properties),
  );
  return fc
    .tuple(fc.dictionary(names, of(more), { maxKeys: 3, noNullPrototype: true }), known)
    .map(([others, value]) => ({ ...others, ...value }));
}
