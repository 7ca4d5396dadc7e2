import t from "tap";
import { defaultPermissionConfig } from "../../schemas/plain/permissions.js";
import type { World } from "../../schemas/worlds.js";
import { admin, foyer, keyOf, serve, until, worldOf } from "../helper.js";
import { testdir } from "../testdir.js";

void t.test("worlds are made, listed, shown and deleted", async (t) => {
  const dataDir = testdir(t);
  const run = async (line: string, ...more: string[]) =>
    foyer(dataDir, [...line.split(" "), ...more]);
  const json = async (line: string, ...more: string[]) => {
    const { code, stdout, stderr } = await run(`${line} --json`, ...more);
    t.equal(code, 0, `${line}: ${stderr}`);
    t.equal(stderr, "", line);
    return JSON.parse(stdout) as unknown;
  };

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
  t.ok(text.stdout.startsWith((await run("world show b")).stdout));
  t.match(text.stdout, /^Event {4}http:\/\/127\.0\.0\.1:\d+\/w\/b\/$/m);
  t.match(text.stdout, /^Console {2}http:\S+\/w\/b\/console#token=eyJ\S+$/m);
  t.match(text.stdout, /^ {2}foyer serve$/m);
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
  t.match((await run("world list")).stdout, /no world yet/);
  t.strictSame(await json("world list"), []);
});

void t.test("a world that no user can reach is opened again", async (t) => {
  const { dataDir, call, store } = await serve(t, [
    worldOf("demo", { permission_config: {} }),
    worldOf("other"),
  ]);
  const room = await store.rooms.create("demo", { name: "x" });
  const url = "/api/v1/worlds/demo/";
  const status = async (as: string) => (await call({ url, as })).status;
  const old = admin("demo");
  t.equal(await status(old), 403, "whatever a token says");

  const update = (...args: string[]) =>
    foyer(dataDir, ["world", "update", "demo", ...args]);
  const text = await update("--default-rules");
  t.same([text.code, text.stderr], [0, ""]);
  t.match(text.stdout, /^ {2}world\.api +\["admin","api"\]$/m);
  // A server that caches learns of a command within a second.
  await until(async () => (await status(old)) === 200);

  const { secret, ...key } = keyOf("demo");
  t.notMatch(text.stdout, secret, "a secret is not shown in passing");
  t.match(text.stdout, key.issuer);
  const titled = await update("--title", "x", "--json");
  t.strictSame((JSON.parse(titled.stdout) as World).config, {
    JWT_secrets: [key],
  });

  const change = ["--title", "New", "--domain", "new.org", "--new-key"];
  const { code, stdout } = await update(...change, "--json");
  t.equal(code, 0);
  // The old key is gone, and all that was cached with it.
  await until(async () => (await status(old)) === 401);
  const { value } = (await store.worlds.get("demo"))!;
  t.strictSame(JSON.parse(stdout), value);
  t.match(value, {
    title: "New",
    domain: "new.org",
    permission_config: defaultPermissionConfig,
    config: { JWT_secrets: [{ issuer: "foyer", secret: /^\w{64}$/ }] },
  });
  t.equal(value.config.JWT_secrets.length, 1);
  const token = await foyer(dataDir, ["token", "demo"]);
  t.equal(await status(`Bearer ${token.stdout.trim()}`), 200);
  t.ok(await store.rooms.get("demo", room.value.id), "and all else is there");

  const refused: [args: string[], code: number, says: RegExp][] = [
    [[], 2, /name what to change/],
    [["--domain", "No!"], 2, /host name in lower case/],
    [
      ["--domain", "other.example.org"],
      1,
      /^foyer: The domain .* is taken\.\n$/,
    ],
  ];
  for (const [args, code, says] of refused) {
    const got = await update(...args);
    t.match(got, { code, stdout: "", stderr: says }, args.join(" "));
  }
  t.strictSame((await store.worlds.get("demo"))!.value, value);
});
