import type { Schema } from "fast-json-stringify";
import fp from "fastify-plugin";
import { components } from "../../schemas/openapi/components.js";
import compilers from "./compilers.cjs";

type Serialize = (answer: unknown) => string;

type Schemas = Record<string, Schema>;

const named = Object.fromEntries(
  components.map((schema) => [schema.$id!, schema as unknown as Schema]),
);

/** Compiled serializers by the schema's JSON text, shared by all applications in the process. */
const compiled = new Map<string, Serialize>();

/**
 * Compiles each schema once, when a response first needs it. Fastify would compile a serializer for
 * each status of each route, which would take a third of the startup time. Most responses are
 * records, which already contain their JSON.
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

/** @param schemas the named schemas in the route's scope. */
function serializerOf(schema: Schema, schemas: Schemas): Serialize {
  const text = JSON.stringify(schema);
  // An embedder's schema names can mean different things in different scopes, so serializers that
  // refer to these names are not shared.
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
