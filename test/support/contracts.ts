import addFormats from "ajv-formats";
import type { FastifyInstance } from "fastify";
import { Ajv2020 } from "ajv/dist/2020.js";
import { LiveContract } from "../../conformance/contract.js";
import type { JsonObject } from "../../schemas/openapi/openapi-schema.js";

interface Got {
  status: number;
  headers: Record<string, string | undefined>;
  body: unknown;
  text: string;
}

/** Transport headers, which are not part of the interface and not in the document. */
const TRANSPORT = new Set([
  "transfer-encoding",
  "connection",
  "content-length",
  "content-type",
  "date",
  "keep-alive",
  // Set by CORS where origins are allowed; it concerns the browser, not the caller.
  "vary",
]);

/** Checks answers against the OpenAPI document. */
export class Contract {
  readonly #ajv = new Ajv2020({ strict: false, allErrors: true });
  readonly #paths: { pattern: RegExp; path: string; methods: JsonObject }[];
  readonly #document: JsonObject;

  constructor(document: JsonObject) {
    this.#document = document;
    addFormats.default(this.#ajv);
    this.#ajv.addSchema(closed(document) as JsonObject, "document");
    this.#paths = Object.entries(document.paths as JsonObject).map(([path, methods]) => ({
      path,
      methods: methods as JsonObject,
      pattern: new RegExp(`^${path.replaceAll(".", "\\.").replace(/\{\w+\}/g, "[^/]+")}/?$`),
    }));
  }

  /**
   * Checks that the document allows an answer.
   * @throws {Error} that names the violation.
   */
  check(method: string, url: string, got: Got): void {
    const name = method === "HEAD" ? "get" : method.toLowerCase();
    const [pathname = ""] = url.split("?", 1);
    const found = this.#paths.find(({ pattern }) => pattern.test(pathname));
    const operation = found?.methods[name] as JsonObject | undefined;
    // The document describes answers outside its operations only in prose.
    if (!found || !operation) return;
    const place = `${name} ${found.path} ${got.status}`;
    const { key, response } = this.#responseOf(operation, got.status, place);
    this.#checkHeaders(response, got, place);
    if (method === "HEAD" || got.text === "") return;
    const content = response.content as JsonObject | undefined;
    const type = got.headers["content-type"]?.split(";")[0] ?? "none";
    if (!content?.[type]) {
      throw new Error(`${place}: undeclared content of type ${type}`);
    }
    if (type !== "application/json") return;
    // Compiled once: Ajv returns the same function for the same reference.
    const validate = this.#ajv.getSchema(
      `document${pointer(key)}/content/application~1json/schema`,
    );
    if (!validate) throw new Error(`${place}: no schema`);
    if (!validate(got.body)) {
      throw new Error(`${place}: ${this.#ajv.errorsText(validate.errors)} in ${got.text}`);
    }
  }

  #responseOf(operation: JsonObject, status: number, place: string) {
    const responses = operation.responses as JsonObject;
    const name = String(status);
    const response = responses[name] as JsonObject | undefined;
    if (!response) throw new Error(`${place}: undeclared status`);
    const ref = response.$ref as string | undefined;
    if (ref !== undefined) {
      const key = ref.slice(1).split("/").slice(1);
      return { key, response: this.#at(key) };
    }
    // The operation defines the response inline.
    for (const { path, methods } of this.#paths) {
      for (const [method, other] of Object.entries(methods)) {
        if (other === operation) {
          return { key: ["paths", path, method, "responses", name], response };
        }
      }
    }
    throw new Error(`${place}: not in the document`);
  }

  #at(key: string[]): JsonObject {
    return key.reduce<JsonObject>((part, name) => part[name] as JsonObject, this.#document);
  }

  #checkHeaders(response: JsonObject, { headers }: Got, place: string): void {
    const declared = Object.keys(response.headers ?? {});
    const names = new Set(declared.map((name) => name.toLowerCase()));
    for (const name of Object.keys(headers)) {
      const cors = name.startsWith("access-control-");
      if (!TRANSPORT.has(name) && !names.has(name) && !cors) {
        throw new Error(`${place}: undeclared header ${name}`);
      }
    }
    if (headers["x-request-id"] === undefined) {
      throw new Error(`${place}: no X-Request-Id`);
    }
  }
}

/** Closes schemas to fields that they do not name, since answers may not have any others. */
export function closed(part: unknown): unknown {
  if (Array.isArray(part)) return part.map(closed);
  if (typeof part !== "object" || part === null) return part;
  const copy = Object.fromEntries(
    Object.entries(part).map(([name, inner]) => [name, closed(inner)]),
  );
  if (copy.type === "object" && copy.properties !== undefined) {
    copy.additionalProperties ??= false;
  }
  return copy;
}

const pointer = (key: string[]): string =>
  `#/${key
    .map((part) => part.replaceAll("~", "~0").replaceAll("/", "~1"))
    .map(encodeURIComponent)
    .join("/")}`;

const contracts = new WeakMap<FastifyInstance, Contract>();
/** By document text: most test applications share a document, and Ajv compiles slowly. */
const compiled = new Map<string, Contract>();

/** Returns the contract of an application, created on first use. */
export function contractOf(app: FastifyInstance): Contract {
  let contract = contracts.get(app);
  if (!contract) {
    const document = app.openapi();
    const text = JSON.stringify(document);
    contract = compiled.get(text) ?? new Contract(document);
    compiled.set(text, contract);
    contracts.set(app, contract);
  }
  return contract;
}

/** Returns a contract under which the server may only send fields that the document names. */
export const strictContract = (document: JsonObject): LiveContract =>
  new LiveContract(closed(document) as JsonObject);

/** By document text: most tests share a document, and Ajv compiles slowly. */
const compiledLive = new Map<string, LiveContract>();

/** Returns the websocket contract of an application. */
export function liveContractOf(app: FastifyInstance): LiveContract {
  const document = app.asyncapi();
  const text = JSON.stringify(document);
  const contract = compiledLive.get(text) ?? strictContract(document);
  compiledLive.set(text, contract);
  return contract;
}

export { Conversation, LiveContract } from "../../conformance/contract.js";
