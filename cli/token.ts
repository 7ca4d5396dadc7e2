import { InvalidArgumentError, Option } from "commander";
import { trait, uid } from "../schemas/texts.js";
import type { World } from "../schemas/worlds.js";
import { checked, command, withStore } from "./command.js";
import { print } from "./output.js";
import { findWorld } from "./worlds.js";

interface TokenOptions {
  uid?: string;
  trait: string[];
  expires: string;
}

/** Signs a token with the first key of a world. */
export async function signToken(
  { config }: World,
  { uid, trait, expires }: TokenOptions,
): Promise<string> {
  const { createSigner } = await import("fast-jwt");
  const { issuer, audience, secret } = config.JWT_secrets[0]!;
  const sign = createSigner({
    key: secret,
    algorithm: "HS256",
    iss: issuer,
    aud: audience,
    expiresIn: expires,
  });
  return sign({ ...(uid !== undefined && { uid }), traits: trait });
}

/** What may do everything, in a world that kept its default rules. */
export const ADMINISTRATOR = ["admin", "api"];

const checkTrait = checked(trait);

/** `foyer token …` */
export const tokenCommand = command(
  "token <world>",
  "print a token for the API",
  "token summit --uid 42 --trait attendee --expires 12h",
)
  .addOption(
    new Option("--uid <uid>", "whose token it is").argParser(checked(uid)),
  )
  .addOption(
    new Option("--trait <trait>", "what its bearer is; may be given often")
      .argParser((trait, traits: string[] = []) => [
        ...traits,
        checkTrait(trait),
      ])
      .default(undefined, ADMINISTRATOR.join(", ")),
  )
  .addOption(
    new Option("--expires <time>", "how long it holds: 90s, 30m, 12h, 30d")
      .argParser((text) => {
        if (/^[1-9]\d{0,5}[smhd]$/.test(text)) return text;
        throw new InvalidArgumentError(
          "A time looks like 90s, 30m, 12h or 30d.",
        );
      })
      .default("30d"),
  )
  .action(
    async (
      id: string,
      {
        json,
        trait = ADMINISTRATOR,
        ...rest
      }: Omit<TokenOptions, "trait"> & { trait?: string[]; json?: boolean },
    ) => {
      const world = await withStore((store) => findWorld(store, id));
      const token = await signToken(world, { ...rest, trait });
      print(json, { token }, [token]);
    },
  );
