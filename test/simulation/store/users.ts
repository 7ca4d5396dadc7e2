import { absent } from "../../../db/rules/preconditions.js";
import { toUser, type UserRow } from "../../../db/rules/rows.js";
import type {
  UserRecord,
  UserStore,
  Visitor,
} from "../../../db/contract/store.js";
import { stateJson } from "../../../db/rules/user-rows.js";
import type { Sync } from "./sync.js";
import { keyOf, type Tables } from "./tables.js";
import type { Transaction } from "./transaction.js";

// The users in a simulated store.

const records = new WeakMap<object, UserRecord>();

/** A user as readers get it: the same object for the same row. */
function recordOf(row: UserRow): UserRecord {
  let record = records.get(row);
  if (!record) records.set(row, (record = toUser(row)));
  return record;
}

function find(
  { users }: Tables,
  world: string,
  { tokenId, clientId }: Pick<Visitor, "tokenId" | "clientId">,
) {
  for (const user of users.values()) {
    if (user.world !== world) continue;
    const isNamed =
      tokenId !== undefined
        ? user.token_id === tokenId
        : user.client_id === clientId;
    if (isNamed) return user;
  }
  return undefined;
}

/** @throws {StoreError} `absent`. */
export function expectUser({ users }: Tables, world: string, id: string) {
  const user = users.get(id);
  if (user?.world !== world) throw absent("user");
  return user;
}

function save(tx: Transaction, row: ReturnType<typeof expectUser>) {
  tx.tables.users.set(row.id, row);
  return recordOf(row);
}

export const userStore: Sync<UserStore> = {
  enter(tx, world, visitor) {
    const { tables, now } = tx;
    const traits = JSON.stringify([...visitor.traits]);
    const old = find(tables, world, visitor);
    if (old?.moderation_state === "banned") return recordOf(old);
    const note = (user: string) =>
      tx.append(world, { type: "user.entered", user }, { kind: "user", user });
    if (old) {
      const last_login = visitor.login ? now : old.last_login;
      if (traits !== old.traits) note(old.id);
      return save(tx, { ...old, traits, last_seen: now, last_login });
    }
    if (!tables.worlds.has(world)) throw absent("world");
    const { tokenId, clientId, profile, pretalxId } = visitor;
    const id = tx.uuid();
    note(id);
    return save(tx, {
      ...{ id, world, traits, last_seen: now, client_state: null },
      token_id: tokenId ?? null,
      client_id: tokenId === undefined ? (clientId ?? null) : null,
      profile: profile ? JSON.stringify(profile) : null,
      moderation_state: "",
      pretalx_id: pretalxId ?? null,
      last_login: visitor.login ? now : null,
    });
  },
  get({ tables }, world, id) {
    const user = tables.users.get(id);
    return user?.world === world ? recordOf(user) : undefined;
  },
  find({ tables }, world, name) {
    const user = find(tables, world, name);
    return user && recordOf(user);
  },
  getMany({ tables }, world, ids) {
    return [...new Set(ids)].flatMap((id) => {
      const user = tables.users.get(id);
      return user?.world === world ? [recordOf(user)] : [];
    });
  },
  update(tx, world, id, { profile, client_state, pretalx_id }, by) {
    const old = expectUser(tx.tables, world, id);
    const row = {
      ...old,
      ...(profile && { profile: JSON.stringify(profile) }),
      ...(client_state && { client_state: stateJson(client_state) }),
      ...(pretalx_id !== undefined && { pretalx_id }),
    };
    if (JSON.stringify(row) === JSON.stringify(old)) return recordOf(old);
    tx.append(world, { type: "user.updated", user: id }, by);
    return save(tx, row);
  },
  moderate(tx, world, id, state, by) {
    const old = expectUser(tx.tables, world, id);
    const stays = old.moderation_state === "banned" && state === "silenced";
    if (stays || old.moderation_state === state) return recordOf(old);
    tx.append(world, { type: "user.moderated", user: id }, by);
    return save(tx, { ...old, moderation_state: state });
  },
  moderateNamed() {
    throw new Error("The simulation does not moderate by a uid.");
  },
  block(tx, world, user, other, by) {
    for (const id of [user, other]) expectUser(tx.tables, world, id);
    const key = keyOf(user, other);
    if (tx.tables.blocks.has(key)) return;
    tx.tables.blocks.set(key, { user, other });
    tx.append(world, { type: "user.blocked", user }, by);
  },
  unblock(tx, world, user, other, by) {
    for (const id of [user, other]) expectUser(tx.tables, world, id);
    if (!tx.tables.blocks.delete(keyOf(user, other))) return;
    tx.append(world, { type: "user.unblocked", user }, by);
  },
};
