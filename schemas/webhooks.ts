import { type Static, Type } from "@sinclair/typebox";
import { cursor } from "./feed.js";
import { FEED_PATTERNS } from "./plain/feed.js";
import { Expected } from "./plain/texts.js";
import { List, OneOf, PageOf, Text } from "./values.js";

const numberOrNull = (description: string) =>
  Type.Unsafe<number | null>({ type: ["integer", "null"], description });

const timeOrNull = (description: string) =>
  Type.Unsafe<string | null>({ type: ["string", "null"], format: "date-time", description });

const settings = {
  url: Text({
    minLength: 1,
    maxLength: 2000,
    pattern: "^[hH][tT][tT][pP][sS]?://",
    [Expected]: "an address like https://example.org/path",
    description: "The URL that receives the changes: https, at a public address.",
  }),
  types: List(OneOf(...FEED_PATTERNS), 100, {
    minItems: 1,
    description: 'Types of the change feed, also as room.*; ["*"] for everything.',
  }),
  enabled: Type.Boolean({ description: "Whether changes are sent." }),
  description: Text({ maxLength: 1000 }),
};

export const WebhookDraft = Type.Object(
  {
    url: settings.url,
    types: Type.Optional(settings.types),
    enabled: Type.Optional(settings.enabled),
    description: Type.Optional(settings.description),
  },
  {
    $id: "WebhookDraft",
    description: "A new webhook.",
    additionalProperties: false,
    examples: [{ url: "https://example.org/foyer", types: ["room.*"] }],
  },
);

export const WebhookChanges = Type.Partial(
  Type.Object({
    ...settings,
    secret: Type.Null({ description: "Null creates a new secret, which the response contains." }),
  }),
  {
    $id: "WebhookChanges",
    description: "The fields of a webhook to replace.",
    additionalProperties: false,
    examples: [{ enabled: false }],
  },
);

const WebhookState = Type.Object({
  cursor: Type.String({
    description: "The position of the last entry that was delivered or skipped.",
  }),
  delivered_at: timeOrNull("When the receiver took an entry last."),
  failing_since: timeOrNull("Since when it takes none."),
  last_status: numberOrNull("The status of its last response."),
  last_error: Type.Unsafe<string | null>({
    type: ["string", "null"],
    description: "Why the last attempt failed, as a code.",
  }),
  next_try_at: timeOrNull("When the next entry is sent again."),
});

export const Webhook = Type.Object(
  {
    id: Type.String({ format: "uuid" }),
    ...settings,
    // Older versions of Foyer accepted any string.
    types: Type.Array(Type.String()),
    created_at: Type.String({ format: "date-time" }),
    state: WebhookState,
    secret: Type.Optional(
      Type.String({
        description: "Signs the requests. Only the response that created it contains it.",
      }),
    ),
    resumed: Type.Optional(
      Type.Unsafe<"cursor" | "now">({
        type: "string",
        enum: ["cursor", "now"],
        description:
          "After enabling: whether it goes on from its cursor, or from now, as older entries are gone.",
      }),
    ),
  },
  { $id: "Webhook", description: "A URL that receives each change." },
);
export type Webhook = Static<typeof Webhook>;

export const WebhookList = PageOf(Webhook, {
  $id: "WebhookList",
  description: "A page of the webhooks of a world, oldest first.",
  example: {
    id: "7c9e6679-7425-40de-944b-e07fc1f90ae7",
    url: "https://example.org/foyer",
    types: ["room.*"],
    enabled: true,
    description: "",
    created_at: "2027-03-01T09:00:00.000Z",
    state: {
      cursor: "812",
      delivered_at: "2027-03-01T09:00:00.000Z",
      failing_since: null,
      last_status: 204,
      last_error: null,
      next_try_at: null,
    },
  },
});

export const WebhookTest = Type.Object(
  {
    status: numberOrNull("The status of the response; null if there was none."),
    duration_ms: Type.Integer(),
    error: Type.Unsafe<string | null>({ type: ["string", "null"] }),
  },
  { $id: "WebhookTest", description: "The outcome of an attempt." },
);

export const WebhookPosition = Type.Object(
  { after: Text({ ...cursor, description: "A cursor of the change feed." }) },
  {
    $id: "WebhookPosition",
    description: "The position from which to resend.",
    additionalProperties: false,
    examples: [{ after: "812" }],
  },
);

/** The path parameter that names a webhook. */
export const webhookId = Text({ description: "The id of the webhook." });
