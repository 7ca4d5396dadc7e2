import { Argument, Command, Option } from "commander";
import type { Store } from "../db/store.js";
import { defaultPermissionConfig } from "../schemas/permissions.js";
import {
  domain as domainText,
  title as titleText,
  worldId,
} from "../schemas/texts.js";
import type { World, WorldChanges, WorldKey } from "../schemas/worlds.js";
import { Failure } from "../failure.js";
import { draftWorld, freshKey } from "../worlds.js";
import { checked, command, withStore } from "./command.js";
import { printList } from "./lists.js";
import { print } from "./output.js";

interface Json {
  json?: boolean;
}

/** How many worlds are read at a time. */
const PAGE = 100;

/** The world with an id; the operator is told where there is none. */
export async function findWorld(store: Store, id: string): Promise<World> {
  const world = await store.worlds.get(id);
  if (!world) throw missingWorld(id);
  return world.value;
}

export const missingWorld = (id: string) =>
  new Failure(`There is no world ${id}.`);

/** A world as people read it, with the secrets of its keys if it has them. */
export function describe({
  id,
  title,
  domain,
  config,
  permission_config,
}: WithoutSecrets): string[] {
  const keys = config.JWT_secrets.map(({ issuer, audience, secret }) => [
    `  issuer    ${issuer}`,
    `  audience  ${audience}`,
    ...(secret === undefined ? [] : [`  secret    ${secret}`]),
  ]);
  const rules = Object.entries(permission_config).map(
    ([key, rule]) => `  ${key.padEnd(16)} ${JSON.stringify(rule)}`,
  );
  return [
    `World   ${id}`,
    `Title   ${title}`,
    `Domain  ${domain}`,
    "Keys",
    ...keys.flatMap((key, i) => (i === 0 ? key : ["", ...key])),
    "Rules",
    ...rules,
  ];
}

/** A world whose keys may lack their secrets. */
interface WithoutSecrets extends Omit<World, "config"> {
  config: { JWT_secrets: (Omit<WorldKey, "secret"> & Partial<WorldKey>)[] };
}

/** A world as it may be shown to whoever looks on: its keys without what they sign with. */
function withoutSecrets({ config, ...world }: World): WithoutSecrets {
  const JWT_secrets = config.JWT_secrets.map(({ secret: _, ...key }) => key);
  return { ...world, config: { ...config, JWT_secrets } };
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
    const { title, domain } = options;
    const draft = draftWorld(id, title, domain, options.private);
    const { value } = await withStore((store) => store.worlds.create(draft), {
      create: true,
    });
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
  .option(
    "--new-key",
    "replace all keys by a fresh one, and print it; old tokens end",
  )
  .action(async (id: string, options: Update, self: Command) => {
    const { json, title, domain, defaultRules, newKey } = options;
    const changes: WorldChanges = {
      ...(title !== undefined && { title }),
      ...(domain !== undefined && { domain }),
      ...(defaultRules && { permission_config: defaultPermissionConfig }),
    };
    if (Object.keys(changes).length === 0 && !newKey) {
      self.error("name what to change");
    }
    const { value } = await withStore(async (store) => {
      const { config } = await findWorld(store, id);
      return store.worlds.update(id, {
        ...changes,
        ...(newKey && { config: { ...config, JWT_secrets: [freshKey(id)] } }),
      });
    });
    const shown = newKey ? value : withoutSecrets(value);
    print(json, shown, describe(shown));
  });

const list = command("list", "list the worlds", "world list --json").action(
  ({ json }: Json) =>
    withStore((store) =>
      printList(
        json,
        allWorlds(store),
        ({ id, title, domain }) => [id, domain, title],
        "There is no world yet. Make one with: foyer world create",
      ),
    ),
);

/** What is listed of each world, read a page at a time. */
async function* allWorlds(store: Store) {
  let page: World[] = [];
  do {
    const last = page.at(-1);
    page = await store.worlds.list({
      ...(last && { after: last.id }),
      limit: PAGE,
    });
    for (const { id, title, domain } of page) yield { id, title, domain };
  } while (page.length === PAGE);
}

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
      const keys = await store.files.keys(id);
      await files.discard(keys, () => store.worlds.delete(id));
    });
    print(json, { deleted: id }, [`The world ${id} is deleted.`]);
  });

/** `foyer world …` */
export const worldCommand = new Command("world")
  .description("make, list, show, change, delete and copy worlds")
  .addCommand(create)
  .addCommand(list)
  .addCommand(show)
  .addCommand(update)
  .addCommand(remove);
