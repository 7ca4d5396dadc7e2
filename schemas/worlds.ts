import { Type, type Static } from "@sinclair/typebox";
import { SignInProvider, TokenIssuer } from "./issuers.js";
import { attendanceModes } from "./plain/attendance.js";
import { EventDates } from "./event-dates.js";
import { Domain, List, OneOf, ref, Text, Title, WorldId } from "./values.js";
import { PermissionConfig, Role, Rule } from "./rules.js";

/** A key that signs the tokens of a world. */
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

/** The settings of a world that are secret beside its keys: who else may sign its users in. */
const issuers = {
  JWT_issuers: Type.Optional(List(ref(TokenIssuer), 20)),
  oidc: Type.Optional(List(ref(SignInProvider), 5)),
};

/** The settings of an event, and the keys that sign its tokens. */
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

/** One event space. */
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

/** The fields of a world to change. An `id` must be the present one. */
export const WorldChanges = Type.Partial(
  Type.Object({
    id: Text({ description: "Its present value, or nothing.", readOnly: true }),
    title: Title,
    config: Type.Object(
      {
        JWT_secrets: Type.Optional(keys),
        ...issuers,
        onsite_traits: Type.Optional(ref(Rule)),
        event: Type.Optional(EventDates),
        attendance: Type.Optional(OneOf(...attendanceModes)),
        roles: Type.Optional(List(ref(Role), 50)),
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

/** What the plugin of pretalx says when the schedule of its event has changed. */
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
    // The id of the demo world, so that a call tried at /docs finds it.
    examples: ["sample"],
  }),
});
