import t from "tap";
import { openSqliteStore } from "../../db/sqlite/index.js";
import { defaultPermissionConfig } from "../../schemas/permissions.js";
import type { World } from "../../schemas/worlds.js";
import { foyer } from "../helper.js";

void t.test("worlds are made, listed, shown and deleted", async (t) => {
  const dataDir = t.testdir();
  const run = async (line: string, ...more: string[]) =>
    foyer(t, dataDir, [...line.split(" "), ...more]);
  const json = async (line: string, ...more: string[]) => {
    const { code, stdout, stderr } = await run(`${line} --json`, ...more);
    t.equal(code, 0, `${line}: ${stderr}`);
    t.equal(stderr, "", line);
    return JSON.parse(stdout) as unknown;
  };

  t.match((await run("world list")).stdout, /no world yet/);
  t.strictSame(await json("world list"), []);

  const made = (await json(
    "world create a --domain a.org:8443",
    "--title",
    "Änne's 🎪",
  )) as World;
  const [key] = made.config.JWT_secrets;
  t.strictSame(made, {
    id: "a",
    title: "Änne's 🎪",
    domain: "a.org:8443",
    config: {
      JWT_secrets: [{ issuer: "foyer", audience: "a", secret: key?.secret }],
    },
    permission_config: defaultPermissionConfig,
  });
  t.match(key?.secret, /^[0-9a-f]{64}$/);
  t.strictSame(Object.keys(defaultPermissionConfig).length, 9);
  t.same(await json("world show a"), made);

  const text = await run("world create b --title B --domain b.org --private");
  t.equal(text.code, 0);
  const shown = (await json("world show b")) as World;
  t.strictSame(shown.permission_config, {
    ...defaultPermissionConfig,
    "world.view": ["attendee"],
  });
  const secret = shown.config.JWT_secrets[0]!.secret;
  t.not(secret, key?.secret, "each world has a key of its own");
  for (const part of ["b", "B", "b.org", secret, "world.view"]) {
    t.match(text.stdout, part);
  }
  t.equal((await run("world show b")).stdout, text.stdout);
  t.strictSame(await json("world list"), [
    { id: "a", title: "Änne's 🎪", domain: "a.org:8443" },
    { id: "b", title: "B", domain: "b.org" },
  ]);
  t.equal(
    (await run("world list")).stdout,
    "a\ta.org:8443\tÄnne's 🎪\nb\tb.org\tB\n",
  );

  const failures: [line: string, says: string][] = [
    ["world create a --title A --domain c.org", "The id a is taken."],
    ["world create c --title C --domain b.org", "The domain b.org is taken."],
    ["world show c", "There is no world c."],
    ["world delete c --yes", "There is no world c."],
    ["token c", "There is no world c."],
    ["world show c --json", "There is no world c."],
  ];
  await Promise.all(
    failures.map(async ([line, says]) => {
      const { code, stdout, stderr } = await run(line);
      t.equal(code, 1, line);
      t.equal(stderr, `foyer: ${says}\n`, line);
      t.equal(stdout, "", line);
    }),
  );

  t.equal((await run("world delete a")).code, 2, "not without --yes");
  t.same(await json("world show a"), made);
  t.strictSame(await json("world delete a --yes"), { deleted: "a" });
  t.match((await run("world delete b --yes")).stdout, /b is deleted/);
  const store = openSqliteStore(dataDir);
  t.teardown(() => store.close());
  t.strictSame(await store.worlds.list(), []);
});
