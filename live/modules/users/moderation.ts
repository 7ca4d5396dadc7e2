import type { UserRecord } from "../../../db/contract/store.js";
import type { CommandTable, Context, Sender } from "../../module.js";
import { type Named, personNamed, shown, subjectNamed, type UserPorts } from "./people.js";

// What users decide about others: moderators about all, and each user about whom they block.

/** What moderators decide about users. */
export const moderation: CommandTable<
  "user.ban" | "user.silence" | "user.reactivate",
  UserPorts,
  Sender
> = {
  "user.ban": { requires: "user.manage", handler: moderate("banned", "ban") },
  "user.silence": { requires: "user.manage", handler: moderate("silenced", "silence") },
  "user.reactivate": { requires: "user.manage", handler: moderate("", "reactivate") },
};

/** What users decide about each other, moderation included. */
export const decisions: CommandTable<
  keyof typeof moderation | "user.delete" | "user.block" | "user.unblock" | "user.list.blocked",
  UserPorts
> = {
  ...moderation,
  "user.delete": { requires: "user.delete", handler: erase },
  "user.block": { requires: "login", handler: block },
  "user.unblock": { requires: "login", handler: unblock },
  "user.list.blocked": { requires: "login", handler: listBlocked },
};

function moderate(state: UserRecord["moderation_state"], action: string) {
  return async (context: Context<UserPorts, Sender>, payload: Named) => {
    const { id } = await subjectNamed(context, payload, action);
    const { ports, connection } = context;
    await ports.store.users.moderate(connection.world, id, state, connection.author);
    return {};
  };
}

async function erase(context: Context<UserPorts>, payload: Named) {
  const { id } = await subjectNamed(context, payload, "delete");
  const { ports, connection } = context;
  const name = { user_id: id };
  await ports.store.users.erase(connection.world, name, connection.author);
  return {};
}

async function block(context: Context<UserPorts>, payload: Named) {
  const { id } = await personNamed(context, payload, "block");
  const { ports, connection, me } = context;
  await ports.store.users.block(connection.world, me.id, id, connection.author);
  return {};
}

async function unblock(context: Context<UserPorts>, payload: Named) {
  const { id } = await personNamed(context, payload, "unblock");
  const { ports, connection, me } = context;
  await ports.store.users.unblock(connection.world, me.id, id, connection.author);
  return {};
}

async function listBlocked(context: Context<UserPorts>) {
  const { ports, connection, me } = context;
  const blocked = await ports.store.users.blocked(connection.world, me.id);
  return { users: blocked.map((user) => shown(context, user)) };
}
