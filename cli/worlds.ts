import { Argument, Command, Option } from "commander";
import type { Store } from "../db/contract/store.js";
import { PAGE_SIZE } from "../db/results/results.js";
import {
  changeWorld,
  deleteWorld,
  draftWorld,
  findWorld,
  invitationLink,
  inviteHost,
  type WorldResetOptions,
} from "../db/world-management.js";
import { linkTo } from "../schemas/plain/links.js";
import { domain as domainText, title as titleText, worldId } from "../schemas/plain/texts.js";
import type { World, WorldKey } from "../schemas/worlds.js";
import { addressIn, checked, command, settings, withStore } from "./command.js";
import { type JsonOption, print, printList } from "./output.js";

/** Formats a world for people, including its keys' secrets if they are present. */
export function worldLines({
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

/**
 * Returns a world without the secrets of its keys and of its sign-in providers, so that the world
 * may be shown to anyone.
 */
function withoutSecrets({ config, ...world }: World): WithoutSecrets {
  const JWT_secrets = config.JWT_secrets.map(({ secret: _, ...key }) => key);
  const { oidc } = config;
  const providers = oidc?.map(({ client_secret: _, ...provider }) => provider);
  return { ...world, config: { ...config, JWT_secrets, ...(oidc && { oidc: providers }) } };
}

/** The options of a command that creates a world. */
export interface NewWorld extends JsonOption {
  title: string;
  domain: string;
}

const titleOption = () =>
  new Option("--title <title>", "the title that people see").argParser(checked(titleText));

const domainOption = () =>
  new Option("--domain <domain>", "the host name of the world").argParser(checked(domainText));

/**
 * Adds the arguments and options that describe a new world.
 * @param id the name of the id argument.
 */
export const newWorldCommand = (id: string, base: Command): Command =>
  base
    .addArgument(
      new Argument(`<${id}>`, "a-z, 0-9 and -; cannot be changed later").argParser(
        checked(worldId),
      ),
    )
    .addOption(titleOption().makeOptionMandatory())
    .addOption(domainOption().makeOptionMandatory());

/** Returns the links to a new world, and the next steps. */
async function nextLines(store: Store, world: World): Promise<string[]> {
  const config = settings();
  // Without a fixed port or a public URL, only the running server knows its address.
  if (config.port === 0 && config.publicUrl === undefined) return [];
  const address = addressIn(config);
  const host = await inviteHost(store, world);
  return [
    `Event    ${linkTo("event", { address, world: world.id })}`,
    `Console  ${await invitationLink(world, host, address)}`,
    "",
    "Next, start the server and open the console:",
    "",
    "  foyer serve",
  ];
}

const createWorld = newWorldCommand(
  "id",
  command(
    "create",
    "create a world with a new key, and print both",
    'world create summit --title "Summit 2027" --domain summit.example.org',
  ),
)
  .option("--private", 'admit only users with the trait "attendee"')
  .action(async (id: string, options: NewWorld & { private?: boolean }) => {
    const draft = draftWorld({ id, ...options }, options.private);
    const { value, lines } = await withStore(
      async (store) => {
        const { value } = await store.worlds.create(draft);
        return { value, lines: options.json ? [] : await nextLines(store, value) };
      },
      { create: true },
    );
    print(options.json, value, [...worldLines(value), "", ...lines]);
  });

const updateWorld = command(
  "update <id>",
  "change a world, even if no token can change it anymore",
  "world update summit --default-rules",
)
  .addOption(titleOption())
  .addOption(domainOption())
  .option("--default-rules", "restore the permission_config of a new world")
  .option(
    "--new-key",
    "replace all keys with a new one, and print it; existing tokens stop working",
  )
  .action(async (id: string, options: JsonOption & WorldResetOptions, self: Command) => {
    const { json, ...reset } = options;
    if (Object.keys(reset).length === 0) self.error("name what to change");
    const world = await withStore((store) => changeWorld(store, id, reset));
    const shown = reset.newKey ? world : withoutSecrets(world);
    print(json, shown, worldLines(shown));
  });

const listWorlds = command("list", "list the worlds", "world list --json").action(
  ({ json }: JsonOption) =>
    withStore((store) =>
      printList(
        json,
        allWorlds(store),
        ({ id, title, domain }) => [id, domain, title],
        "There are no worlds yet. Create one with: foyer world create",
      ),
    ),
);

/** Yields all worlds, reading a page at a time. */
async function* allWorlds(store: Store) {
  let page: World[] = [];
  do {
    const last = page.at(-1);
    page = await store.worlds.list({ ...(last && { after: last.id }), limit: PAGE_SIZE });
    for (const { id, title, domain } of page) yield { id, title, domain };
  } while (page.length === PAGE_SIZE);
}

const showWorld = command(
  "show <id>",
  "print a world with its keys and rules",
  "world show summit",
).action(async (id: string, { json }: JsonOption) => {
  const world = await withStore((store) => findWorld(store, id));
  print(json, world, worldLines(world));
});

const removeWorld = command(
  "delete <id>",
  "delete a world with its rooms, users and files",
  "world delete summit --yes",
)
  .requiredOption("--yes", "confirm the deletion, which cannot be undone")
  .action(async (id: string, { json }: JsonOption) => {
    await withStore(async (store, files) => {
      await deleteWorld({ store, files }, id);
    });
    print(json, { deleted: id }, [`Deleted the world ${id}.`]);
  });

/** `foyer world …` */
export const worldCommand = new Command("world")
  .description("create, list, show, change, delete and copy worlds")
  .addCommand(createWorld)
  .addCommand(listWorlds)
  .addCommand(showWorld)
  .addCommand(updateWorld)
  .addCommand(removeWorld);
