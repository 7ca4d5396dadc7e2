import t, { type Test } from "tap";
import { destinationOf, withToken } from "../../../plugins/sign-in/flow.js";
import type { SignInProvider } from "../../../schemas/issuers.js";
import { claimsOf } from "../../../web/state/identity.js";
import { keyOf, worldOf } from "../../support/helper.js";
import { Browser, makeKey, startProvider } from "../../support/provider.js";
import { startServer } from "../../support/server.js";
import { startSite } from "../../support/site.js";

const path = "/w/demo/sign-in/sso/";

/** Starts a server with a world whose users sign in at a provider. */
async function start(
  t: Test,
  settings: Partial<SignInProvider> = {},
  client: Parameters<typeof startProvider>[2] = {},
) {
  const worlds = [worldOf("demo"), worldOf("other")];
  const config = { webhookAllow: ["127.0.0.0/8"] };
  const { app, store, baseUrl: base } = await startServer(t, { worlds, config });
  const uris = [`${base}${path}callback`];
  const provider = await startProvider(t, uris, client);
  const sso = {
    id: "sso",
    name: "Our <login>",
    issuer: provider.issuer,
    client_id: "foyer",
    client_secret: "a-secret-of-the-client",
    ...settings,
  };
  const configure = (...oidc: SignInProvider[]) =>
    store.worlds.update("demo", { config: { JWT_secrets: [keyOf("demo")], oidc } });
  await configure(sso);
  const browser = new Browser();
  const address = base + path;
  return {
    app,
    base,
    provider,
    browser,
    address,
    configure,
    sso,
    /** Follows a sign-in to its final URL. */
    signIn: (query = "") => browser.until(address + query, /#token=|\?sign-in=/),
    /** Follows a sign-in up to its callback URL, whose authorization response is still unused. */
    callback: (by = browser) => by.until(address, /\/callback\?/),
  };
}

const tokenIn = (address: string) => {
  const token = new URLSearchParams(new URL(address).hash.slice(1)).get("token");
  return { token: token!, claims: claimsOf(token ?? "") };
};

void t.test("a person signs in", async (t) => {
  const { app, base, provider, browser, address, signIn, callback } = await start(t, {
    scopes: ["profile", "groups"],
    traits: { always: ["attendee"], claim: "groups", map: { staff: ["admin", "api"] } },
    session_hours: 2,
  });
  provider.claims = { name: "Ada Lovelace", groups: ["staff", "x"] };
  const begun = await browser.get(address);
  t.equal(begun.response.status, 303);
  t.match(begun.response.headers.get("cache-control"), "no-store");
  t.equal(begun.response.headers.get("referrer-policy"), "no-referrer");
  const asked = new URL(begun.location!).searchParams;
  t.match(Object.fromEntries(asked), {
    response_type: "code",
    code_challenge_method: "S256",
    code_challenge: /^.{43}$/,
    state: /^.{20,}$/,
    nonce: /^.{20,}$/,
    redirect_uri: `${base}${path}callback`,
  });
  const cookie = begun.response.headers.get("set-cookie")!;
  t.match(cookie, /; Path=\/w\/demo\/sign-in\/sso\/; Max-Age=600; HttpOnly; SameSite=Lax$/);
  for (const secret of [asked.get("state")!, asked.get("nonce")!]) {
    t.notOk(cookie.includes(secret), "it is sealed");
    t.notOk(Buffer.from(cookie.split(/[=;]/)[1]!, "base64url").includes(secret));
  }

  const back = await callback();
  const { response, location } = await browser.get(back);
  t.equal(response.status, 303);
  t.equal(response.headers.get("cache-control"), "no-store");
  t.equal(response.headers.get("referrer-policy"), "no-referrer");
  t.match(response.headers.get("set-cookie"), /Max-Age=0/);
  t.match(location, new RegExp(`^${base}/w/demo/#token=`));
  const { token, claims } = tokenIn(location!);
  t.match(claims, {
    uid: `${provider.issuer}#ada`,
    traits: ["attendee", "admin", "api"],
    profile: { display_name: "Ada Lovelace" },
  });
  t.equal(Number(claims!.exp) - Number(claims!.iat), 7200);
  const { identity } = await app.identify({ token }, "demo");
  t.equal(identity.tokenId, `${provider.issuer}#ada`);

  const again = await browser.get(back);
  t.match(again.location, /\?sign-in=expired$/, "a callback serves once");
  const kept = await browser.get(back, cookie.split(";")[0]);
  t.match(kept.location, /\?sign-in=/, "also with a cookie that was kept");
  t.match(await signIn(), /#token=/, "the next one works");
  const begunHere = await callback();
  const there = begunHere.replace("127.0.0.1", "localhost");
  const carried = await browser.get(there, browser.cookies(begunHere));
  t.match(
    carried.location,
    /^http:\/\/localhost:\d+\/w\/demo\/#token=/,
    "a node at another address finishes it",
  );
  t.match(await signIn("?to=/w/demo/console"), /\/w\/demo\/console#token=/);
  t.match(await signIn("?to=//evil.example/"), new RegExp(`^${base}/w/demo/#`));
});

void t.test("other clients", async (t) => {
  for (const [name, settings, client] of [
    ["one that posts its secret", {}, { token_endpoint_auth_method: "client_secret_post" }],
    ["one without a secret", { client_secret: undefined }, { token_endpoint_auth_method: "none" }],
    ["another id", { uid: "preferred_username" }, {}],
  ] as const) {
    const { signIn, provider } = await start(t, settings, client);
    provider.claims = { preferred_username: "countess" };
    const { claims } = tokenIn(await signIn());
    const id = "uid" in settings ? "countess" : "ada";
    t.match(claims, { uid: `${provider.issuer}#${id}`, traits: [] }, name);
  }
});

void t.test("answers that are not the provider's, or not for this browser", async (t) => {
  const { base, provider, browser, address, callback, configure, sso } = await start(t);
  const stranger = new Browser();
  const tokens = () => provider.asked["/token"] ?? 0;
  const refused = async (name: string, address: string, by = browser) => {
    const { location } = await by.get(address);
    t.equal(location, `${base}/w/demo/?sign-in=expired`, name);
  };
  const back = await callback();
  await refused("another browser", back, stranger);
  await stranger.get(address);
  await refused("the code of another session", back, stranger);
  const wrong = new URL(back);
  wrong.searchParams.set("state", "x");
  await refused("another state", wrong.href);
  await callback();
  await refused("no state", `${address}callback?code=x`);
  await callback();
  const twice = `${await callback()}&state=x`;
  await refused("two states", twice);
  const other = { ...sso, id: "other" };
  await configure(sso, other);
  const at = (await callback()).replace("/sso/", "/other/");
  await refused("another provider of the world", at);
  t.equal(tokens(), 0, "the provider was asked nothing");
  const denied = new URL(await callback());
  const state = denied.searchParams.get("state");
  const answer = `error=access_denied&error_description=<script>&state=${state}&iss=${provider.issuer}`;
  const { location, response } = await browser.get(`${address}callback?${answer}`);
  t.equal(location, `${base}/w/demo/?sign-in=denied`);
  t.notMatch(await response.text(), "script");
  const mixed = new URL(await callback());
  mixed.searchParams.set("iss", "https://evil.example");
  t.match((await browser.get(mixed.href)).location, /sign-in=failed$/);
});

void t.test("a provider that lies", async (t) => {
  const { base, provider, browser, signIn, callback, configure, sso } = await start(t);
  const { issuer } = provider;
  const known = "/.well-known/openid-configuration";
  const truth = (await (await fetch(issuer + known)).json()) as object;
  let hours = 1;
  /** Changes the provider's entry, which makes the server re-read its metadata. */
  const again = () => configure({ ...sso, session_hours: ++hours });
  for (const [name, lie] of [
    ["another issuer", { issuer: "https://accounts.example.org" }],
    ["a page that is a script", { authorization_endpoint: "javascript:alert(1)" }],
  ] as const) {
    provider.lies = { [known]: { ...truth, ...lie } };
    await again();
    t.equal(await signIn(), `${base}/w/demo/?sign-in=unavailable`, name);
  }
  provider.lies = {
    [known]: { ...truth, token_endpoint: "http://10.0.0.1/token" },
  };
  await again();
  t.match(await signIn(), /sign-in=unavailable/, "an address inside");

  provider.lies = {};
  const key = await makeKey("RS256", "x");
  const nonceOf = async () => {
    await again();
    const begun = await browser.get(`${base}${path}`);
    return new URL(begun.location!);
  };
  for (const [name, claims, header] of [
    ["another key", {}, {}],
    ["another issuer", { iss: "https://accounts.example.org" }, {}],
    ["another client", { aud: "x" }, {}],
  ] as const) {
    const begun = await nonceOf();
    const id_token = await key.sign(
      {
        iss: issuer,
        aud: "foyer",
        sub: "eve",
        iat: 1,
        nonce: begun.searchParams.get("nonce"),
        ...claims,
      },
      header,
    );
    const back = await browser.until(begun.href, /\/callback\?/);
    provider.lies = { "/token": { access_token: "x", token_type: "bearer", id_token } };
    t.match((await browser.get(back)).location, /sign-in=failed$/, name);
    provider.lies = {};
  }
  t.match(await callback(), /code=/);
  t.match(await signIn(), /#token=/, "the truth still works");
});

void t.test("what is not there", async (t) => {
  const { browser, base, configure, sso } = await start(t);
  for (const at of [
    "demo/sign-in/x/",
    "x/sign-in/sso/",
    "other/sign-in/sso/",
    "demo/sign-in/sso/x",
  ]) {
    const { response } = await browser.get(`${base}/w/${at}`);
    t.equal(response.status, 404, at);
  }
  await configure({ ...sso, issuer: "http://127.0.0.1:1" });
  const { location } = await browser.get(base + path);
  t.equal(location, `${base}/w/demo/?sign-in=unavailable`);
  const page = await (await fetch(`${base}/w/demo/`)).text();
  t.match(page, "Our &lt;login&gt;");
  t.notMatch(page, "a-secret-of-the-client");
  t.notMatch(page, sso.issuer);
});

void t.test("where a sign-in may lead", async (t) => {
  const place = { base: "https://a.org/x", world: "demo", isHere: true };
  const first = "/w/demo/";
  const rows: [to: unknown, destination: string][] = [
    ["/x/w/demo/", first],
    ["/x/w/demo", "/w/demo"],
    ["/x/w/demo/console", "/w/demo/console"],
    ["/x/w/demo/?embed=1#/rooms/5", "/w/demo/?embed=1#/rooms/5"],
    ["/x/w/demo/#token=evil", first],
    ["/x/", "/"],
    ["/x/console", "/console"],
    ...[
      undefined,
      ["/x/w/demo/console"],
      "",
      "w/demo",
      "/w/demo/console",
      "/x/w/other/",
      "/x/w/demo2/",
      "/x/w/demo/../other/",
      "/x/w/demo/%2e%2e/other/",
      "/x/w/demo/sign-in/sso/",
      "/x/media/pub/demo/a.svg",
      "https://evil.example/",
      "//evil.example/x/w/demo/",
      "/\\evil.example/x/w/demo/",
      "\\\\evil.example",
      "/\t/evil.example/",
      "/x/w/demo/\r\nset-cookie:a=b",
      "javascript:alert(1)",
      `/x/w/demo/${"a".repeat(500)}`,
    ].map((to): [unknown, string] => [to, first]),
  ];
  for (const [to, destination] of rows) {
    t.equal(destinationOf(to, place), destination, String(to));
  }
  const elsewhere = { ...place, isHere: false };
  t.equal(destinationOf("/x/console", elsewhere), first);
  t.equal(withToken("/w/demo/?a=b#/rooms/5", "t"), "/w/demo/?a=b#token=t&room=5");
});

void t.test("people sign in at a provider, at either process", async (t) => {
  const site = await startSite(t, { WEBHOOK_ALLOW: "127.0.0.1" });
  const path = "/w/demo/sign-in/sso/";
  const [begins, ends] = [site.baseUrls[0]!, site.baseUrls.at(-1)!];
  const provider = await startProvider(t, [`${begins}${path}callback`]);
  provider.claims = { name: "Ada" };
  const sso = {
    id: "sso",
    name: "Example",
    issuer: provider.issuer,
    client_id: "foyer",
    client_secret: "a-secret-of-the-client",
    traits: { always: ["reader"] },
  };
  await site.save("PATCH", "", { config: { oidc: [sso] } });
  const browser = new Browser();
  const back = await browser.until(begins + path, /\/callback\?/);
  // Cookies belong to a host, regardless of its port.
  const there = back.replace(begins, ends);
  const { location } = await browser.get(there, browser.cookies(back));
  const [, token] = location!.split("#token=");
  const person = await site.connect();
  await person.login({ token: token! });
  t.match(person.hello["user.config"].profile, { display_name: "Ada" });
  const again = await browser.get(there, browser.cookies(back));
  t.match(again.location, /\?sign-in=/, "a callback counts once");
});
