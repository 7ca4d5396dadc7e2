import { readdirSync } from "node:fs";
import t from "tap";
import { playlistAt } from "../../../plugins/web/stream.js";
import type { PageConfig } from "../../../web/lib/page.js";
import { rules, worldOf } from "../../support/helper.js";
import { startServer } from "../../support/server.js";

const accept = "text/html,application/xhtml+xml,*/*;q=0.8";
const asPerson = { accept };

/** Parses the configuration that a page passes to its scripts, as a browser would. */
function configOf(html: string): PageConfig {
  const [, content = ""] = /<meta name="foyer" content="([^"]*)"/.exec(html)!;
  const text = content
    .replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">")
    .replaceAll("&quot;", '"')
    .replaceAll("&#39;", "'")
    .replaceAll("&amp;", "&");
  return JSON.parse(text) as PageConfig;
}

const linksOf = (html: string): string[] =>
  [...html.matchAll(/ (?:src|href)="([^"]*)"/g)].map(([, url]) => url!);

const rulesOf = (policy = ""): Record<string, string> =>
  Object.fromEntries(
    policy.split("; ").map((rule) => {
      const [name = "", ...values] = rule.split(" ");
      return [name, values.join(" ")];
    }),
  );

/** Matches the paths that a page loads: hashed files, its manifest and its icon. */
const LOADED = /\/(web\/[\w.-]+|manifest\.webmanifest|icon\.svg)$/;

void t.test("every address finds its page and its files", async (t) => {
  const { app, call } = await startServer(t, { worlds: [worldOf("fair"), worldOf("other")] });
  const cases: Record<string, [script: string, world: string | null]> = {
    "/": ["attend", "other"],
    "/console": ["console", "other"],
    "/console/": ["console", "other"],
    "/w/fair": ["attend", "fair"],
    "/w/fair/": ["attend", "fair"],
    "/w/%66air/": ["attend", "fair"],
    "/w/fair/?a=/b/c": ["attend", "fair"],
    "/w/fair/console": ["console", "fair"],
    "/w/fair/console/": ["console", "fair"],
  };
  const host = "other.example.org";
  const expected = {
    "content-type": "text/html; charset=utf-8",
    "cache-control": "no-cache",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "permissions-policy": /camera=\(\), /,
    "x-frame-options": "DENY",
    "x-content-type-options": "nosniff",
  };
  const kinds: Record<string, string>[] = [{ accept: "application/json" }, { accept: "*/*" }, {}];
  for (const headers of kinds) {
    const { status, body } = await call({ url: "/", headers: { ...headers, host } });
    t.match({ status, body }, { status: 404, body: { detail: "Not found." } }, "a program");
  }
  for (const [url, [script, world]] of Object.entries(cases)) {
    const { status, text, headers } = await call({ url, headers: { ...asPerson, host } });
    t.match({ status, headers }, { status: 200, headers: expected }, url);
    if (url === "/") t.equal(headers.vary, "accept");
    t.match(configOf(text), { world, embed: null }, url);
    const links = linksOf(text);
    t.match(links.join(), new RegExp(`/${script}-`), url);
    // A proxy may serve Foyer under any path prefix.
    for (const prefix of ["", "/some/path"]) {
      const page = new URL(`http://x${prefix}${url}`);
      for (const link of links) {
        const { pathname } = new URL(link, page);
        t.match(pathname, LOADED, `${url} loads ${pathname}`);
        t.ok(pathname.startsWith(`${prefix}/`));
        const asset = await app.inject({ url: pathname.slice(prefix.length), headers: { host } });
        t.equal(asset.statusCode, 200, `${url} ${link}`);
      }
      const { href } = new URL(configOf(text).base, page);
      t.equal(href, `http://x${prefix}/`, `${url} knows its server`);
    }
  }
});

