import { InvalidArgumentError, Option } from "commander";
import { trait, uid } from "../schemas/texts.js";
import { ADMINISTRATOR, signToken } from "../worlds.js";
import { checked, command, withStore } from "./command.js";
import { print } from "./output.js";
import { findWorld } from "./worlds.js";

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
        uid,
        trait,
        expires,
      }: { json?: boolean; uid?: string; trait?: string[]; expires: string },
    ) => {
      const world = await withStore((store) => findWorld(store, id));
      const token = await signToken(world, {
        uid,
        ...(trait && { traits: trait }),
        expiresIn: expires,
      });
      print(json, { token }, [token]);
    },
  );
