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
