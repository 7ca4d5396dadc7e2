import { isUtf8 } from "node:buffer";
import type { TObject } from "@sinclair/typebox";
import type {
  FastifyRequest,
  FastifySchemaCompiler,
  preHandlerHookHandler,
  preParsingHookHandler,
} from "fastify";
import fp from "fastify-plugin";
import { findLosses } from "../schemas/fidelity.js";
import { components } from "../schemas/openapi/components.js";
import { compileValidator, InvalidData } from "../schemas/validate.js";
import { invalidJson, Refusal } from "./http/errors.js";

/** Parses JSON bodies, and checks bodies and queries by the schemas of their routes. */
export default fp(
  async (app) => {
    app.setValidatorCompiler(compile as FastifySchemaCompiler<unknown>);

    for (const schema of components) app.addSchema(schema);

    app.removeAllContentTypeParsers();
    const parseJson = app.getDefaultJsonParser("error", "error");
    app.addContentTypeParser<Buffer>(
      "application/json",
      { parseAs: "buffer" },
      async (request: FastifyRequest, body: Buffer) => {
        // The body may have taken minutes. A caller who lost a right meanwhile gets a
        // 403, and no report on the body.
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
        // A DELETE ignores its body, so it can lose nothing.
        const losses = request.method !== "DELETE" && findLosses(text);
        if (losses) throw losses;
        return value;
      },
    );
  },
  { name: "validation", dependencies: ["errors"] },
);

/** Refuses a body in another charset or coding, before it is read. */
export const refuseCoded: preParsingHookHandler = (
  { headers },
  _reply,
  payload,
  done,
) => {
  const { "content-type": type = "", "content-encoding": coding } = headers;
  if (coding !== undefined && !/^[\s,]*(identity[\s,]*)*$/i.test(coding)) {
    done(new Refusal(415, "The body may have no Content-Encoding."));
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

function compile({
  schema,
  httpPart,
}: {
  schema: TObject;
  httpPart?: string;
}): (data: unknown) => { value: unknown } | { error: InvalidData } {
  // A path that names nothing is a 403, which the guard answers.
  if (httpPart === "params") return (value) => ({ value });
  const validate = compileValidator(
    components.find(({ $id }) => $id === schema.$ref) ?? schema,
  );
  return (data) => {
    const value =
      httpPart === "querystring" ? withNumbers(schema, data as Query) : data;
    const error = validate(value);
    return error ? { error } : { value };
  };
}

type Query = Record<string, unknown>;

/** Turns texts of whole numbers into numbers, where the schema asks for some. Others stay, and fail. */
function withNumbers(schema: TObject, query: Query): Query {
  const value = { ...query };
  for (const [name, { type }] of Object.entries(schema.properties)) {
    const text = value[name];
    if (
      type === "integer" &&
      typeof text === "string" &&
      /^-?\d+$/.test(text)
    ) {
      value[name] = Number(text);
    }
  }
  return value;
}

/**
 * Route options for a body that may repeat the id in its path, but not change it:
 * a client may edit the answer to a GET and send it back.
 * @param param the path parameter that holds the id.
 */
export function allowSameId(param: string): {
  attachValidation: true;
  preHandler: preHandlerHookHandler;
} {
  return {
    attachValidation: true,
    preHandler: function refuseOtherId(request, _reply, done) {
      // The compiler above returns no other error.
      const found = request.validationError as unknown as
        InvalidData | undefined;
      const { id } = (request.body ?? {}) as { id?: unknown };
      if (
        id !== undefined &&
        id !== (request.params as Record<string, string>)[param]
      ) {
        const { id: _, ...others } = found?.faults ?? {};
        done(new InvalidData({ id: ["May not be changed."], ...others }));
      } else done(found);
    },
  };
}