void t.test("a frame may be a call", async (t) => {
  const { call, store } = await startServer(t);
  const policy = async (url: string) => (await call({ url })).headers["permissions-policy"];
  const never = await policy("/w/demo/");
  const url = "https://meet.example.org/";
  const frame = (call: unknown) => [{ type: "page.iframe", config: { url, call } }];
  const draft = { name: "Call", module_config: frame("true") };
  const { id } = (await store.rooms.create("demo", draft)).value;
  t.equal(await policy("/w/demo/"), never, "its host has to say so");
  await store.rooms.update("demo", id, { module_config: frame(true) });
  const allowed = await policy("/w/demo/");
  t.match(allowed, /camera=\*, .*microphone=\*/);
  t.match(allowed, /geolocation=\(\)/);
  t.notMatch(allowed, /example/, "a hidden room stays hidden");
  t.equal(await policy("/w/demo/console"), never);
  t.equal(await policy("/w/fair/"), never);
});

void t.test("pages of worlds with calls", async (t) => {
  const quiet = { "chat.direct": [[]] };
  const world = (id: string, more = {}) => worldOf(id, { permission_config: rules(more) });
  const { call, store } = await startServer(t, {
    worlds: [world("talk"), world("quiet", quiet), world("stage", quiet), world("links", quiet)],
    config: {
      web: { on: true, embedOrigins: ["https://a.org"] },
      calls: {
        livekit: {
          url: "wss://calls.example.org",
          apiUrl: "http://127.0.0.1:1",
          key: "foyer",
          secret: "x".repeat(32),
        },
        jitsi: { url: "https://meet.example.org/", appId: "foyer", secret: "x" },
      },
    },
  });
  const add = (world: string, ...types: string[]) =>
    Promise.all(
      types.map((type) =>
        store.rooms.create(world, { name: "Call", module_config: [{ type, config: {} }] }),
      ),
    );
  await add("stage", "call.native");
  await add("links", "call.jitsi", "call.bigbluebutton");
  const open = "(self)";
  const closed = "()";
  const engine = "'self' wss://calls.example.org https://calls.example.org";
  const cases: [url: string, features: string, connect: string][] = [
    ["/w/stage/", open, engine],
    ["/w/stage/?embed=1", open, engine],
    // People may call each other.
    ["/w/talk/", open, engine],
    ["/w/quiet/", closed, "'self'"],
    // The operator has no BigBlueButton.
    ["/w/links/", '("https://meet.example.org")', "'self'"],
    ["/w/stage/console", closed, "'self'"],
    ["/w/none/", closed, "'self'"],
    ["/web/player.html", closed, "'self' https: http:"],
  ];
  for (const [url, features, connect] of cases) {
    const { headers } = await call({ url });
    t.equal(rulesOf(headers["content-security-policy"])["connect-src"], connect, url);
    for (const feature of ["camera", "microphone", "display-capture"]) {
      const policy = headers["permissions-policy"]!.split(", ");
      t.ok(policy.includes(`${feature}=${features}`), `${feature} of ${url}`);
    }
  }
  const framed = await call({ url: "/w/stage/?embed=1" });
  const { "frame-ancestors": ancestors } = rulesOf(framed.headers["content-security-policy"]);
  t.equal(ancestors, "https://a.org");
});

void t.test("the policy of the pages", async (t) => {
  const { call } = await startServer(t);
  const own = "'self'";
  const none = "'none'";
  const both = {
    "default-src": none,
    "script-src": own,
    "style-src": own,
    "font-src": own,
    "base-uri": none,
    "form-action": none,
    "require-trusted-types-for": "'script'",
  };
  const page = {
    ...both,
    "img-src": "'self' data: blob:",
    "connect-src": own,
    "media-src": "'self' blob:",
    "manifest-src": own,
    "frame-src": "'self' https: http:",
    "frame-ancestors": none,
    "trusted-types": "svelte-trusted-html dompurify foyer-worker",
  };
  for (const url of ["/w/demo/", "/console", "/w/none/"]) {
    const { headers } = await call({ url });
    t.same(rulesOf(headers["content-security-policy"]), page, url);
  }
  const player = await call({ url: "/web/player.html" });
  const headers = { "content-type": "text/html; charset=utf-8", "cache-control": "no-cache" };
  t.match(player, { status: 200, headers });
  t.same(rulesOf(player.headers["content-security-policy"]), {
    ...both,
    "img-src": "'self' https: data:",
    "connect-src": "'self' https: http:",
    "media-src": "'self' blob: https: http:",
    "frame-ancestors": own,
    "trusted-types": "svelte-trusted-html",
  });
  for (const link of linksOf(player.text)) {
    const { pathname } = new URL(link, "http://x/web/player.html");
    t.equal((await call({ url: pathname })).status, 200, pathname);
  }
});

