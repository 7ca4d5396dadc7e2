import { Type, type Static } from "@sinclair/typebox";
import { PermissionConfig } from "./permissions.js";
import { Domain, List, Text, Title, WorldId } from "./values.js";

/** A key that signs the tokens of a world. */
export const WorldKey = Type.Object(
  {
    issuer: Text({ minLength: 1, maxLength: 300 }),
    audience: Text({ minLength: 1, maxLength: 300 }),
    secret: Text({
      minLength: 32,
      description: "Signs tokens by HS256. At least 32 characters.",
    }),
  },
  { additionalProperties: false },
);
export type WorldKey = Static<typeof WorldKey>;

const keys = List(WorldKey, 20, { minItems: 1 });

/** Whatever the event needs, and the keys that sign its tokens. */
export const WorldConfig = Type.Object(
  { JWT_secrets: keys },
  { additionalProperties: true },
);
export type WorldConfig = Static<typeof WorldConfig> & Record<string, unknown>;

/** One event space. */
export const World = Type.Object({
  id: WorldId,
  title: Title,
  config: Type.Unsafe<WorldConfig>(WorldConfig),
  permission_config: PermissionConfig,
  domain: Domain,
});
export type World = Static<typeof World>;

/** The fields of a world that may be changed; `id` only to what it is. */
export const WorldChanges = Type.Partial(
  Type.Object({
    id: Text({ description: "Its present value, or nothing." }),
    title: Title,
    config: Type.Object(
      { JWT_secrets: Type.Optional(keys) },
      {
        additionalProperties: true,
        description: "Without JWT_secrets, the present keys stay.",
      },
    ),
    permission_config: PermissionConfig,
    domain: Domain,
  }),
  { additionalProperties: false },
);
export type WorldChanges = Static<typeof WorldChanges>;

export const WorldParams = Type.Object({ world_id: Type.String() });
