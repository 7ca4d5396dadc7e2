import { Command } from "commander";
import { command, withStore } from "./command.js";
import { pages, printList } from "./lists.js";
import { type JsonOption, print } from "./output.js";
import { findWorld } from "../worlds.js";

const listUsers = command(
  "list <world>",
  "list the users of a world, and what is stored of each",
  "user list summit --json",
).action((world: string, { json }: JsonOption) =>
  withStore(async (store) => {
    await findWorld(store, world);
    const users = pages(
      async (page) => (await store.users.list(world, page)).users,
    );
    const items = (async function* () {
      for await (const { last_seen, last_login, ...user } of users) {
        yield {
          ...user,
          last_seen: timeOf(last_seen),
          last_login: last_login === null ? null : timeOf(last_login),
        };
      }
    })();
    await printList(
      json,
      items,
      ({ id, token_id, client_id, traits, last_seen }) => [
        id,
        token_id === null ? `client ${client_id}` : `uid ${token_id}`,
        last_seen,
        traits.join(", "),
      ],
      "Nobody has logged in or uploaded anything yet.",
    );
  }),
);

const timeOf = (milliseconds: number) => new Date(milliseconds).toISOString();

const deleteUser = command(
  "delete <world> <user-id>",
  "erase what identifies a user; the files of the user stay",
  "user delete summit 0d6f1a3e-8c1b-4a55-9f5e-2f6d4c7a9b10",
).action(async (world: string, id: string, { json }: JsonOption) => {
  await withStore(async (store) => {
    await findWorld(store, world);
    await store.users.erase(world, { user_id: id });
  });
  print(json, { deleted: id }, [`The user ${id} is erased.`]);
});

/** `foyer user …` */
export const userCommand = new Command("user")
  .description("list and erase the users of a world")
  .addCommand(listUsers)
  .addCommand(deleteUser);