void t.test("a room in a page of another site", async (t) => {
  const embedding = (embedOrigins: string[]) => ({ config: { web: { on: true, embedOrigins } } });
  const open = await startServer(t, { ...embedding(["https://a.org", "http://b.org:81"]) });
  const closed = await startServer(t);
  const room = "5bb4a0b1-9a0b-4e0e-8a6f-0d1d4a7c3d10";
  const cases: [url: string, embed: string | null, framed: boolean][] = [
    ["/w/demo/", null, false],
    ["/w/demo/?embed=0", null, false],
    ["/w/demo/?embed=1", "", true],
    ["/w/demo/?embed=1&embed=1", null, false],
    [`/w/demo/?embed=1&room=${room}`, room, true],
    ["/w/demo/?embed=1&room=%3Cscript%3E", "", true],
    ["/w/demo/?embed=1&room=a&room=b", "", true],
    ["/w/demo/console?embed=1", null, false],
  ];
  const own = "'none'";
  for (const [url, embed, framed] of cases) {
    const page = await open.call({ url });
    const rules = rulesOf(page.headers["content-security-policy"]);
    const expected = framed ? "https://a.org http://b.org:81" : own;
    t.equal(rules["frame-ancestors"], expected, url);
    t.equal(page.headers["x-frame-options"], framed ? undefined : "DENY");
    t.equal(configOf(page.text).embed, embed, url);
    const without = await closed.call({ url });
    const closedRules = rulesOf(without.headers["content-security-policy"]);
    t.equal(closedRules["frame-ancestors"], own, `${url} by default`);
    t.equal(without.headers["x-frame-options"], "DENY");
  }
  const player = await open.call({ url: "/web/player.html" });
  t.equal(
    rulesOf(player.headers["content-security-policy"])["frame-ancestors"],
    "'self' https://a.org http://b.org:81",
    "the player, inside of that page",
  );
});

void t.test("which world an address names", async (t) => {
  const several = await startServer(t, {
    worlds: [worldOf("a", { domain: "a.org" }), worldOf("b", { domain: "b.org" })],
  });
  const cases: [host: string, url: string, world: string | null][] = [
    ["B.ORG", "/", "b"],
    ["b.org", "/w/a", "a"],
    ["b.org", "/console", "b"],
    ["c.org", "/", null],
    ["c.org", "/console/", null],
    ["a.org", "/w/c", null],
    ["a.org", "/w/__proto__", null],
    ["a.org", `/w/${"x".repeat(5000)}`, null],
    ["a.org", "/w/%F0%9F%98%80", null],
  ];
  for (const [host, url, world] of cases) {
    const headers = { ...asPerson, host };
    const { status, text } = await several.call({ url, headers });
    const page = configOf(text);
    t.equal(status, world === null ? 404 : 200, `${host}${url.slice(0, 20)}`);
    t.match(page, { world, title: world && `The ${world}` });
    if (world === null) {
      const { theme, locale } = page;
      t.strictSame({ theme, locale }, { theme: {}, locale: null });
      t.match(text, "<title>Foyer</title>");
    }
  }
  for (const host of ["<script>", "a b", 'a"b', "a/b", "[::1"]) {
    const headers = { ...asPerson, host };
    const { status, text } = await several.call({ url: "/", headers });
    t.equal(status, 400, host);
    t.notMatch(text, /<|script/, host);
  }
});

