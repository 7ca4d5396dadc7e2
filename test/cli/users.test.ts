import { shared } from "../shared.js";
import { openIn } from "../stack.js";
import { existsSync } from "node:fs";
import { join } from "node:path";
import t, { type Test } from "tap";
import type { User } from "../../schemas/users.js";
import { type Finished, foyer, worldOf } from "../helper.js";
import { finished, textsBelow } from "../files.js";
import { testdir } from "../testdir.js";

/** A folder with two worlds, each with an uploaded file. */
async function dataOf(t: Test): Promise<string> {
  const dataDir = testdir(t);
  const { store, files } = await openIn(t, dataDir);
  for (const world of ["demo", "other"]) {
    await store.worlds.create(worldOf(world));
    for (const uploader of [
      {
        tokenId: `ada-of-${world}`,
        traits: new Set(["speaker", "crew"]),
        profile: { display_name: `Ada of ${world}` },
      },
      { clientId: `guest-of-${world}`, traits: new Set<string>() },
    ]) {
      const key = `pub/${world}/${uploader.traits.size}.pdf`;
      const source = (async function* () {
        yield Buffer.from("%PDF-");
      })();
      await files.put(key, source, (stored) =>
        store.files.add(world, uploader, { key, ...stored }, 1e6),
      );
    }
  }
  await files.close();
  await store.close();
  return dataDir;
}

void t.test("list and delete users", async (t) => {
  const dataDir = await dataOf(t);
  const [listed, text] = await Promise.all(
    [["--json"], []].map((json) =>
      foyer(dataDir, ["user", "list", "demo", ...json]),
    ) as [Promise<Finished>, Promise<Finished>],
  );
  t.equal(listed.code, 0);
  const users = JSON.parse(listed.stdout) as (User & {
    client_id: string | null;
  })[];
  t.match(
    new Map(users.map((user) => [user.token_id ?? user.client_id, user])),
    new Map([
      [
        "ada-of-demo",
        {
          client_id: null,
          traits: ["speaker", "crew"],
          profile: { display_name: "Ada of demo" },
        },
      ],
      ["guest-of-demo", { token_id: null, traits: [], profile: null }],
    ] as [string, object][]),
  );
  const { id } = users.find(({ token_id }) => token_id !== null)!;
  const line = text.stdout.split("\n").find((line) => line.startsWith(id))!;
  t.match(line, /ada-of-demo.*20\d\d-.*speaker, crew/);
  t.equal(text.stdout.trim().split("\n").length, 2);

  const wrong: [name: string, args: string[], code: number, said: RegExp][] = [
    ["no user named", ["delete", "demo"], 2, /user-id/],
    ["no such world", ["list", "none"], 1, /There is no world none/],
    ["a user of another world", ["delete", "other", id], 1, /no such user/],
    ["by its uid", ["delete", "demo", "ada-of-demo"], 1, /no such user/],
  ];
  await Promise.all(
    wrong.map(async ([name, args, code, said]) => {
      const got = await foyer(dataDir, ["user", ...args]);
      t.equal(got.code, code, name);
      t.match(got.stderr, said, name);
      if (code === 1) t.equal(got.stderr.trim().split("\n").length, 1, name);
      t.equal(got.stdout, "", name);
    }),
  );

  const gone = await foyer(dataDir, ["user", "delete", "demo", id, "--json"]);
  t.equal(gone.code, 0, gone.stderr);
  t.strictSame(JSON.parse(gone.stdout), { deleted: id });
  t.strictSame(
    await textsBelow(dataDir, ["ada-of-demo", "Ada of demo", "guest-of-demo"]),
    shared ? [] : ["guest-of-demo"],
    "not a byte is left of it, and all of the other",
  );
  t.equal((await finished(dataDir)).length, 4, "files stay");
});

void t.test("a world takes its files with it", async (t) => {
  const dataDir = await dataOf(t);
  const got = await foyer(dataDir, ["world", "delete", "demo", "--yes"]);
  t.equal(got.code, 0, got.stderr);
  const left = await finished(dataDir);
  t.equal(left.length, 2);
  t.ok(left.every((path) => path.startsWith(join(dataDir, "media/pub/other"))));
  if (!shared) t.ok(existsSync(join(dataDir, "foyer.db")));
  t.strictSame(
    await textsBelow(dataDir, ["ada-of-demo", "guest-of-demo"]),
    [],
    "and the names of its users",
  );
});
