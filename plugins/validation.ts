import { isUtf8 } from "node:buffer";
import type { BuildCompilerFromPool } from "@fastify/ajv-compiler";
import { FormatRegistry, Kind, type TObject } from "@sinclair/typebox";
import type {
  FastifyRequest,
  preHandlerHookHandler,
  preParsingHookHandler,
  preValidationHookHandler,
} from "fastify";
import fp from "fastify-plugin";
import { components } from "../schemas/openapi/components.js";
import { compileValidator, findLosses, InvalidData } from "../schemas/validate.js";
import compilers from "./http/compilers.cjs";
import { invalidJson, Refusal } from "./http/errors.js";

/** Parses JSON bodies, and validates bodies and queries against their routes' schemas. */
export default fp(
  async (app) => {
    let ajv: BuildCompilerFromPool | undefined;
    const buildValidator = (...scope: Parameters<BuildCompilerFromPool>) =>
      function compileAny(route: Route) {
        if (Kind in Object(route.schema)) return compile(route);
        // A schema that is not from TypeBox comes from an embedder or a library.
        ajv ??= compilers.ajvCompiler();
        return ajv(...scope)(route);
      };
    app.setSchemaController({
      // The option's type allows only Ajv's validators, but Fastify accepts any validator.
      compilersFactory: { buildValidator: buildValidator as never },
    });

    for (const schema of components) app.addSchema(schema);

    app.removeAllContentTypeParsers();
    const parseJson = app.getDefaultJsonParser("error", "error");
    app.addContentTypeParser<Buffer>(
      "application/json",
      { parseAs: "buffer" },
      async (request: FastifyRequest, body: Buffer) => {
        // Receiving the body may have taken minutes. A caller who has lost a right since then
        // receives a 403, and no details about the body.
        await request.admission?.(request);
        // A DELETE may declare a JSON body and send none.
        if (body.length === 0 && request.method === "DELETE") return null;
        if (!isUtf8(body)) throw invalidJson("The body is not valid UTF-8.");
        const text = body.toString();
        const value = await new Promise<unknown>((resolve, reject) => {
          const settle = (error: Error | null, value?: unknown) =>
            error ? reject(error) : resolve(value);
          Promise.resolve(parseJson(request, text, settle)).catch(reject);
        });
        // A DELETE ignores its body, so nothing can be lost.
        const losses = request.method !== "DELETE" && findLosses(text);
        if (losses) throw losses;
        return value;
      },
    );
  },
  { name: "validation", dependencies: ["errors"] },
);

/** Rejects a body with a content coding, or with a charset other than UTF-8, before the body is read. */
export const refuseCoded: preParsingHookHandler = ({ headers }, _reply, payload, done) => {
  const { "content-type": type = "", "content-encoding": coding } = headers;
  if (coding !== undefined && !/^[\s,]*(identity[\s,]*)*$/i.test(coding)) {
    const accepted = { "accept-encoding": "identity" };
    done(new Refusal(415, "The body must not have a Content-Encoding.", accepted));
  } else if (!charsetsOf(type).every((charset) => /^utf-?8$/i.test(charset))) {
    done(new Refusal(415, "The charset of the body must be UTF-8."));
  } else done(null, payload);
};

const charsetsOf = (type: string): string[] =>
  type === "application/json"
    ? []
    : Array.from(
        type.matchAll(/;\s*charset\s*=\s*(?:"([^"]*)"|([^\s;]*))/gi),
        ([, quoted, bare]) => quoted ?? bare ?? "",
      );

/** A part of a route that has a schema. */
interface Route {
  schema: TObject;
  url: string;
  httpPart?: string;
}

function compile({
  schema,
  url,
  httpPart,
}: Route): (data: unknown) => { value: unknown } | { error: InvalidData } {
  const isOurs = url.startsWith("/api/v1/");
  // The guard responds with a 403 to path parameters that match nothing.
  if (isOurs && httpPart === "params") return (value) => ({ value });
  if (!isOurs && JSON.stringify(schema).includes('"format"')) knowFormats();
  const validate = compileValidator(components.find(({ $id }) => $id === schema.$ref) ?? schema);
  return (data) => {
    // Path and query parameters arrive as strings.
    const value = httpPart === "body" ? data : withValues(schema, data as Texts);
    const error = validate(value);
    return error ? { error } : { value };
  };
}

/** Registers Ajv's formats with TypeBox, which would otherwise reject every string that has an unknown format. */
function knowFormats(): void {
  for (const [name, format] of compilers.formats()) {
    if (!FormatRegistry.Has(name)) FormatRegistry.Set(name, format);
  }
}

/**
 * Creates the hook that rejects undeclared query parameters. Ignoring a misspelled filter would
 * return everything.
 */
export function refuseUnknown(querystring: TObject | undefined): preValidationHookHandler {
  const known = new Set(Object.keys(querystring?.properties ?? {}));
  return ({ query }, _reply, done) => {
    const unknown = Object.keys(query as Texts).filter((it) => !known.has(it));
    const faults = unknown.map((name): [string, string[]] => [
      name || "non_field_errors",
      ["Unknown parameter."],
    ]);
    if (faults.length === 0) done();
    else done(new InvalidData(Object.fromEntries(faults)));
  };
}

type Texts = Record<string, unknown>;

/** The notation of numbers and booleans in a URL. */
const WRITTEN: Record<string, RegExp> = {
  integer: /^-?\d+$/,
  number: /^-?\d+(\.\d+)?$/,
  boolean: /^(true|false)$/,
};

/**
 * Converts strings to numbers and booleans where the schema expects them. A string that cannot be
 * converted stays unchanged, and fails validation.
 */
function withValues({ properties = {} }: TObject, texts: Texts): Texts {
  const value = { ...texts };
  for (const [name, { type }] of Object.entries(properties)) {
    const text = value[name];
    if (typeof text === "string" && WRITTEN[type as string]?.test(text)) {
      value[name] = type === "boolean" ? text === "true" : Number(text);
    }
  }
  return value;
}

/**
 * Route options for a body that may repeat the id in the path but not change the id: a client may
 * edit the response to a GET and send it back.
 * @param param the path parameter that holds the id.
 */
export function allowSameId(param: string): {
  attachValidation: true;
  preHandler: preHandlerHookHandler;
} {
  return {
    attachValidation: true,
    preHandler: function refuseOtherId(request, _reply, done) {
      // The compiler above returns only errors of this type.
      const found = request.validationError as unknown as InvalidData | undefined;
      const { id } = (request.body ?? {}) as { id?: unknown };
      if (id !== undefined && id !== (request.params as Record<string, string>)[param]) {
        const { id: _, ...others } = found?.faults ?? {};
        done(new InvalidData({ id: ["May not be changed."], ...others }));
      } else done(found);
    },
  };
}
