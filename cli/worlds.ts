import { Argument, Command, Option } from "commander";
import type { Store } from "../db/store.js";
import { defaultPermissionConfig } from "../schemas/permissions.js";
import {
  domain as domainText,
  title as titleText,
  worldId,
} from "../schemas/texts.js";
import type { World, WorldChanges } from "../schemas/worlds.js";
import { checked, command, plain, print, withStore } from "./command.js";
import { Failure } from "../failure.js";
import { draftWorld, freshKey } from "../worlds.js";

interface Json {
  json?: boolean;
}

/** The world with an id; the operator is told where there is none. */
export async function findWorld(store: Store, id: string): Promise<World> {
  const world = await store.worlds.get(id);
  if (!world) throw missingWorld(id);
  return world.value;
}

export const missingWorld = (id: string) =>
  new Failure(`There is no world ${id}.`);

/** A world as people read it. */
export function describe({
  id,
  title,
  domain,
  config,
  permission_config,
}: World) {
  const keys = config.JWT_secrets.map(
    ({ issuer, audience, secret }) =>
      `  issuer    ${plain(issuer)}\n  audience  ${plain(audience)}\n  secret    ${plain(secret)}`,
  );
  const rules = Object.entries(permission_config).map(
    ([key, rule]) => `  ${key.padEnd(16)} ${plain(JSON.stringify(rule))}`,
  );
  return [
    `World   ${id}`,
    `Title   ${plain(title)}`,
    `Domain  ${domain}`,
    `Keys\n${keys.join("\n\n")}`,
    `Rules\n${rules.join("\n")}`,
  ].join("\n");
}

/** What a command takes that makes a world. */
export interface NewWorld extends Json {
  title: string;
  domain: string;
}

const titleOption = () =>
  new Option("--title <title>", "what people call it").argParser(
    checked(titleText),
  );

const domainOption = () =>
  new Option("--domain <domain>", "the host name it is reached at").argParser(
    checked(domainText),
  );

/**
 * Lets a command ask how the world is to be named that it makes.
 * @param id the name of its argument for the id.
 */
export const namingWorld = (id: string, made: Command): Command =>
  made
    .addArgument(
      new Argument(`<${id}>`, "a-z, 0-9 and -, for good").argParser(
        checked(worldId),
      ),
    )
    .addOption(titleOption().makeOptionMandatory())
    .addOption(domainOption().makeOptionMandatory());

const create = namingWorld(
  "id",
  command(
    "create",
    "make a world with a fresh key, and print it",
    'world create summit --title "Summit 2027" --domain summit.example.org',
  ),
)
  .option("--private", 'let only the trait "attendee" take part')
  .action(async (id: string, options: NewWorld & { private?: boolean }) => {
    const { value } = await withStore((store) =>
      store.worlds.create(
        draftWorld(id, options.title, options.domain, options.private),
      ),
    );
    print(options.json, value, describe(value));
  });

interface Update extends Json, Partial<NewWorld> {
  defaultRules?: boolean;
  newKey?: boolean;
}

const update = command(
  "update <id>",
  "change a world, also one that nobody can reach any more",
  "world update summit --default-rules",
)
  .addOption(titleOption())
  .addOption(domainOption())
  .option("--default-rules", "put the permission_config of a new world back")
  .option("--new-key", "replace all keys by a fresh one; old tokens end")
  .action(async (id: string, options: Update, self: Command) => {
    const { json, title, domain, defaultRules, newKey } = options;
    const changes: WorldChanges = {
      ...(title !== undefined && { title }),
      ...(domain !== undefined && { domain }),
      ...(defaultRules && { permission_config: defaultPermissionConfig }),
    };
    if (Object.keys(changes).length === 0 && !newKey) {
      self.error("error: name what to change", { exitCode: 2 });
    }
    const { value } = await withStore(async (store) => {
      const { config } = await findWorld(store, id);
      return store.worlds.update(id, {
        ...changes,
        ...(newKey && { config: { ...config, JWT_secrets: [freshKey(id)] } }),
      });
    });
    print(json, value, describe(value));
  });

const list = command("list", "list the worlds", "world list --json").action(
  async ({ json }: Json) => {
    const worlds = await withStore((store) => store.worlds.list());
    print(
      json,
      worlds.map(({ id, title, domain }) => ({ id, title, domain })),
      worlds
        .map(({ id, title, domain }) => `${id}\t${domain}\t${plain(title)}`)
        .join("\n") ||
        "There is no world yet. Make one with: foyer world create",
    );
  },
);

const show = command(
  "show <id>",
  "print a world with its keys and rules",
  "world show summit",
).action(async (id: string, { json }: Json) => {
  const world = await withStore((store) => findWorld(store, id));
  print(json, world, describe(world));
});

const remove = command(
  "delete <id>",
  "delete a world with its rooms, users and files",
  "world delete summit --yes",
)
  .requiredOption("--yes", "confirm: nothing brings it back")
  .action(async (id: string, { json }: Json) => {
    await withStore(async (store, files) => {
      await findWorld(store, id);
      const records = await store.files.list(id);
      await files.discard(
        records.map(({ key }) => key),
        () => store.worlds.delete(id),
      );
    });
    print(json, { deleted: id }, `The world ${id} is deleted.`);
  });

/** `foyer world …` */
export const worldCommand = new Command("world")
  .description("make, list, show, change, delete and copy worlds")
  .addCommand(create)
  .addCommand(list)
  .addCommand(show)
  .addCommand(update)
  .addCommand(remove);
