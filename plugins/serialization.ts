import build, { type Schema } from "fast-json-stringify";
import fp from "fastify-plugin";
import { components } from "../schemas/components.js";

type Schemas = Record<string, Schema>;

const named = Object.fromEntries(
  components.map((schema) => [schema.$id!, schema as unknown as Schema]),
);

/** What writes an answer as JSON, by the text of its schema; the same in every application of a process. */
const compiled = new Map<string, (answer: unknown) => string>();

/**
 * Compiles each schema once. Fastify would do it for each status of each route,
 * and take a third of the time that a start takes.
 */
export default fp(
  async (app) => {
    app.setSerializerCompiler((route) => {
      const schema = route.schema as Schema;
      const text = JSON.stringify(schema);
      // Whoever embeds the application may have schemas of their own, whose
      // names mean something else in another.
      if (!refsIn(text).every((name) => name in named)) {
        return build(schema, { schema: app.getSchemas() as Schemas });
      }
      let serialize = compiled.get(text);
      if (!serialize) {
        serialize = build(schema, { schema: named });
        compiled.set(text, serialize);
      }
      return serialize;
    });
  },
  { name: "serialization" },
);

const refsIn = (text: string) =>
  Array.from(text.matchAll(/"\$ref":"([^"]*)"/g), ([, name]) => name!);
