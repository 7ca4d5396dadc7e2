// CommonJS loads a package at once, when it is first needed. Most answers are JSON already, and most
// servers have no plain JSON schema, and the code of these takes 20 ms of a start. The bundler takes
// a module without `import` for CommonJS.

type BuildSerializer = typeof import("fast-json-stringify").default;
type AjvCompiler = typeof import("@fastify/ajv-compiler").default;
type Formats = typeof import("ajv-formats/dist/formats.js");

/** Compiles a serializer. */
const buildSerializer = (...args: Parameters<BuildSerializer>) => {
  // oxlint-disable-next-line typescript/no-require-imports
  const build = require("fast-json-stringify") as BuildSerializer;
  return build(...args);
};

/** Makes what compiles plain JSON schemas with Ajv, as Fastify does by default. */
const ajvCompiler = () => {
  // oxlint-disable-next-line typescript/no-require-imports
  const make = require("@fastify/ajv-compiler") as AjvCompiler;
  return make();
};

/** The formats of texts that Ajv knows, with their checks. */
const formats = () => {
  // oxlint-disable-next-line typescript/no-require-imports
  const { fullFormats } = require("ajv-formats/dist/formats.js") as Formats;
  return Object.entries(fullFormats).map(([name, format]) => {
    const check = typeof format === "object" && "validate" in format ? format.validate : format;
    return [
      name,
      (text: string): boolean =>
        check instanceof RegExp
          ? check.test(text)
          : typeof check === "function"
            ? (check(text as never) as boolean)
            : true,
    ] as const;
  });
};

export = { buildSerializer, ajvCompiler, formats };
