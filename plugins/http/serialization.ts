import type { Schema } from "fast-json-stringify";
import fp from "fastify-plugin";
import { components } from "../../schemas/openapi/components.js";
import compilers from "./compilers.cjs";

type Serialize = (answer: unknown) => string;

type Schemas = Record<string, Schema>;

const named = Object.fromEntries(
  components.map((schema) => [schema.$id!, schema as unknown as Schema]),
);

/** Compiled serializers by the text of their schema; all applications of a process share them. */
const compiled = new Map<string, Serialize>();

/**
 * Compiles each schema once, when the first answer needs it. Fastify would compile it
 * for each status of each route, which would take a third of the time of a start; and
 * most answers are records, which carry their JSON.
 */
export default fp(
  async (app) => {
    app.setSchemaController({
      compilersFactory: {
        buildSerializer: (schemas) => (route) => {
          let serialize: Serialize | undefined;
          return (answer) => {
            serialize ??= serializerOf(route.schema as Schema, schemas as Schemas);
            return serialize(answer);
          };
        },
      },
    });
  },
  { name: "serialization" },
);

/** @param schemas those with names in the scope of the route. */
function serializerOf(schema: Schema, schemas: Schemas): Serialize {
  const text = JSON.stringify(schema);
  // An embedder may have schemas of its own, whose names differ in meaning from
  // scope to scope.
  if (!refsIn(text).every((name) => name in named)) {
    return compilers.buildSerializer(schema, { schema: schemas });
  }
  let serialize = compiled.get(text);
  if (!serialize) {
    serialize = compilers.buildSerializer(schema, { schema: named });
    compiled.set(text, serialize);
  }
  return serialize;
}

const refsIn = (text: string) =>
  Array.from(text.matchAll(/"\$ref":"([^"]*)"/g), ([, name]) => name!);
