import { InvalidArgumentError, Option } from "commander";
import { trait, uid } from "../schemas/plain/texts.js";
import { ADMINISTRATOR, findWorld, signToken } from "../worlds.js";
import { checked, command, withStore } from "./command.js";
import { type JsonOption, print } from "./output.js";

const checkTrait = checked(trait);

/** `foyer token …` */
export const tokenCommand = command(
  "token <world>",
  "print a token for the API",
  "token summit --uid 42 --trait attendee --expires 12h",
)
  .addOption(
    new Option("--uid <uid>", "the user it is for").argParser(checked(uid)),
  )
  .addOption(
    new Option(
      "--trait <trait>",
      "a trait of its bearer; may be given more than once",
    )
      .argParser((trait, traits: string[] = []) => [
        ...traits,
        checkTrait(trait),
      ])
      .default(undefined, ADMINISTRATOR.join(", ")),
  )
  .addOption(
    new Option("--expires <time>", "how long it is valid: 90s, 30m, 12h, 30d")
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
      }: JsonOption & { uid?: string; trait?: string[]; expires: string },
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
