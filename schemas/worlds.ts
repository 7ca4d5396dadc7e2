import { Type, type Static } from "@sinclair/typebox";
import { SignInProvider, TokenIssuer } from "./issuers.js";
import { MailSettings } from "./mails.js";
import { attendanceModes } from "./plain/attendance.js";
import { contact } from "./plain/mail.js";
import { blockedWordActions, MAX_BLOCKED_WORDS } from "./plain/moderation/blocked-words.js";
import { MAX_OVERRUN_MINUTES, OVERRUN_MINUTES } from "./plain/program.js";
import { MAX_QUIET_MINUTES } from "./plain/guests.js";
import { Access } from "./access.js";
import { EventDates } from "./event-dates.js";
import { Domain, List, OneOf, ref, Text, Title, WorldId } from "./values.js";
import { PermissionConfig, Role, Rule } from "./rules.js";

/** A key that signs a world's tokens. */
export const WorldKey = Type.Object(
  {
    issuer: Text({ minLength: 1, maxLength: 300 }),
    audience: Text({ minLength: 1, maxLength: 300 }),
    secret: Text({ minLength: 32, description: "Signs tokens by HS256. At least 32 characters." }),
  },
  {
    $id: "WorldKey",
    description: "A key that signs the tokens of a world.",
    additionalProperties: false,
  },
);
export type WorldKey = Static<typeof WorldKey>;

const keys = List(ref(WorldKey), 20, { minItems: 1 });

/**
 * A world's secret settings other than its keys: the issuers and the sign-in providers that the
 * world accepts in addition to its keys.
 */
const issuers = {
  JWT_issuers: Type.Optional(List(ref(TokenIssuer), 20)),
  oidc: Type.Optional(List(ref(SignInProvider), 5)),
};

/** A world's settings, and the keys that sign the world's tokens. */
export const WorldConfig = Type.Object(
  { JWT_secrets: keys, ...issuers },
  { additionalProperties: true },
);
export type WorldConfig = Static<typeof WorldConfig> & Record<string, unknown>;

const worldExample = {
  id: "summit",
  title: "Summit 2027",
  config: {
    JWT_secrets: [
      {
        issuer: "foyer",
        audience: "summit",
        secret: "only-an-example-of-at-least-32-characters",
      },
    ],
    theme: { primary: "#2c3e50" },
  },
  permission_config: { "world.api": ["admin", "api"], "room.create": ["admin"] },
  domain: "summit.example.org",
};

/** A world: the space of one event. */
export const World = Type.Object(
  {
    id: WorldId,
    title: Title,
    config: Type.Unsafe<WorldConfig>(WorldConfig),
    permission_config: ref(PermissionConfig),
    domain: Domain,
  },
  { $id: "World", description: "One event space.", examples: [worldExample] },
);
export type World = Static<typeof World>;

/** The words that nobody but moderators may write. */
export const BlockedWords = Type.Object(
  {
    words: List(Text({ minLength: 2, maxLength: 64 }), MAX_BLOCKED_WORDS),
    action: OneOf(...blockedWordActions),
  },
  {
    $id: "BlockedWords",
    description:
      "Words that people may not write in the chat, in questions, polls and names. Whole words count, whatever their case, width and accents; `*` stands for any letters or none. `hold` sends messages and questions to the moderators, and refuses the rest. Only callers with `world.update` see them.",
    additionalProperties: false,
    examples: [{ words: ["spam*"], action: "hold" }],
  },
);

/** The changes to a world. If an `id` is present, it must be the world's current id. */
export const WorldChanges = Type.Partial(
  Type.Object({
    id: Text({ description: "Must equal the current value, if present.", readOnly: true }),
    title: Title,
    config: Type.Object(
      {
        JWT_secrets: Type.Optional(keys),
        ...issuers,
        onsite_traits: Type.Optional(ref(Rule)),
        event: Type.Optional(EventDates),
        overrun_minutes: Type.Optional(
          Type.Integer({
            minimum: 0,
            maximum: MAX_OVERRUN_MINUTES,
            description: `How long a stage keeps the stream of a session that is over; ${OVERRUN_MINUTES} by default.`,
          }),
        ),
        access: Type.Optional(Access),
        about: Type.Optional(
          Text({ maxLength: 20_000, description: "What the event is about, in Markdown." }),
        ),
        attendance: Type.Optional(OneOf(...attendanceModes)),
        blocked_words: Type.Optional(ref(BlockedWords)),
        guest_approval: Type.Optional(
          Type.Boolean({ description: "Whether new guests wait until a moderator admits them." }),
        ),
        guest_quiet_minutes: Type.Optional(
          Type.Integer({
            minimum: 0,
            maximum: MAX_QUIET_MINUTES,
            description: "For how many minutes new guests may only read.",
          }),
        ),
        feedback: Type.Optional(
          Type.Object({
            sessions: Type.Optional(
              Type.Boolean({ description: "Ask people to rate sessions after their end." }),
            ),
            show_speakers: Type.Optional(
              Type.Boolean({ description: "Show speakers the averages of their sessions." }),
            ),
          }),
        ),
        roles: Type.Optional(List(ref(Role), 50)),
        mail: Type.Optional(ref(MailSettings)),
        contact: Type.Optional(
          Text({
            ...contact,
            description:
              "Whom people can ask: an address, a URL or words. Everybody can read it, also without access.",
          }),
        ),
      },
      {
        additionalProperties: true,
        description: "Without JWT_secrets, JWT_issuers or oidc, the present ones stay.",
      },
    ),
    permission_config: ref(PermissionConfig),
    domain: Domain,
  }),
  {
    $id: "WorldChanges",
    description: "The fields of a world to replace. Unknown fields are refused.",
    additionalProperties: false,
    examples: [{ title: "Summit 2027, day two" }],
  },
);
export type WorldChanges = Static<typeof WorldChanges>;

/** The notification from pretalx's plugin that an event's schedule has changed. */
export const ScheduleUpdate = Type.Partial(
  Type.Object({
    domain: Text({ description: "An address of pretalx." }),
    event: Text({ description: "The short name of the event there." }),
  }),
  {
    $id: "ScheduleUpdate",
    description:
      "The place of a schedule. Both fields must be those of `config.pretalx`; of `domain`, only the host counts.",
    examples: [{ domain: "https://pretalx.example.org", event: "demo" }],
  },
);

export const WorldParams = Type.Object({
  world_id: Type.String({
    description: "The identifier of a world.",
    // The demo world's id, so that calls tried at /docs find it.
    examples: ["sample"],
  }),
});
