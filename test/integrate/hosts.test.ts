import { exportSPKI } from "jose";
import t from "tap";
import type { Json } from "../../conformance/client.js";
import { tokenOf, until } from "../helper.js";
import { keyServer, makeKey } from "../plugins/auth/issuer.js";
import { Site } from "../program/site.js";
import { Browser, startProvider } from "./provider.js";

// What hosts do over HTTP, and people who come with tokens of other issuers.

const ADMIN_TOKEN = "a-token-of-the-operator-of-this-server";
const MODULES = ["chat.native", "question", "poll"].map((type) => ({
  ...{ type, config: { active: true, requires_moderation: false } },
}));

void t.test("calls of hosts reach people at every process", async (t) => {
  const site = await Site.start(t);
  const room: string = (
    await site.save("POST", "rooms/", { name: "=Hall", module_config: MODULES })
  ).id;
  const people = await Promise.all([
    site.user("ada", "reader"),
    site.user("bob", "reader"),
  ]);
  for (const person of people) {
    await person.do("chat.join", { channel: room });
    await person.do("room.enter", { room });
  }
  const [ada] = people;
  const pushed = async (name: string, fits?: (data: Json) => boolean) =>
    Promise.all(people.map((person) => person.next(name, fits)));
  const ofType = (type: string) => (data: Json) => data.content.type === type;

  const draft = { text: "Lunch", state: "active" };
  const made = await site.save("POST", "announcements/", draft);
  t.match(await pushed("announcement.created_or_updated"), [draft, draft]);
  const path = `announcements/${made.id}/`;
  const { headers } = await site.api(path);
  const etag = headers.get("etag")!;
  const patch = (text: string) =>
    site.api(path, {
      ...{ method: "PATCH", body: { text }, headers: { "if-match": etag } },
    });
  const race = await Promise.all(["Tea", "Coffee"].map(patch));
  t.same(race.map(({ status }) => status).sort(), [200, 412]);
  const list = await site.save("GET", "announcements/?page_size=1");
  t.match(list, { count: 1, results: [{ id: made.id }] });

  const messages = `rooms/${room}/messages/`;
  const content = { type: "text", body: "=Hello" };
  const sent = await site.save("POST", messages, { content });
  t.match(await pushed("chat.event", ofType("text")), [
    { content },
    { content },
  ]);
  const users = await site.save("GET", "changes/?after=0&types=user.created");
  const kinds = users.results.map(({ by }: Json) => by.kind);
  t.same(kinds, ["user", "user", "api"], "the call made the last of them");
  const read = await site.save("GET", `${messages}?after=0&limit=1`);
  t.match(read.results, [{ event_id: Number }]);
  const chat = await site.save("GET", `${messages}?before=999999&limit=10`);
  t.ok(chat.results.some((event: Json) => event.event_id === sent.event_id));
  const { status } = await site.api(`${messages}${sent.event_id}/`, {
    method: "DELETE",
  });
  t.equal(status, 204);
  await pushed("chat.event", ofType("deleted"));

  const { question } = await ada.do("question.ask", { room, content: "Why?" });
  await ada.do("question.vote", { room, id: question.id, vote: true });
  const admin = await site.user("admin", "admin", "editor");
  const { poll } = await admin.do("poll.create", {
    ...{ room, content: "Which?", state: "open", poll_type: "choice" },
    options: [{ content: "A", order: 0 }],
  });
  const [{ id: option }] = poll.options;
  await ada.do("poll.vote", { room, id: poll.id, options: [option] });
  await until(async () => {
    const { results } = await site.save("GET", `rooms/${room}/polls/`);
    return results[0].results?.[option] === 1;
  });
  await until(async () => {
    const { results } = await site.save("GET", `rooms/${room}/questions/`);
    return results[0].score === 1;
  });

  await site.save("PATCH", "", { config: { attendance: "people" } });
  const tables = ["people", "chat", "questions", "polls", "attendance"];
  for (const kind of tables) {
    const json = await site.save("GET", `results/${kind}/`);
    t.ok(Array.isArray(json.results), kind);
    if (kind !== "attendance") t.ok(json.results.length > 0, kind);
    const csv = await site.api(`results/${kind}/?format=csv`);
    t.match(csv.headers.get("content-type"), "text/csv", kind);
    t.notMatch(csv.text, /(^|[,;\r\n"])[=+\-@]/, `no formula of ${kind}`);
    const xlsx = await site.api(`results/${kind}/?format=xlsx`);
    t.equal(xlsx.text.slice(0, 2), "PK", kind);
    const refused = await site.api(`results/${kind}/`, { as: "reader" });
    t.equal(refused.status, 403, kind);
  }
  const moderate = (moderation_state: string) =>
    site.save("PATCH", `users/${ada.id}/`, { moderation_state });
  t.match(await moderate("silenced"), { moderation_state: "silenced" });
  await ada.closed;
  const silent = await site.user("ada", "reader");
  const message = { channel: room, event_type: "channel.message", content };
  t.equal(await silent.code("chat.send", message), "protocol.denied");
  await moderate("banned");
  await silent.closed;
  t.match(await moderate("none"), { moderation_state: "none" });
  await site.user("ada", "reader");
  const link = { traits: ["reader"], expires_in: "12h", page: "event" };
  const { token, url } = await site.save("POST", "tokens/", link);
  t.ok(url.endsWith(`/w/demo/#token=${token}`));
  await site.enter({ token });
  t.equal(
    (await site.api("tokens/", { method: "POST", body: link, as: "reader" }))
      .status,
    403,
  );
});

void t.test("the server's own API", async (t) => {
  const site = await Site.start(t, { ADMIN_TOKEN });
  const ask = (method: string, path: string, body?: object, as = ADMIN_TOKEN) =>
    site.fetch(`/api/v1/worlds/${path}`, {
      method,
      headers: {
        authorization: `Bearer ${as}`,
        ...(body && { "content-type": "application/json" }),
      },
      ...(body && { body: JSON.stringify(body) }),
    });
  const draft = { id: "new", title: "New", template: "webinar" };
  const made = await ask("POST", "", draft);
  t.match(made, {
    status: 201,
    body: {
      ...{ id: "new", title: "New", key: { secret: String } },
      links: { console: /\/w\/new\/console#token=/, event: /\/w\/new\/$/ },
    },
  });
  const [, token] = made.body.links.console.split("#token=");
  t.equal((await ask("GET", "new/", undefined, token)).status, 200);
  t.equal((await ask("POST", "", draft)).status, 400, "it is taken");
  const list = await ask("GET", "");
  t.equal(list.body.count, 3);
  await site.kill();
  await site.start();
  t.equal((await ask("GET", "new/", undefined, token)).status, 200);
  for (const path of ["demo/", "demo/rooms/", "demo/changes/"]) {
    t.equal((await ask("GET", path)).status, 401, path);
  }
  t.equal((await ask("DELETE", "new/")).status, 204);
  t.equal((await ask("GET", "new/", undefined, token)).status, 401);
  const [, next] = (await ask("POST", "", draft)).body.links.console.split(
    "#token=",
  );
  const feed = (after: number) =>
    ask("GET", `new/changes/?after=${after}`, undefined, next);
  t.same((await feed(0)).body.results, [], "no change of the deleted world");
  t.match(await feed(1), { status: 410, body: { code: "cursor_expired" } });
  t.equal((await ask("GET", "", undefined, `${ADMIN_TOKEN}x`)).status, 401);
});

void t.test("tokens of other issuers", async (t) => {
  const site = await Site.start(t, { WEBHOOK_ALLOW: "127.0.0.1" });
  const [rs, es, ed] = await Promise.all([
    makeKey("RS256", "rs"),
    makeKey("ES256", "es"),
    makeKey("EdDSA", "ed"),
  ]);
  const keys = await keyServer(t, [rs.jwk, es.jwk, ed.jwk]);
  const issuer = "https://login.example.org";
  const entry = {
    ...{ issuer, audience: "foyer", jwks_url: keys.url },
    traits: {
      ...{ always: ["reader"], claim: "realm_access.roles" },
      map: { board: ["admin"] },
    },
  };
  const configure = (config: object) => site.save("PATCH", "", { config });
  await configure({ JWT_issuers: [entry] });
  await configure({ theme: {} });
  const kept = (await site.save("GET", "")).config;
  t.strictSame(kept.JWT_issuers, [entry], "another PATCH keeps them");
  const named = { iss: issuer, aud: "foyer", sub: "7", name: "Ada" };
  const spki = await exportSPKI(rs.publicKey);
  const confused = { issuer, audience: "foyer", secret: spki };
  const board = { realm_access: { roles: ["board"] } };
  const rows: [name: string, token: string, status: number][] = [
    ["RS256", await rs.sign({ ...named, ...board }), 200],
    ["ES256", await es.sign({ ...named, ...board }), 200],
    ["EdDSA", await ed.sign({ ...named, ...board }), 200],
    ["no such role", await rs.sign(named), 403],
    ["another audience", await rs.sign({ ...named, aud: "x" }), 401],
    ["the public key as a secret", tokenOf(confused, board), 401],
  ];
  for (const [name, token, status] of rows) {
    for (const address of site.addresses) {
      const answer = await fetch(`${address}/api/v1/worlds/demo/`, {
        headers: { authorization: `Bearer ${token}`, connection: "close" },
      });
      t.equal(answer.status, status, name);
    }
  }
  const people = await Promise.all(
    [1, 2].map(async () => site.enter({ token: await es.sign(named) })),
  );
  for (const { hello } of people) {
    t.match(hello["user.config"].profile, { display_name: "Ada" });
  }
  const users = await site.save("GET", "users/");
  t.match(users, { count: 1, results: [{ token_id: `${issuer}#7` }] });
  keys.answer = { status: 503 };
  await site.enter({ token: await rs.sign(named) });
  const asked = keys.asked;
  for (let i = 0; i < 20; i++) {
    const unknown = await rs.sign(named, { kid: `x${i}` });
    const answer = await site.fetch("/api/v1/worlds/demo/", {
      headers: { authorization: `Bearer ${unknown}` },
    });
    t.equal(answer.status, 401);
  }
  t.ok(keys.asked <= asked + 2, "once a minute, at each process");
  await configure({ JWT_issuers: [] });
  await Promise.all(people.map(({ closed }) => closed));
  t.pass("its users are out");
});

void t.test("people sign in at a provider", async (t) => {
  const site = await Site.start(t, { WEBHOOK_ALLOW: "127.0.0.1" });
  const path = "/w/demo/sign-in/sso/";
  const [begins, ends] = [site.addresses[0]!, site.addresses.at(-1)!];
  const provider = await startProvider(t, [`${begins}${path}callback`]);
  provider.claims = { name: "Ada" };
  const sso = {
    ...{ id: "sso", name: "Example", issuer: provider.issuer },
    ...{ client_id: "foyer", client_secret: "a-secret-of-the-client" },
    traits: { always: ["reader"] },
  };
  await site.save("PATCH", "", { config: { oidc: [sso] } });
  const browser = new Browser();
  const back = await browser.until(begins + path, /\/callback\?/);
  // Cookies belong to a host, whatever its port.
  const there = back.replace(begins, ends);
  const { response, location } = await browser.get(
    there,
    browser.cookies(back),
  );
  t.match(Object.fromEntries(response.headers), {
    ...{ "cache-control": "no-store", "referrer-policy": "no-referrer" },
  });
  const [, token] = location!.split("#token=");
  const person = await site.enter({ token });
  t.match(person.hello["user.config"].profile, { display_name: "Ada" });
  const again = await browser.get(there, browser.cookies(back));
  t.match(again.location, /\?sign-in=/, "a callback counts once");
  const page = await (await fetch(`${begins}/w/demo/`)).text();
  t.match(page, "Example");
  t.notMatch(page, "a-secret-of-the-client");
  const evil = await browser.until(
    `${begins}${path}?to=https://evil.example/`,
    /#token=|\?sign-in=/,
  );
  t.match(evil, new RegExp(`^${begins}/w/demo/#token=`));
});