void t.test("what a page says of a world", async (t) => {
  const hostile = `</title><script>alert('1')</script> & "quoted"\u2028\u2029 $& $1`;
  const configured = (id: string, config: object, more: object = {}) =>
    worldOf(id, { config: { ...worldOf(id).config, ...config }, ...more });
  const secret = "not for everybody";
  const provider = {
    id: "sso",
    name: "SSO",
    issuer: "https://login.example.org",
    client_id: "foyer",
  };
  const logo = { url: "/media/pub/plain/logo.png", secret: 1 };
  const colors = { primary: "#A1b2c3", secondary: "#000000" };
  const plain = {
    locale: "pt-BR",
    oidc: [{ ...provider, client_secret: secret }],
    theme: { colors, logo, logo_dark: logo, css: "body{}" },
    secret,
  };
  const evil = { url: `"><script>${hostile}` };
  const injected = { locale: '"><script>', theme: { colors: { primary: "#12345g" }, logo: evil } };
  const theme = { colors: ["#123456"], logo: { url: "x".repeat(2001) } };
  const closed = { permission_config: { "world.view": ["attendee"] } };
  const { call } = await startServer(t, {
    worlds: [
      configured("plain", plain, { title: "Küche & Co." }),
      configured("hostile", injected, { title: hostile }),
      configured("odd", { locale: ["de"], oidc: [{ id: "sso" }], theme }),
      configured("none", { theme: "red" }),
      configured("private", {}, { title: "Secret fair", ...closed }),
    ],
  });
  const upload = { maxBytes: 10485760 };
  const shown = {
    colors: { primary: "#A1b2c3" },
    logo: { url: logo.url },
    logo_dark: { url: logo.url },
  };
  const bare = { locale: null, theme: {} };
  const escaped =
    "&lt;/title&gt;&lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt; &amp; &quot;quoted&quot;\u2028\u2029 $&amp; $1";
  const cases: Record<string, [page: object, title: string]> = {
    plain: [{ title: "Küche & Co.", locale: "pt-BR", theme: shown }, "Küche &amp; Co."],
    hostile: [{ title: hostile, locale: null, theme: { logo: evil } }, escaped],
    odd: [{ title: "The odd", ...bare }, "The odd"],
    none: [{ title: "The none", ...bare }, "The none"],
    private: [{ title: null, ...bare }, "Foyer"],
  };
  for (const [world, [page, title]] of Object.entries(cases)) {
    const name = world === "private" ? null : (page as { title: string }).title;
    for (const url of [`/w/${world}/`, `/w/${world}/console`]) {
      const { status, text } = await call({ url });
      t.equal(status, 200, url);
      const { base, upload: uploads, ...got } = configOf(text);
      const signIn = world === "plain" ? [{ id: "sso", name: "SSO" }] : [];
      const server = { passkeys: "localhost", mail: false, calls: false };
      const given = { world, isNew: false, embed: null, signIn, ...server, name, ...page };
      t.strictSame(got, given, url);
      t.match(uploads, upload);
      t.match(base, /^(\.\.\/)+$/);
      t.match(text, `<title>${title}</title>`);
      t.notMatch(text, /not for everybody|Secret fair|<script>|body\{/, url);
      t.equal(text.match(/<script/g)!.length, 1, "its own script");
    }
  }
});

const HOUR = 60 * 60 * 1000;
/** Returns an hour that starts the given number of hours from now. */
const hour = (from: number) => ({ starts_at: at(from), ends_at: at(from + 1) });
const at = (hours: number) => new Date(Date.now() + hours * HOUR).toISOString();

void t.test("the event before the login", async (t) => {
  const event = {
    starts_at: at(-2),
    ends_at: at(9),
    tagline: "Where <maps> come from",
    location: "Ghent & online",
    cover: { url: "/media/pub/open/cover.png" },
  };
  const config = (id: string) => ({
    ...worldOf(id).config,
    timezone: "Europe/Brussels",
    event,
    theme: { colors: { primary: "#ffcc00" } },
  });
  const ruled = (id: string, rule?: string) =>
    worldOf(id, {
      config: config(id),
      permission_config: rule ? { [rule]: ["attendee"] } : rules({}),
    });
  const odd = { ...worldOf("odd").config, event: { starts_at: "soon", tagline: 7, cover: ["x"] } };
  const { call, store } = await startServer(t, {
    worlds: [
      ruled("open"),
      ruled("read", "program.read"),
      ruled("closed", "world.view"),
      worldOf("bare"),
      worldOf("odd", { config: odd }),
    ],
  });
  const worlds = ["open", "read", "closed"];
  for (const id of worlds) {
    const room = async (name: string, permission_config = {}) =>
      (await store.rooms.create(id, { name, permission_config })).value.id;
    const hall = await room("Hall");
    const hidden = await room("Backstage", { "room.view": ["crew"] });
    const speaker = async (name: string) => {
      const made = await store.program.createSpeaker(id, { name }, []);
      return "faults" in made ? t.fail(name) : made.value.id;
    };
    const [ada, spy] = [await speaker("Ada"), await speaker("Spy")];
    const session = (title: string, from: number, more: object = {}) =>
      store.program.createSession(id, { title, ...hour(from), room_id: hall, ...more });
    await session("Over", -2);
    await session("On", -0.5, { speaker_ids: [ada] });
    await session("Secret", 0.1, { room_id: hidden, speaker_ids: [spy] });
    await session("Draft", 0.2, { state: "draft", speaker_ids: [spy] });
    for (const from of [1, 2, 3, 4]) await session(`Talk ${from}`, from);
  }
  const pageOf = async (id: string) => {
    const { text } = await call({ url: `/w/${id}/` });
    return { text, page: configOf(text) };
  };
  const open = await pageOf("open");
  const { cover, ...stored } = event;
  t.strictSame(open.page.event, { ...stored, cover: cover.url, timezone: "Europe/Brussels" });
  t.match(open.page.program, {
    sessions: [
      { title: "On", room: "Hall", speakers: ["Ada"] },
      { title: "Talk 1", speakers: [] },
      { title: "Talk 2" },
      { title: "Talk 3" },
    ],
    more: 2,
    speakers: [{ name: "Ada", picture: null }],
  });
  for (const tag of [
    `<meta property="og:title" content="The open" />`,
    `<meta property="og:description" content="Where &lt;maps&gt; come from · `,
    `<meta name="description" content="Where &lt;maps&gt;`,
    `<meta property="og:url" content="http://`,
    `/media/pub/open/cover.png" />`,
    `<meta name="theme-color" content="#ffcc00" />`,
    `<link rel="manifest" href="../../w/open/manifest.webmanifest" />`,
  ]) {
    t.ok(open.text.includes(tag), tag);
  }
  t.notMatch(JSON.stringify(open.page), /Secret|Spy|Draft|Over/);
  const preload = /<link rel="preload" as="image" href="[^"]*cover\.png/;
  for (const [query, isLoaded] of [
    ["", true],
    ["?guest", true],
    ["?screen=live&room=x", false],
    ["?preview", false],
  ] as const) {
    const { text } = await call({ url: `/w/open/${query}` });
    t.equal(preload.test(text), isLoaded, `the cover at ${query}`);
    t.match(text, /og:image/);
  }

  const read = await pageOf("read");
  t.strictSame(read.page.program, undefined);
  t.match(read.page.event, { tagline: event.tagline });
  const closed = await pageOf("closed");
  t.notMatch(closed.text, /og:|manifest|maps|Ghent|Talk|The closed/);
  t.notMatch(configOf(closed.text), { event: {} });
  const manifest = await call({ url: "/w/closed/manifest.webmanifest" });
  t.match(JSON.parse(manifest.text), { name: "Foyer" });
  for (const id of ["bare", "odd"]) {
    const { page } = await pageOf(id);
    t.notOk(page.event ?? page.program, id);
  }

  // Revoking a right from guests takes effect immediately.
  await store.worlds.update("open", { permission_config: { "program.read": ["attendee"] } });
  t.strictSame((await pageOf("open")).page.program, undefined);

  const installed = await call({ url: "/w/open/manifest.webmanifest" });
  t.match(installed, { status: 200, headers: { "content-type": "application/manifest+json" } });
  t.match(JSON.parse(installed.text), {
    name: "The open",
    start_url: "./",
    theme_color: "#ffcc00",
    icons: [{ src: "./icon.svg", type: "image/svg+xml" }],
  });
  // Truncation never splits a character.
  const title = `${"x".repeat(29)}😀`;
  await store.worlds.update("open", { title: `${title}y` });
  const named = await call({ url: "/w/open/manifest.webmanifest" });
  t.match(JSON.parse(named.text), { short_name: title });
  await store.worlds.update("open", { title: "The open" });
  const icon = await call({ url: "/w/open/icon.svg" });
  t.match(icon.headers["content-type"], "image/svg+xml");
  t.match(icon.text, /fill="#ffcc00".*fill="#000".*>T<\/text>/);
});

