import type { Schema } from "fast-json-stringify";
import type { FastifyInstance } from "fastify";
import fp from "fastify-plugin";
import { components } from "../../schemas/openapi/components.js";
import build from "./build-serializer.cjs";

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
    app.setSerializerCompiler((route) => {
      let serialize: Serialize | undefined;
      return (answer) => {
        serialize ??= serializerOf(route.schema as Schema, app);
        return serialize(answer);
      };
    });
  },
  { name: "serialization" },
);

function serializerOf(schema: Schema, app: FastifyInstance): Serialize {
  const text = JSON.stringify(schema);
  // An embedder may have schemas of its own, whose names differ in meaning from
  // application to application.
  if (!refsIn(text).every((name) => name in named)) {
    return build(schema, { schema: app.getSchemas() as Schemas });
  }
  let serialize = compiled.get(text);
  if (!serialize) {
    serialize = build(schema, { schema: named });
    compiled.set(text, serialize);
  }
  return serialize;
}

const refsIn = (text: string) =>
  Array.from(text.matchAll(/"\$ref":"([^"]*)"/g), ([, name]) => name!);
