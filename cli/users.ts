import { Command } from "commander";
import type { Store } from "../db/contract/store.js";
import { allUsers } from "../db/results/results.js";
import { findWorld } from "../db/world-management.js";
import { command, withStore } from "./command.js";
import { type JsonOption, print, printList } from "./output.js";

const listUsers = command(
  "list <world>",
  "list the users of a world, with their stored data",
  "user list summit --json",
).action((world: string, { json }: JsonOption) =>
  withStore(async (store) => {
    await findWorld(store, world);
    const items = (async function* () {
      for await (const listed of allUsers(store, world)) {
        const { last_seen, last_login, created: _, ...user } = listed;
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
      "There are no users yet: nobody has logged in or uploaded a file.",
    );
  }),
);

const timeOf = (milliseconds: number) => new Date(milliseconds).toISOString();

const deleteUser = command(
  "delete <world> <user-id>",
  "erase a user's personal data; the user's files and messages stay",
  "user delete summit 0d6f1a3e-8c1b-4a55-9f5e-2f6d4c7a9b10 --messages",
)
  .option(
    "--messages",
    "also erase the content of the user's messages; works for erased users, too",
  )
  .action(
    async (
      world: string,
      id: string,
      { json, messages = false }: JsonOption & { messages?: boolean },
    ) => {
      const emptied = await withStore(async (store) => {
        await findWorld(store, world);
        const user = messages ? await store.users.get(world, id) : undefined;
        // The user is erased first, and therefore cannot send any more messages.
        if (!user?.deleted) await store.users.erase(world, { user_id: id });
        return messages ? emptyMessages(store, world, id) : 0;
      });
      const count = `${emptied} ${emptied === 1 ? "message" : "messages"}`;
      print(json, { deleted: id, ...(messages && { messages: emptied }) }, [
        `Erased the user ${id}${messages ? ` and the content of ${count}` : ""}.`,
      ]);
    },
  );

/**
 * Erases the content of a user's messages.
 * @returns the number of messages that this call erased. If the process is killed, the next call
 * erases the rest.
 */
async function emptyMessages(store: Store, world: string, user: string): Promise<number> {
  let count = 0;
  for (let after: number | undefined = 0; after !== undefined;) {
    const { next, emptied } = await store.chat.empty(world, user, after);
    count += emptied;
    after = next;
  }
  return count;
}

/** `foyer user …` */
export const userCommand = new Command("user")
  .description("list and erase the users of a world")
  .addCommand(listUsers)
  .addCommand(deleteUser);
