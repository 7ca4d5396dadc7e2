import { type TSchema, Type } from "@sinclair/typebox";
import { webhookMessage } from "../../schemas/feed.js";
import { feedData, pascalCase } from "../../schemas/feed-data.js";
import { toOpenapiSchema, type JsonObject } from "../../schemas/openapi/openapi-schema.js";
import { ref } from "../../schemas/values.js";

// What webhooks send, as OpenAPI 3.1 describes requests that a server makes.

/** The headers of Standard Webhooks. Some generators know no shared ones of webhooks. */
const parameters = [
  ["webhook-id", "The same for every try of an entry."],
  ["webhook-timestamp", "When it is sent, in seconds since 1970."],
  ["webhook-signature", "`v1,` and an HMAC-SHA256 with the secret."],
].map(([name, description]) => ({
  name,
  in: "header",
  required: true,
  description,
  schema: { type: "string" },
}));

const responses = {
  200: { description: "It is taken, as by any other 2xx." },
  410: { description: "Nothing more is wanted. The webhook is disabled." },
};

const types: Record<string, TSchema> = {
  ...Object.fromEntries(Object.entries(feedData).map(([type, data]) => [type, ref(data)])),
  "webhook.test": Type.Object({ webhook_id: Type.String({ format: "uuid" }) }),
};

/** The requests to a webhook, by the type of what happened. */
export const sentToWebhooks = (): JsonObject =>
  Object.fromEntries(
    Object.entries(types).map(([type, data]) => [
      type,
      {
        post: {
          operationId: `on${pascalCase(type)}`,
          summary: `Take a ${type}`,
          description:
            "As in the change feed. More types may come: answer 2xx to those that you don't know.",
          tags: ["webhooks"],
          security: [],
          parameters,
          requestBody: {
            required: true,
            content: {
              "application/json": { schema: toOpenapiSchema(webhookMessage(type, data)) },
            },
          },
          responses,
        },
      },
    ]),
  );
