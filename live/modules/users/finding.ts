import { kindOf } from "../../../db/rules/user-rows.js";
import type { Commands } from "../../../schemas/live/index.js";
import type { CommandTable, Context } from "../../module.js";
import { invalidPayload, tooLarge } from "../../rules/problems.js";
import { listedUser, listIn, objectIn, traitsOfBadge } from "../../rules/shapes.js";
import { sizeOfProfile } from "../../rules/shared-reads.js";
import { withoutHiddenRoom } from "./kiosks.js";
import { idsIn, MOST, shown, userNamed, type UserPorts } from "./people.js";

// How users find others: by ids, by lists, and by searches.

/**
 * How many users are read at a time for the list of all. The store refuses pages that
 * are too large, which this many users cannot be.
 */
const PAGE = 200;

/** The largest list of all users, in characters of their profiles. */
const MAX_LIST = 8 * 1024 * 1024;

const NONE = { results: [], isLastPage: true };

/** The commands that read users. */
export const finding: CommandTable<
  "user.fetch" | "user.list" | "user.list.search" | "user.online_status",
  UserPorts
> = {
  "user.fetch": { requires: "world.view", handler: fetchUsers },
  "user.list": { requires: "user.list", handler: list },
  "user.list.search": { requires: "login", handler: search },
  "user.online_status": { requires: "world.view", handler: onlineStatus },
};

/** What `user.list` can list. */
const kinds = ["person", "kiosk", "anonymous"] as const;

async function fetchUsers(
  context: Context<UserPorts>,
  { id, ids, pretalx_ids }: Commands["user.fetch"]["payload"],
) {
  const { ports, connection } = context;
  const { users } = ports.store;
  if (ids !== undefined) {
    const found = await users.getMany(connection.world, idsIn(ids));
    return Object.fromEntries(
      found
        .filter((user) => kindOf(user) === "person")
        .map((user) => [user.id, shown(context, user)]),
    );
  }
  if (pretalx_ids !== undefined) {
    const named = pretalx_ids
      .slice(0, MOST)
      .filter((id) => typeof id === "string" || typeof id === "number")
      .map(String);
    const found = await users.byPretalx(connection.world, named);
    return Object.fromEntries(found.map((user) => [user.pretalx_id!, shown(context, user)]));
  }
  if (id === undefined) {
    throw invalidPayload({ id: ["This field is required, or ids, or pretalx_ids."] });
  }
  const user = await userNamed(context, { id });
  return withoutHiddenRoom(context, user, shown(context, user));
}

async function list(context: Context<UserPorts>, payload: Commands["user.list"]["payload"]) {
  const { ports, connection, may } = context;
  const { type = "person", include_banned = true } = payload ?? {};
  const kind = kinds.find((known) => known === type);
  if (!kind) return { results: [] };
  const banned = payload !== null && include_banned && may("user.manage");
  return ports.searches.run(connection, async (signal) => {
    const results: ReturnType<typeof shown>[] = [];
    let size = 0;
    for (let page = 1; ; page++) {
      const { users } = await ports.store.users.search(
        connection.world,
        { page, pageSize: PAGE, banned, kind },
        signal,
      );
      for (const user of users) {
        const sent = shown(context, user);
        results.push(await withoutHiddenRoom(context, user, sent));
      }
      for (const user of users) size += sizeOfProfile(user);
      if (size > MAX_LIST) throw tooLarge();
      if (users.length < PAGE) return { results };
    }
  });
}

async function search(
  context: Context<UserPorts>,
  payload: Commands["user.list.search"]["payload"],
) {
  const { ports, connection, world, may } = context;
  const { config } = world.value;
  const { search_term, badge, include_banned = true } = payload;
  const page = Number(payload.page);
  const { page_size, search_min_chars } = objectIn(config, "user_list") ?? {};
  const size = Math.trunc(numberIn(page_size)) || 20;
  const pageSize = Math.min(Math.max(size, 1), 1000);
  const term = search_term.trim();
  if (page < 1 || (!badge && term.length < numberIn(search_min_chars))) return NONE;
  const traits = badge ? traitsOfBadge(badge, config) : undefined;
  if (traits?.length === 0) return NONE;
  const admin = may("user.manage");
  const selection = {
    page,
    pageSize,
    named: true,
    banned: admin && include_banned,
    fields: searchableFields(listIn(config, "profile_fields")),
    ...(term && { term }),
    ...(traits && { traits }),
  };
  const { count, users } = await ports.searches.run(connection, (signal) =>
    ports.store.users.search(connection.world, selection, signal),
  );
  if (users.length === 0) return NONE;
  const rows = users.map((user) => listedUser(user, world.value, ports.clock.date(), admin));
  // Within a page, the first ones.
  rows.sort((a, b) => Number(a.inactive) - Number(b.inactive));
  return { results: rows, isLastPage: page * pageSize >= count };
}

/** A number, or its text; 0 for anything else, which REST stores as well. */
const numberIn = (value: unknown): number =>
  typeof value === "number" || typeof value === "string" ? Number(value) : 0;

/** The ids of the fields of profiles that may be searched. */
const searchableFields = (fields: readonly unknown[]): string[] =>
  fields.flatMap((field) => {
    const { id, searchable } = (field ?? {}) as Record<string, unknown>;
    return searchable === true && typeof id === "string" ? [id] : [];
  });

async function onlineStatus(
  { ports, connection }: Context<UserPorts>,
  { ids }: Commands["user.online_status"]["payload"],
) {
  return Object.fromEntries(
    idsIn(ids).map((id) => [id, ports.presence.isOnline(connection.world, id)]),
  );
}
