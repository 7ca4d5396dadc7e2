import pg from "pg";
import type { Test } from "tap";
import { Database } from "../../../db/postgres/engine/database.js";
import { NODES } from "../../../db/postgres/engine/locks.js";
import { sharedEvents } from "../../../db/postgres/users/membership.js";
import { LATEST } from "../../../db/postgres/engine/upgrade.js";
import { foyer, until } from "../../helper.js";
import { testdir } from "../../testdir.js";
import { openNode, type Part } from "./setup.js";

const refuses = (t: Test, promise: Promise<unknown>, message: RegExp) =>
  t.rejects(promise, { name: "StoreError", problem: "unusable", message });

/** Who may open a database, and who may serve it. */
export const starting: Part = async (t, server) => {
  const open = (url: string, create = true) =>
    Database.open({ url, pool: 1 }, { create });

  await t.test("nodes that start together fill it once", async (t) => {
    const url = await server.createDatabase();
    const nodes = await Promise.all(
      Array.from({ length: 4 }, () => openNode(t, url)),
    );
    t.equal(new Set(nodes.map(({ db }) => db.id)).size, 1, "one installation");
  });

  await t.test("a database that cannot be used", async (t) => {
    const url = await server.createDatabase();
    await refuses(t, open(url, false), /has stored nothing there yet$/);

    // As the node of an older Foyer does.
    const older = new pg.Client({ connectionString: url });
    await older.connect();
    await older.query(`SELECT pg_advisory_lock_shared(${NODES})`);
    await refuses(t, open(url), /nodes still serve its version 0/);
    await older.end();
    await (await open(url)).close();

    const name = new URL(url).pathname.slice(1);
    await server.run(
      "UPDATE cluster SET value = '99' WHERE name = 'version'",
      name,
    );
    await refuses(t, open(url), /has version 99.*run a newer Foyer$/);

    const secret = new URL(url);
    secret.password = "very-secret";
    secret.pathname = "/absent";
    await t.rejects(open(secret.href), {
      problem: "unusable",
      message:
        /^DATABASE_URL: cannot use the database absent at 127\.0\.0\.1:\d+: (?!.*very-secret)/,
    });
    await server.run(
      "CREATE DATABASE ascii TEMPLATE template0 ENCODING 'SQL_ASCII' LOCALE_PROVIDER libc LOCALE 'C'",
    );
    await refuses(t, open(server.url("ascii")), /encoding is SQL_ASCII/);
  });

  await t.test("an older database is upgraded by few, and alone", async (t) => {
    const url = await server.createDatabase();
    await (await open(url)).close();
    const command = (...args: string[]) =>
      foyer(testdir(t), args, { DATABASE_URL: url });
    const stays = `The tables have version ${LATEST} already; nothing`;
    t.match(await command("upgrade", "--dry-run"), {
      code: 0,
      stdout: `${stays} would change.\n`,
    });
    t.match(await command("upgrade"), { stdout: `${stays} has changed.\n` });

    // Older than any, and not empty.
    await server.run(
      "UPDATE cluster SET value = '0.5' WHERE name = 'version'",
      new URL(url).pathname.slice(1),
    );
    for (const args of ["world list", "token x", "check"]) {
      t.match(await command(...args.split(" ")), {
        code: 1,
        stdout: "",
        stderr: /^foyer: .*version 0\.5.*\n$/,
      });
    }
    t.match(await command("world", "list"), {
      stderr: /instead of \d+; stop all nodes, and run foyer upgrade\n$/,
    });
    const older = new pg.Client({ connectionString: url });
    await older.connect();
    await older.query(`SELECT pg_advisory_lock_shared(${NODES})`);
    for (const name of ["upgrade", "serve"]) {
      t.match(await command(name), {
        code: 1,
        stderr: /nodes still serve its version 0\.5; stop them first/,
      });
    }
    t.match(
      JSON.parse((await command("upgrade", "--dry-run", "--json")).stdout),
      {
        version: 0.5,
        latest: LATEST,
        changes: true,
      },
    );
    await older.end();
  });

  await t.test("an upgrade between the look and the lock", async (t) => {
    const url = await server.createDatabase();
    const common = { events: "alone:a", files: "folder:a" };
    // It has the same in common, so nothing but the version keeps the next one out.
    const { db: first } = await openNode(t, url, 1);
    await first.join(common, url);
    await first.close();
    const { db } = await openNode(t, url, 1);
    const name = new URL(url).pathname.slice(1);
    const upgrading = new pg.Client({ connectionString: url });
    await upgrading.connect();
    await upgrading.query(`SELECT pg_advisory_lock(${NODES})`);
    const joining = refuses(t, db.join(common, url), /has version 99 now/);
    await until(async () => {
      const waiting = await server.run(
        `SELECT FROM pg_locks JOIN pg_database AS d ON d.oid = database
         WHERE locktype = 'advisory' AND NOT granted AND datname = '${name}'`,
      );
      return waiting.length > 0;
    });
    await upgrading.query(
      "UPDATE cluster SET value = '99' WHERE name = 'version'",
    );
    await upgrading.end();
    await joining;
  });

  for (const [name, settings] of Object.entries({
    "a server without TLS": "?sslmode=verify-full",
    "a server without TLS, loosely": "?sslmode=require",
    "a file of authorities that is missing":
      "?sslmode=verify-full&sslrootcert=/absent.pem",
  })) {
    await t.test(`${name} is one line`, async (t) => {
      const url = (await server.createDatabase()) + settings;
      await refuses(
        t,
        open(url),
        /^DATABASE_URL: cannot use the database \S+ at 127[^\n]+$/,
      );
    });
  }

  await t.test("nodes without the same in common", async (t) => {
    // Each server alone has a name of its own.
    const alone = "alone:a";
    const here = "folder:here";
    const shared = sharedEvents("a");
    type Has = [events: string, files: string];
    const cases: [first: Has, second: Has, refusal?: RegExp][] = [
      [[alone, here], ["alone:b", here], /another server uses it already/],
      [[alone, here], [shared, here], /a server without VALKEY_URL uses it/],
      [[shared, here], [alone, here], /VALKEY_URL has to be set/],
      [[shared, here], [sharedEvents("b"), here], /use another Valkey/],
      [[shared, here], [shared, "folder:there"], /store files elsewhere/],
      [
        [shared, here],
        [shared, here],
      ],
    ];
    await Promise.all(
      cases.map(async ([first, second, refusal]) => {
        const url = await server.createDatabase();
        const join = async ([events, files]: Has) => {
          const { db } = await openNode(t, url, 1);
          await db.join({ events, files }, url);
          return db;
        };
        const one = await join(first);
        if (!refusal) return void (await join(second));
        await refuses(t, join(second), refusal);
        await one.close();
        await join(second);
      }),
    );
  });
};