void t.test("what messengers show of an event", async (t) => {
  const described = (id: string, title: string, config: object) =>
    worldOf(id, { title, config: { ...worldOf(id).config, ...config } });
  const rows: [id: string, timezone: string, from: string, to: string][] = [
    ["la", "America/Los_Angeles", "2027-03-01T17:00:00Z", "2027-03-02T01:00:00Z"],
    ["tokyo", "Asia/Tokyo", "2027-02-28T23:00:00Z", "2027-03-01T08:00:00Z"],
    ["none", "Atlantis/City", "2027-03-01T01:00:00Z", "2027-03-01T23:00:00Z"],
  ];
  const { call } = await startServer(t, {
    worlds: [
      ...rows.map(([id, timezone, starts_at, ends_at]) =>
        described(id, "Maps", { timezone, event: { starts_at, ends_at } }),
      ),
    ],
  });
  for (const [id, timezone] of rows) {
    const { text } = await call({ url: `/w/${id}/` });
    const day = 'content="2027-03-01" />';
    t.equal(text.split(day).length, 3, `${timezone}: its own day, twice`);
    const manifest = await call({ url: `/w/${id}/manifest.webmanifest` });
    t.match(JSON.parse(manifest.text), { description: "2027-03-01" }, id);
  }
});

void t.test("a browser asks again only for what has changed", async (t) => {
  const { call, store } = await startServer(t);
  const url = "/w/demo/";
  const { etag } = (await call({ url })).headers;
  const known = { "if-none-match": etag! };
  const again = await call({ url, headers: known });
  t.match(again, { status: 304, text: "", headers: { etag } });
  const head = await call({ method: "HEAD", url });
  t.match(head, { status: 200, text: "", headers: { etag } });
  await store.worlds.update("demo", { title: "Another title" });
  t.match(await call({ url, headers: known }), { status: 200, text: /<title>Another title</ });
  for (const method of ["POST", "PUT", "DELETE"]) {
    for (const url of ["/", "/console", "/w/demo/", "/w/demo/console"]) {
      t.match(
        await call({ method, url }),
        { status: 405, headers: { allow: "GET, HEAD" } },
        `${method} ${url}`,
      );
    }
  }
});

