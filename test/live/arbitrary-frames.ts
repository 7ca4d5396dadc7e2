import fc, { type Arbitrary } from "fast-check";
import type { JsonObject } from "../../schemas/openapi/openapi-schema.js";
import { arbitraryOf } from "../arbitrary.js";
import { commands } from "../../schemas/live/index.js";

const deep = (depth: number): string =>
  `${"[".repeat(depth)}1${"]".repeat(depth)}`;
const deepObject = (depth: number): string =>
  `${'{"a":'.repeat(depth)}1${"}".repeat(depth)}`;

/** JSON that parsers and programs stumble over. */
const nasty: readonly string[] = [
  "null",
  "true",
  "0",
  "-0",
  "-1",
  "1.5",
  "1e400",
  "-1e400",
  "9007199254740993",
  "123456789012345678901234567890",
  "1e-400",
  '""',
  '" "',
  '"\\u0000"',
  '"\\ud800"',
  '"\\udc00\\ud800"',
  '"\\ufeff"',
  '"__proto__"',
  '"constructor"',
  '"%s%n%x"',
  '"\'; DROP TABLE rooms; --"',
  "[]",
  "[[]]",
  "[null]",
  "{}",
  '{"":1}',
  '{"__proto__":{"admin":true}}',
  '{"constructor":{"prototype":{"admin":true}}}',
  '{"toString":1,"valueOf":2,"toJSON":3}',
  '{"then":1}',
  '{"length":5,"0":1}',
  '{"a":1,"a":2}',
  '{"id":1,"id":"x","room":null,"room":[]}',
  '{"\\ud800":1}',
  '{"\\u0000":1}',
  deep(101),
  deep(5000),
  deep(30_000),
  deepObject(101),
  deepObject(8000),
  `"${"x".repeat(60_000)}"`,
  `[${"0,".repeat(20_000)}0]`,
  `{${Array.from({ length: 3000 }, (_, i) => `"k${i}":0`).join()}}`,
];

const anyNasty = fc.oneof(fc.constantFrom(...nasty), fc.json());

/** Names of fields, of all commands. */
const fields = [
  ...new Set(
    Object.values(commands).flatMap(({ payload }) =>
      Object.keys(
        ((payload as unknown as JsonObject).properties as object) ?? {},
      ),
    ),
  ),
  "__proto__",
  "constructor",
];

const names = fc.oneof(
  fc.constantFrom(...Object.keys(commands), "ping", "authenticate"),
  fc.constantFrom("", ".", "user", "user.", "room.__proto__", "constructor.x"),
  fc.string(),
);

/** The text of a payload whose fields are nasty. */
const nastyObject = fc
  .array(fc.tuple(fc.constantFrom(...fields), anyNasty), { maxLength: 4 })
  .map(
    (entries) =>
      `{${entries.map(([name, value]) => `"${name}":${value}`).join()}}`,
  );

/** The text of a message that no client should send. */
export const hostileFrame: Arbitrary<string> = fc.oneof(
  fc
    .tuple(names, anyNasty, fc.oneof(nastyObject, anyNasty))
    .map(([name, id, payload]) => `[${JSON.stringify(name)},${id},${payload}]`),
  fc
    .tuple(names, fc.oneof(nastyObject, anyNasty))
    .map(([name, payload]) => `[${JSON.stringify(name)},${payload}]`),
  fc
    .tuple(anyNasty, anyNasty, anyNasty)
    .map((elements) => `[${elements.join()}]`),
  fc.array(anyNasty, { maxLength: 6 }).map((all) => `[${all.join()}]`),
  anyNasty,
  fc.string({ unit: "binary" }),
);

/**
 * Payloads of a command: valid ones, and such as are wrong in one place.
 * @param schema of the payload.
 * @param schemas what it refers to.
 * @param ids of rooms and users that exist.
 */
export function payloadOf(
  schema: JsonObject,
  schemas: JsonObject,
  ids: readonly string[],
): Arbitrary<unknown> {
  const valid = arbitraryOf(schema, schemas);
  const id = fc.constantFrom(...ids);
  const named = fc
    .tuple(valid, id, fc.array(id, { maxLength: 3 }))
    .map(([payload, one, some]) => {
      if (typeof payload !== "object" || payload === null) return payload;
      if (Array.isArray(payload)) return some;
      const has = (name: string) => Object.hasOwn(payload, name);
      const { properties = {} } = schema as { properties?: object };
      return {
        ...payload,
        ...(Object.hasOwn(properties, "room") && { room: one }),
        ...(Object.hasOwn(properties, "id") && { id: one }),
        ...(has("ids") && { ids: some }),
      };
    });
  const wrong = fc
    .tuple(named, fc.constantFrom(...fields), fc.jsonValue())
    .map(([payload, name, value]) => {
      if (typeof payload !== "object" || payload === null) return value;
      return { ...payload, [name]: value };
    });
  return fc.oneof(named, named, wrong);
}
