import fc, { type Arbitrary } from "fast-check";
import type { JsonObject } from "../../schemas/openapi/openapi-schema.js";

/**
 * Values that a schema of the document allows.
 * @param schema JSON Schema, as far as the document uses it.
 * @param schemas what its references name.
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
        // fast-check does not end with numbers that are no safe integers.
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

/** Any character but NUL; surrogates come in pairs. */
const storable = (minLength: number, maxLength: number): Arbitrary<string> =>
  fc.string({ unit: "binary", minLength, maxLength }).map((text) => text.replaceAll("\0", "0"));

/** What the description of an untyped value says in words. */
const anyJson: Arbitrary<unknown> = fc
  .json({ maxDepth: 3, stringUnit: "binary" })
  .map((text) => text.replaceAll("\\u0000", "0"))
  // A name that no object may have is a 400 of its own, which other tests ask for.
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

/** Fields with rules that no schema can express, such as addresses that must be public. */
const BEYOND: readonly string[] = ["JWT_issuers", "oidc"];

/** The dates of an event, whose cover must be an upload. */
const isDates = (name: string, { properties }: JsonObject): boolean =>
  name === "event" && "JWT_secrets" in (properties as JsonObject);

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
          .filter(([name]) => !BEYOND.includes(name) && !isDates(name, schema))
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