void t.test("the files of the pages", async (t) => {
  const { call, app } = await startServer(t);
  const names = readdirSync(new URL("../../../pages/web", import.meta.url));
  const script = names.find((name) => /^attend-.*\.js$/.test(name))!;
  const immutable = "public, max-age=31536000, immutable";
  const cases: [name: string, accept: string, headers: object][] = [
    [script, "", { "cache-control": immutable, "content-encoding": undefined }],
    [script, "gzip", { "cache-control": immutable, "content-encoding": "gzip" }],
    [script, "gzip, br", { "content-encoding": "br" }],
    [script, "identity", { "content-encoding": undefined }],
    [script, "zstd, *;q=0", { "content-encoding": undefined }],
    ["icon.svg", "br", { "cache-control": "no-cache" }],
    ["licenses.md", "", { "cache-control": "no-cache" }],
  ];
  for (const [name, encoding, headers] of cases) {
    const answer = await call({ url: `/web/${name}`, headers: { "accept-encoding": encoding } });
    const expected = { ...headers, vary: /accept-encoding/i, "x-content-type-options": "nosniff" };
    t.match(answer, { status: 200, headers: expected }, `${name} ${encoding}`);
    const type = /\.js$/.test(name) ? /^(text|application)\/javascript/ : /./;
    t.match(answer.headers["content-type"], type);
  }
  const { headers } = await app.inject(`/web/${script}`);
  const again = await app.inject({
    url: `/web/${script}`,
    headers: { "if-none-match": headers.etag as string },
  });
  t.equal(again.statusCode, 304);
  const missing = [
    "/web/",
    "/web",
    "/web/attend-00000000.js",
    "/web/../index.html",
    "/web/%2e%2e/index.html",
    "/web/..%2findex.html",
    "/web/index.html",
    "/index.html",
  ];
  for (const url of missing) {
    const { status, text } = await call({ url, headers: asPerson });
    t.ok([403, 404].includes(status), `${url} ${status}`);
    t.notMatch(text, /<html/, url);
  }
});

