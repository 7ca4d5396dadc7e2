import { randomUUID } from "node:crypto";
import { InvalidArgumentError, Option } from "commander";
import { loadConfig } from "../config.js";
import { tokenCreated } from "../db/rules/acts.js";
import { ADMINISTRATOR, findWorld, signToken } from "../db/world-management.js";
import { type LinkedPage, linkTo } from "../schemas/plain/links.js";
import { trait, uid } from "../schemas/plain/texts.js";
import { addressIn, checked, command, withStore } from "./command.js";
import { context, type JsonOption, print } from "./output.js";

const checkTrait = checked(trait);

/** `foyer token …` */
export const tokenCommand = command(
  "token <world>",
  "print a token for the API",
  "token summit --uid 42 --trait attendee --expires 12h",
)
  .addOption(new Option("--uid <uid>", "the user of the token").argParser(checked(uid)))
  .addOption(
    new Option(
      "--name <name>",
      "the initial name of a new user; without --uid, the token is for a new user",
    ).argParser(checked({ type: "string", minLength: 1, maxLength: 300 })),
  )
  .addOption(
    new Option("--trait <trait>", "a trait of its bearer; may be repeated")
      .argParser((trait, traits: string[] = []) => [...traits, checkTrait(trait)])
      .default(undefined, ADMINISTRATOR.join(", ")),
  )
  .addOption(
    new Option("--expires <time>", "the validity, such as 90s, 30m, 12h or 30d")
      .argParser((text) => {
        if (/^[1-9]\d{0,5}[smhd]$/.test(text)) return text;
        throw new InvalidArgumentError("It must be a time such as 90s, 30m, 12h or 30d.");
      })
      .default("30d"),
  )
  .addOption(
    new Option(
      "--link [page]",
      "print a link that signs its reader in, as a new user without --uid; it uses PUBLIC_URL, or else HOST and PORT",
    )
      .choices(["console", "event"])
      .preset("console"),
  )
  .action(
    async (id: string, { json, uid, name, trait, expires, link: page }: TokenCommandOptions) => {
      // Computed before anything is recorded, because `addressIn` may throw.
      const address = page && addressIn(loadConfig(context().env));
      const world = await withStore(async (store) => {
        const found = await findWorld(store, id);
        await store.audit.record(id, tokenCreated(trait ?? ADMINISTRATOR));
        return found;
      });
      const token = await signToken(world, {
        // Over a websocket, a token without a uid cannot log anyone in.
        uid: uid ?? ((page ?? name) ? randomUUID() : undefined),
        ...(name !== undefined && { profile: { display_name: name } }),
        ...(trait && { traits: trait }),
        expiresIn: expires,
      });
      if (!page || address === undefined) {
        return print(json, { token }, [token]);
      }
      const link = linkTo(page, { address, world: id, token });
      print(json, { token, link }, [link]);
    },
  );

interface TokenCommandOptions extends JsonOption {
  uid?: string;
  name?: string;
  trait?: string[];
  expires: string;
  link?: LinkedPage;
}
