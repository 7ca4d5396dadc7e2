import { createVerifier } from "fast-jwt";
import t from "tap";
import { foyer, keyOf, serve, worldOf } from "../helper.js";

void t.test("a token says what it was asked to", async (t) => {
  // Two keys: the first one signs.
  const { call, dataDir } = await serve(t, [
    worldOf("demo", { config: { JWT_secrets: [keyOf("demo"), keyOf("x")] } }),
  ]);
  const verify = createVerifier({ key: keyOf("demo").secret });
  const DAY = 24 * 3600;
  const cases: [
    args: string[],
    claims: object,
    seconds: number,
    status: number,
  ][] = [
    [[], { traits: ["admin", "api"], uid: undefined }, 30 * DAY, 200],
    [["--uid", "42"], { uid: "42", traits: ["admin", "api"] }, 30 * DAY, 200],
    [
      ["--uid", "bot", "--name", "Wall-E"],
      { uid: "bot", profile: { display_name: "Wall-E" } },
      30 * DAY,
      200,
    ],
    [
      ["--name", "Eve"],
      { uid: /^[0-9a-f-]{36}$/, profile: { display_name: "Eve" } },
      30 * DAY,
      200,
    ],
    [["--trait", "attendee"], { traits: ["attendee"] }, 30 * DAY, 403],
    [
      [
        "--trait",
        "api",
        "--trait",
        "x",
        "--trait",
        "admin",
        "--expires",
        "90s",
      ],
      { traits: ["api", "x", "admin"] },
      90,
      200,
    ],
    [["--expires", "12h"], {}, DAY / 2, 200],
    [["--expires", "5m", "--json"], {}, 300, 200],
  ];
  for (const [args, expected, seconds, status] of cases) {
    const name = args.join(" ");
    const { code, stdout, stderr } = await foyer(dataDir, [
      "token",
      "demo",
      ...args,
    ]);
    t.equal(code, 0, name);
    t.equal(stderr, "", name);
    const token = args.includes("--json")
      ? (JSON.parse(stdout) as { token: string }).token
      : stdout.trimEnd();
    if (!args.includes("--json")) t.equal(stdout, `${token}\n`, name);
    const claims = verify(token) as Record<string, unknown>;
    const { issuer, audience } = keyOf("demo");
    t.match(claims, { iss: issuer, aud: audience, ...expected }, name);
    t.equal(Number(claims.exp) - Number(claims.iat), seconds, name);
    const url = "/api/v1/worlds/demo/";
    const got = await call({ url, as: `Bearer ${token}` });
    t.equal(got.status, status, name);
  }
});

void t.test("a link in place of a token", async (t) => {
  const { dataDir } = await serve(t);
  const verify = createVerifier({ key: keyOf("demo").secret });
  const at = async (env: Record<string, string>, ...args: string[]) => {
    const words = ["token", "demo", "--link", ...args];
    const { code, stdout, stderr } = await foyer(dataDir, words, env);
    return { code, stderr, text: stdout.trimEnd() };
  };
  const cases: [env: Record<string, string>, args: string[], start: string][] =
    [
      [{}, [], "http://127.0.0.1:8375/w/demo/console"],
      [{}, ["console"], "http://127.0.0.1:8375/w/demo/console"],
      [{}, ["event"], "http://127.0.0.1:8375/w/demo/"],
      [{ HOST: "0.0.0.0", PORT: "80" }, [], "http://localhost:80/w/demo/"],
      [{ HOST: "::" }, [], "http://localhost:8375/w/demo/console"],
      [{ HOST: "::1" }, [], "http://[::1]:8375/w/demo/console"],
      [
        { PUBLIC_URL: "https://a.org/b/", PORT: "0" },
        ["event"],
        "https://a.org/b/w/demo/",
      ],
    ];
  for (const [env, args, start] of cases) {
    const { code, text } = await at(env, ...args);
    t.equal(code, 0, start);
    const [address, token = ""] = text.split("#token=");
    t.ok(address!.startsWith(start), `${address} ${start}`);
    const { uid, traits } = verify(token) as { uid: string; traits: string[] };
    t.match(uid, /^[0-9a-f-]{36}$/, "a new user, who can log in");
    t.same(traits, ["admin", "api"]);
  }
  const ann = ["event", "--uid", "ann", "--trait", "attendee", "--json"];
  const { text } = await at({}, ...ann);
  const { token, link } = JSON.parse(text) as { token: string; link: string };
  t.equal(link, `http://127.0.0.1:8375/w/demo/#token=${token}`);
  t.match(verify(token), { uid: "ann", traits: ["attendee"] });

  t.match(await at({ PORT: "0" }), { code: 1, stderr: /PUBLIC_URL/ });
  t.match(await at({}, "other"), { code: 2, stderr: /console, event/ });
});
