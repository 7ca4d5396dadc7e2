// CommonJS loads a package at once, when it is first needed. Most answers are JSON already, and
// the code of this one takes 10 ms of a start. The bundler takes a module without `import` for one.

type Build = typeof import("fast-json-stringify").default;

/** Compiles a serializer. */
const build = (...args: Parameters<Build>) => {
  // oxlint-disable-next-line typescript/no-require-imports
  const compile = require("fast-json-stringify") as Build;
  return compile(...args);
};

export = build;
