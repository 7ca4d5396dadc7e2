import { type TSchema, Type } from "@sinclair/typebox";
import type { RouteOptions } from "fastify";
import fp from "fastify-plugin";
import { feedData, pascalCase } from "../../schemas/feed-data.js";
import { webhookMessage } from "../../schemas/feed.js";
import { components } from "../../schemas/openapi/components.js";
import { type JsonObject, toOpenapiSchema } from "../../schemas/openapi/openapi-schema.js";
import { version } from "../../schemas/plain/version.js";
import { ref } from "../../schemas/values.js";
import { operationOf } from "./operation.js";
import { headers, parameters, responses, securitySchemes } from "./parts.js";

// OpenAPI 3.1 describes requests made by a server as webhooks.

/**
 * The headers that Standard Webhooks defines. Inlined, because some code generators don't support
 * shared headers for webhooks.
 */
const webhookParameters = [
  ["webhook-id", "The same for every attempt to deliver an entry."],
  ["webhook-timestamp", "The time of the attempt, in seconds since 1970."],
  ["webhook-signature", "`v1,` and an HMAC-SHA256 with the secret."],
].map(([name, description]) => ({
  name,
  in: "header",
  required: true,
  description,
  schema: { type: "string" },
}));

const webhookResponses = {
  200: { description: "It is taken, as by any other 2xx." },
  410: { description: "Nothing more is wanted. The webhook is disabled." },
};

const types: Record<string, TSchema> = {
  ...Object.fromEntries(Object.entries(feedData).map(([type, data]) => [type, ref(data)])),
  "webhook.test": Type.Object({ webhook_id: Type.String({ format: "uuid" }) }),
};

/** Describes the requests sent to webhooks, by feed type. */
const sentToWebhooks = (): JsonObject =>
  Object.fromEntries(
    Object.entries(types).map(([type, data]) => [
      type,
      {
        post: {
          operationId: `on${pascalCase(type)}`,
          summary: `Receive ${type}`,
          description:
            "The same entry as in the change feed. Later versions may add types: respond with 2xx to unknown ones.",
          tags: ["webhooks"],
          security: [],
          parameters: webhookParameters,
          requestBody: {
            required: true,
            content: {
              "application/json": { schema: toOpenapiSchema(webhookMessage(type, data)) },
            },
          },
          responses: webhookResponses,
        },
      },
    ]),
  );

declare module "fastify" {
  interface FastifyInstance {
    /** Returns the whole API as an OpenAPI 3.1 document. Call this once all routes are registered. */
    openapi(): JsonObject;
    /** Whether a document has the same operations as this server. */
    isOpenapi(document: JsonObject): boolean;
  }
}

/** Returns a document's list of servers, which contains only this server's public address. */
export const serversOf = (publicUrl = "/") => [{ url: publicUrl }];

/**
 * Selects the components that a document refers to, which depend on the configuration.
 * @param parts the parts of the document from which to follow references.
 */
function referred(parts: JsonObject, all: Record<string, JsonObject>): Record<string, JsonObject> {
  const found = new Set<string>();
  const follow = (value: unknown) => {
    const refs = JSON.stringify(value).matchAll(/"#\/components\/(\w+)\/([\w-]+)"/g);
    for (const [ref, kind = "", name = ""] of refs) {
      if (found.has(ref)) continue;
      found.add(ref);
      follow(all[kind]?.[name] ?? null);
    }
  };
  follow(parts);
  return Object.fromEntries(
    Object.entries(all).map(([kind, named]) => [
      kind,
      Object.fromEntries(
        Object.entries(named).filter(([name]) => found.has(`"#/components/${kind}/${name}"`)),
      ),
    ]),
  );
}

/** The parts of a document's paths that this code reads. */
type Paths = Record<string, Record<string, { operationId?: string }>>;

const info = {
  title: "Foyer",
  version,
  summary: "An event rooms server.",
  description:
    "Online events as *worlds* with *rooms*. Missing and forbidden resources both result in a 403. Every path works with and without its trailing slash. An unknown path is a 404, and an unsupported method on a known path is a 405 that lists the supported methods in `Allow`.",
  license: { name: "Apache-2.0", identifier: "Apache-2.0" },
};

const tags = [
  { name: "worlds", description: "Event spaces, with their feed and audit." },
  { name: "rooms", description: "The places of a world." },
  { name: "program", description: "Sessions and speakers." },
  { name: "users", description: "People who logged in or uploaded." },
  { name: "announcements", description: "Texts for everybody in a world." },
  { name: "chat", description: "The messages of a room." },
  { name: "questions and polls", description: "What people ask and vote." },
  { name: "calls", description: "Who talks in a room." },
  { name: "captions", description: "What is spoken in a room, as text." },
  { name: "results", description: "What is left of an event." },
  { name: "webhooks", description: "Addresses that get each change." },
  { name: "files", description: "What people uploaded." },
  { name: "server", description: "The server itself." },
];

/** Builds one document from all routes and schemas. plugins/DESIGN.md explains why no library is used. */
export default fp<{ publicUrl: string | undefined }>(
  async (app, { publicUrl }) => {
    const routes: RouteOptions[] = [];
    app.addHook("onRoute", (route) => {
      // HEAD is implied by GET. Routes without an operationId are web pages.
      if (route.method !== "HEAD" && route.schema?.operationId) {
        routes.push(route);
      }
    });

    app.decorate("isOpenapi", ({ paths }) => {
      const operations = Object.values(paths as Paths).flatMap((path) => Object.values(path));
      const ids = new Set(operations.map(({ operationId }) => operationId));
      return (
        routes.length === operations.length &&
        routes.every(({ schema }) => ids.has(schema?.operationId))
      );
    });

    app.decorate("openapi", () => {
      const paths: Record<string, JsonObject> = {};
      for (const route of routes) {
        // The server accepts paths with and without a trailing slash, but linters reject trailing
        // slashes.
        const path = route.url.replace(/:(\w+)/g, "{$1}").replace(/\/$/, "");
        const method = String(route.method).toLowerCase();
        paths[path] = { ...paths[path], [method]: operationOf(route) };
      }
      const schemas = Object.fromEntries(
        components.map((schema) => [schema.$id!, toOpenapiSchema(schema)]),
      );
      const webhooks = sentToWebhooks();
      const shared = { schemas, responses, headers, parameters };
      return {
        openapi: "3.1.0",
        info,
        servers: serversOf(publicUrl),
        tags,
        paths,
        webhooks,
        components: { ...referred({ paths, webhooks }, shared), securitySchemes },
      };
    });
  },
  { name: "openapi" },
);
