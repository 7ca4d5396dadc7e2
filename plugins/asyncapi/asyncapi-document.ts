import fp from "fastify-plugin";
import { type CommandName, commands, pushes } from "../../schemas/live/index.js";
import type { JsonObject } from "../../schemas/openapi/openapi-schema.js";
import { worldId } from "../../schemas/plain/texts.js";
import { version } from "../../schemas/plain/version.js";
import { messagesOfChannel } from "./asyncapi-messages.js";
import { schemasFor } from "./schemas.js";

/** The permission that each command requires, in plain language. */
export type Requirements = Readonly<Record<CommandName, string>>;

const channel = { $ref: "#/channels/world" };
const messageRef = (key: string) => ({
  $ref: `#/channels/world/messages/${key}`,
});

/** Describes a frame that the client sends and the responses to it. */
const command = (
  name: string,
  answers: readonly string[],
  { summary, requires }: { summary: string; requires?: string | undefined },
): JsonObject => ({
  action: "receive",
  channel,
  title: name,
  summary,
  ...(requires !== undefined && { "x-requires": requires }),
  messages: [messageRef(`command.${name}`)],
  reply: { channel, messages: answers.map(messageRef) },
});

/** Describes an unsolicited frame from the server. */
const push = (title: string, summary: string, ...keys: string[]): JsonObject => ({
  action: "send",
  channel,
  title,
  summary,
  messages: keys.map(messageRef),
});

function operations(requirements: Requirements | undefined): JsonObject {
  const all: JsonObject = {
    authenticate: command("authenticate", ["push.authenticated", "error.authenticate"], {
      summary: "Logs in. Only ping works before.",
    }),
    ping: command("ping", ["success.ping"], { summary: "Asks whether the connection works." }),
  };
  for (const name of Object.keys(commands) as CommandName[]) {
    all[name] = command(name, [`success.${name}`, `error.${name}`], {
      summary: `${commands[name].summary}.`,
      requires: requirements?.[name],
    });
  }
  for (const [name, { summary }] of Object.entries(pushes)) {
    // `authenticated` is the response to `authenticate`, not a push.
    if (name === "authenticated") continue;
    all[`push.${name}`] = push(name, `${summary}.`, `push.${name}`);
  }
  all.error = push(
    "error",
    "Something failed that is not a known command.",
    "error.unasked",
    "error.unknown_command",
  );
  all.change = {
    action: "send",
    channel: { $ref: "#/channels/changes" },
    title: "change",
    summary: "Something changed in the world.",
    messages: [{ $ref: "#/channels/changes/messages/change" }],
  };
  return all;
}

/** Describes the server as clients see it. If the public URL is unknown, the host is a variable. */
function serverOf(publicUrl: string | undefined, tls: string, plain: string): JsonObject {
  if (publicUrl === undefined) {
    return {
      host: "{host}",
      protocol: plain,
      variables: {
        host: { default: "127.0.0.1:8375", description: "The host and port of this server." },
      },
    };
  }
  const { protocol, host, pathname } = new URL(publicUrl);
  return {
    host,
    ...(pathname !== "/" && { pathname }),
    protocol: protocol === "https:" ? tls : plain,
  };
}

/** Describes the server addresses of the websocket and the change feed. */
export const serversOf = (publicUrl: string | undefined): JsonObject => ({
  foyer: serverOf(publicUrl, "wss", "ws"),
  http: serverOf(publicUrl, "https", "http"),
});

/**
 * Returns the AsyncAPI 3.0 document for the websocket and the change feed, from the server's
 * perspective: the server receives commands and sends pushes.
 * @param options.version Foyer's version.
 * @param options.publicUrl PUBLIC_URL, if set.
 * @param options.requirements the `x-requires` value for each command's operation.
 */
export function asyncapiDocument({
  version,
  publicUrl,
  requirements,
}: {
  version: string;
  publicUrl?: string | undefined;
  requirements?: Requirements | undefined;
}): JsonObject {
  const parameters = {
    world_id: {
      description: `The id of a world, which matches ${worldId.pattern}.`,
      examples: ["sample"],
    },
  };
  const channels = {
    world: {
      address: "/ws/world/{world_id}",
      title: "A world",
      description: "With or without a slash at the end.",
      servers: [{ $ref: "#/servers/foyer" }],
      parameters,
      messages: messagesOfChannel(),
      bindings: { ws: { method: "GET", bindingVersion: "0.1.0" } },
    },
    changes: {
      address: "/api/v1/worlds/{world_id}/changes",
      title: "The change feed of a world",
      description:
        "Over HTTP. With Accept: text/event-stream, the server sends each entry as an event. Webhooks get the same types and data.",
      servers: [{ $ref: "#/servers/http" }],
      parameters,
      messages: {
        change: {
          name: "change",
          title: "change",
          summary: "Something changed. Ignore types that you don't know.",
          payload: { $ref: "#/components/schemas/FeedEntry" },
        },
      },
    },
  };
  return {
    asyncapi: "3.0.0",
    info: {
      title: "Foyer",
      version,
      description:
        "The websocket of an event rooms server. Each text frame is one JSON array: a command with an id and a payload, its response, or a push.",
      license: {
        name: "Apache-2.0",
        url: "https://www.apache.org/licenses/LICENSE-2.0",
      },
      tags: [{ name: "events" }],
    },
    defaultContentType: "application/json",
    servers: serversOf(publicUrl),
    channels,
    operations: operations(requirements),
    components: { schemas: schemasFor(channels) },
  };
}

declare module "fastify" {
  interface FastifyInstance {
    /** Returns the AsyncAPI 3.0 document for the websocket and the change feed. */
    asyncapi(): JsonObject;
  }
}

/** Provides `app.asyncapi`, for `/api/v1/asyncapi.json` and the websocket's documentation page. */
export default fp<{
  publicUrl: string | undefined;
  /** The permission that each command requires; omitted from the document if not set. */
  requirements?: Requirements;
}>(
  async (app, { publicUrl, requirements }) => {
    app.decorate("asyncapi", () => asyncapiDocument({ version, publicUrl, requirements }));
  },
  { name: "asyncapi" },
);
