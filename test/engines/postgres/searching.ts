import {
  postgresSource,
  postgresTarget,
} from "../../../db/postgres/copies/dump.js";
import { Database } from "../../../db/postgres/engine/database.js";
import { postgresStore } from "../../../db/postgres/index.js";
import { TABLES } from "../../../db/copies/tables.js";
import { worldOf } from "../../helper.js";
import { olderDatabase, type Part } from "./setup.js";

/** How many users there are: some pages of an upgrade. */
const USERS = 250;

/** Searches by the fields of profiles, wherever the users come from. */
export const searching: Part = async (t, server) => {
  const url = await server.createDatabase();
  const nameIn = (url: string) => new URL(url).pathname.slice(1);
  const open = async (url: string) =>
    postgresStore(await Database.open({ url, pool: 4 }, { create: true }));
  const count = async (url: string) => {
    const store = await open(url);
    const asked = { page: 1, pageSize: 5, fields: ["city"] };
    const counts = [];
    for (const term of ["\0 stRASSE", "berlin"]) {
      counts.push((await store.users.search("demo", { ...asked, term })).count);
    }
    await store.close();
    return counts;
  };

  const store = await open(url);
  await store.worlds.create(worldOf("demo"));
  const ids = await Promise.all(
    Array.from({ length: USERS }, async (_, i) => {
      const fields = { about: "Berlin ".repeat(500), city: "a\0 Straße" };
      const visitor = { tokenId: `${i}`, traits: new Set<string>() };
      const profile = { fields };
      return (await store.users.enter("demo", { ...visitor, profile })).id;
    }),
  );
  await store.users.erase("demo", { user_id: ids[0]! });
  await store.close();
  const [erased] = await server.run(
    `SELECT fields_folded FROM users WHERE id = '${ids[0]}'`,
    nameIn(url),
  );
  t.strictSame(erased, { fields_folded: "" });
  const all = [USERS - 1, 0];
  t.strictSame(await count(url), all);

  const restored = await server.createDatabase();
  const source = await postgresSource(url);
  const target = await postgresTarget(restored);
  for (const table of TABLES) await target.load(table, source.rows(table));
  await target.finish();
  await Promise.all([source.close(), target.close()]);
  t.strictSame(await count(restored), all, "after a restore");

  const older = await olderDatabase(server, 2);
  await older.run(
    `INSERT INTO worlds (id, title, config, permission_config, domain)
       VALUES ('demo', '', '{"JWT_secrets":[]}', '{}', 'a.example.org');
     INSERT INTO users (world_id, id, token_id, profile, traits, last_seen)
       SELECT 'demo', i, i, CASE i WHEN 1 THEN '{"fields":'
         ELSE '{"fields":{"about":"' || repeat('Berlin ', 500) || '","city":"a\\u0000 Straße"}}' END, '[]', 1
       FROM generate_series(1, ${USERS}) AS i`,
  );
  t.strictSame(await count(older.url), all, "after an upgrade");
  await older.run("UPDATE users SET profile = '?' || profile");
  t.strictSame(await count(older.url), all, "no profile is parsed");
};