void t.test("without pages", async (t) => {
  const { call, routes } = await startServer(t, {
    config: { web: { on: false, embedOrigins: [] } },
  });
  for (const url of ["/", "/console", "/w/demo/", "/web/player.html", "/demo/stream.m3u8"]) {
    t.equal((await call({ url, headers: asPerson })).status, 404, url);
  }
  t.same(
    [...routes].filter(
      // Calendars and mails need no pages.
      (route) => /\/(web|w|console)\b/.test(route) && !/\/program\.ics$|\/mails\//.test(route),
    ),
    [],
  );
});

const numberOf = (playlist: string, tag: string): number =>
  Number(new RegExp(`^#${tag}:(\\d+)$`, "m").exec(playlist)![1]);

/** Returns a playlist's segments by number, with the properties that players see. */
function segmentsOf(playlist: string) {
  let number = numberOf(playlist, "EXT-X-MEDIA-SEQUENCE");
  let discontinuity = numberOf(playlist, "EXT-X-DISCONTINUITY-SEQUENCE");
  const segments = new Map<number, object>();
  let date = "";
  for (const line of playlist.split("\n")) {
    if (line === "#EXT-X-DISCONTINUITY") discontinuity++;
    const [, value] = /^#EXT-X-PROGRAM-DATE-TIME:(.*)$/.exec(line) ?? [];
    if (value !== undefined) date = value;
    if (line.startsWith("#") || line === "") continue;
    segments.set(number++, { uri: line, discontinuity, date });
  }
  return segments;
}

void t.test("the window of the stream moves with the clock", async (t) => {
  const start = Date.UTC(2027, 0, 1, 12, 0, 1);
  const known = new Map<number, object>();
  let before = 0;
  for (let second = 0; second < 60; second++) {
    const now = start + second * 1000;
    const playlist = playlistAt(now);
    const segments = segmentsOf(playlist);
    t.equal(segments.size, 6);
    for (const [number, segment] of segments) {
      t.same(known.get(number) ?? segment, segment, `${number} stays as it is`);
      known.set(number, segment);
      const { uri, date } = segment as { uri: string; date: string };
      t.equal(uri, `${number % 6}.m4s`);
      t.ok(Date.parse(date) + 4000 <= now, "it has ended");
    }
    const last = [...segments.keys()].at(-1)!;
    t.ok(last - before <= 1 || before === 0, "none is left out");
    before = last;
  }
  const discontinuities = [...known.values()].map(
    (segment) => (segment as { discontinuity: number }).discontinuity,
  );
  for (const [i, number] of [...known.keys()].entries()) {
    if (i === 0) continue;
    const step = discontinuities[i]! - discontinuities[i - 1]!;
    t.equal(step, number % 6 === 0 ? 1 : 0, "each loop starts over");
  }
});

void t.test("what the server sends of it", async (t) => {
  const { app, call } = await startServer(t);
  const playlist = await call({ url: "/demo/stream.m3u8" });
  t.match(playlist, {
    status: 200,
    headers: {
      "content-type": "application/vnd.apple.mpegurl",
      "cache-control": "public, max-age=1",
    },
  });
  const names = playlist.text.match(/^\d\.m4s$|(?<=URI=")[^"]+/gm)!;
  t.equal(new Set(names).size, 7);
  let size = 0;
  for (const name of names) {
    const { statusCode, headers, rawPayload } = await app.inject(`/demo/${name}`);
    t.equal(statusCode, 200, name);
    t.match(headers, {
      "content-type": "video/mp4",
      "access-control-allow-origin": "*",
      "cache-control": "public, max-age=86400",
    });
    t.match(rawPayload.subarray(4, 8).toString(), /ftyp|styp|moof/, name);
    size += rawPayload.length;
  }
  t.ok(size < 700_000, `${size} bytes`);
  for (const name of ["", "7.m4s", "../package.json", "%2e%2e/package.json"]) {
    const { status } = await call({ url: `/demo/${name}` });
    t.ok([403, 404].includes(status), `${name} ${status}`);
  }
});
